"""Oracles: what each operator gives, in float64 or exact integers, written to be read and independent of any kernel.

The oracle of an elementwise operator is its `kernel:` expression (`expressions.py`). Others are written by hand: such
an oracle is registered under the operator's name and serves all its variants. It finds operands by parameter name, and
`Call.target` is the output, or the operand that an in-place form overwrites. `oracle_of` knows both.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping

from diopigen.conformance.oracles import expressions
from diopigen.conformance.oracles.call import Allocated, Answer, Call, Dims, Expected, Oracle, Property
from diopigen.ir.model import Function

__all__ = [
    "Allocated",
    "Answer",
    "Call",
    "Dims",
    "Expected",
    "Oracle",
    "Property",
    "answer_of",
    "oracle",
    "oracle_of",
    "oracles",
]

_ORACLES: dict[str, Oracle] = {}
_loaded = False


def oracle(*operators: str) -> Callable[[Oracle], Oracle]:
    """Registers a function as the oracle of operators."""

    def register(function: Oracle) -> Oracle:
        for operator in operators:
            assert operator not in _ORACLES, f"two oracles for {operator}"
            _ORACLES[operator] = function
        return function

    return register


def oracle_of(function: Function) -> Oracle | None:
    """The oracle of a function: the handwritten one of its operator, or its kernel's expression. None: nothing knows
    the right values."""
    handwritten = oracles().get(function.operator)
    if handwritten is not None:
        return handwritten
    return expressions.answer if expressions.serves(function) else None


def answer_of(call: Call) -> Answer:
    """Expected results of a call. Raises `LookupError` where nothing knows it."""
    found = oracle_of(call.function)
    if found is None:
        raise LookupError(f"no oracle for {call.function.name}")
    return found(call)


def oracles() -> Mapping[str, Oracle]:
    """All handwritten oracles by operator; the modules of this package are imported once."""
    global _loaded
    if not _loaded:
        for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
            importlib.import_module(f"{__name__}.{info.name}")
        _loaded = True
    return _ORACLES
