"""The cases that the tiny library can be tested by."""

from __future__ import annotations

from diopigen.conformance.cases.suite import select
from diopigen.conformance.model import Case
from diopigen.ir.model import Interface

OPERATORS = ("Add", "AddInp", "Relu", "LogicalNot", "Softmax", "MaskedSelect", "UniformInp")
DTYPES = ("float32", "float64", "int32", "int64", "uint8", "bool")


def tiny_cases(interface: Interface, *names: str) -> list[Case]:
    """The cases whose dtypes the tiny library knows."""
    known = set(DTYPES)

    def fits(case: Case) -> bool:
        values = [item for v in case.arguments.values() for item in (v if isinstance(v, tuple) else (v,))]
        return all(getattr(value, "dtype", "bool") in known for value in values)

    selected = select(interface, ops=names or OPERATORS)
    return [case for case in selected if fits(case) or case.axis == "error"]
