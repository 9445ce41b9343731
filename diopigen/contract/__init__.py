"""The contract of a call, by the spec: dtypes, shapes, ranges, predicates, evaluated over described arguments."""
