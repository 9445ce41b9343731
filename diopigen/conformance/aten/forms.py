"""Cases as calls of ATen: each case once through each overload that the spec names for its function."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from diopigen.conformance.aten.pairing import Pairing, PairingError, paired
from diopigen.conformance.model import Case, Number
from diopigen.emit.torch.schema import schema_of
from diopigen.ir.aten import FOR_ALL_DEVICES
from diopigen.ir.aten_model import Overload
from diopigen.ir.model import Function, Interface, Parameter

META, CPU = "meta", "cpu"
"""The last word of the name under which an executor calls the meta function of an overload, or torch's CPU."""
UNLIKE = "the result for"
"""Begins the text of a call whose results have another dtype or shape than the positions for them."""


def through_overloads(interface: Interface, cases: Iterable[Case]) -> Iterator[Case]:
    """The cases through overloads, case by case: `diopiAdd/float32/recipe-1@add.out`. Cases of functions for which
    the spec names no overload are left out."""
    functions = {function.name: function for function in interface.functions}

    @functools.cache
    def pairings(name: str) -> list[tuple[Overload, Pairing | None]]:
        return list(_pairings(interface, functions[name]))

    for case in cases:
        for one, pairing in pairings(case.function):
            if _has_position(case, functions[case.function], one, pairing):
                yield replace(case, id=f"{case.id}@{one.name}", overload=one.name)


def elsewhere(name: str, device: str) -> str:
    """The name of what is called `name` on another device: `META` or `CPU`."""
    return f"{name} {device}"


def called_names(interface: Interface) -> list[str]:
    """The names of all overloads of the functions, there and elsewhere, as `Case.called` has them."""
    names = [f"{function.name} {one.name}" for function in interface.functions for one in function.aten]
    return [*names, *(elsewhere(name, device) for device in (META, CPU) for name in names)]


def _pairings(interface: Interface, function: Function) -> Iterator[tuple[Overload, Pairing | None]]:
    """The overloads that take the function's arguments, with their positions as far as they are known."""
    for one in function.aten:
        schema = schema_of(interface, FOR_ALL_DEVICES.get(one.name, one.name))
        try:
            yield one, None if schema is None else paired(function, one.name, schema, schema.defaults)
        except PairingError:
            continue


def _has_position(case: Case, function: Function, overload: Overload, pairing: Pairing | None) -> bool:
    """Returns whether an overload has a position for every argument of a case."""

    def value(name: str) -> object:
        found = case.arguments.get(name, _usual(function.param(name)))
        return found.value if isinstance(found, Number) else found

    if any(value(name) != constant.value for name, constant in overload.constants.items()):
        return False
    if pairing is None:
        return True
    if any(value(param.name) not in (None, _usual(param)) for param in pairing.left(function)):
        return False
    needed = (pairing.outputs[position.output] for position in pairing.positions if position.output is not None)
    return all(case.arguments.get(param.name, True) is not None for param in needed)


def _usual(param: Parameter | None) -> Any:
    return param.default.value if param is not None and param.default is not None else None
