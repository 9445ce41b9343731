"""Checks calls that the suite generates against the contract of a function."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from diopigen.conformance.cases.described import describe
from diopigen.conformance.model import Operand, Value
from diopigen.contract.evaluate import Contract
from diopigen.ir.model import Function


class LegalCalls:
    """The calls that a function's shapes and constraints admit. Results are kept by what a predicate can see of a call:
    one in another layout, or checked again after a case is derived from it, is not evaluated twice."""

    def __init__(self, function: Function, *, is_strict: bool = False) -> None:
        """`is_strict` is as for `Contract`."""
        self.contract = Contract(function, is_strict=is_strict)
        self._known: dict[Hashable, bool] = {}

    def admits(self, arguments: Mapping[str, Value]) -> bool:
        """Returns whether the call is legal. Elements are sampled anew for each description of a call: a predicate over
        them has to hold for whatever the recipe may give."""
        key = (*arguments, *map(_seen, arguments.values()))
        known = self._known.get(key)
        if known is None:
            values = describe(arguments, self.contract.function.name)
            known = self._known[key] = self.contract.admits(values)
        return known


def _seen(value: Value) -> Hashable:
    """The part of an argument that a predicate can see. 1 and 1.0 are equal as keys: the type of a parameter, or the
    dtype of a number, tells them apart."""
    if isinstance(value, Operand):
        return value.shape, value.dtype, value.values
    return tuple([_seen(item) for item in value]) if isinstance(value, tuple) else value
