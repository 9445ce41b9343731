"""What a call must satisfy, by the spec: dtypes, shapes, ranges, predicates, evaluated over described arguments."""
