"""The ids of what can go wrong while the IR is built, with what each one is for. `bad-recipe` is listed by `check/`."""

from __future__ import annotations

RULES = {
    "spec-missing": "The folder of a spec exists and holds types.yaml.",
    "unknown-header": "The header of a file of operators is listed in headers.yaml.",
    "unknown-dtype": "A dtype or dtype set that is named exists.",
    "expression-syntax": "A kernel, rule, dimension, predicate or end of an interval is an expression.",
    "kernel-without-output": "An operator with a kernel has an output that the kernel writes.",
    "bad-schema": "A schema in the files of aten/ can be read.",
    "variant-mismatch": "A variant names parameters of its base, and the base has what the variant changes.",
}
