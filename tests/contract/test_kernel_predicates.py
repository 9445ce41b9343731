"""Predicates that no error case breaks, as libraries need not read the elements: each can be broken all the same.

The calls are those of the recipes, with one argument changed at a time. A predicate that every change satisfies has no
value, or says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from diopigen.conformance.cases import suite as cases
from diopigen.conformance.cases.described import described
from diopigen.contract.arguments import Described, Tensor
from diopigen.contract.evaluate import Arguments
from diopigen.ir.model import Function, Interface

ROOT = Path(__file__).resolve().parents[2]
FAMILIES = ("attention", "serving", "detection")


@pytest.mark.parametrize("family", FAMILIES)
def test_each_predicate_can_be_broken(interface: Interface, family: str) -> None:
    unbreakable = [
        f"{function.name} {name}"
        for function in cases.tested(interface)
        if function.family == family
        for name in _unbreakable(interface, function)
    ]
    assert not unbreakable


def _unbreakable(interface: Interface, function: Function) -> set[str]:
    left = {
        c.id: c.require.expression
        for c in function.constraints
        if c.require is not None and c.case is None and c.key is None
    }
    calls = [described(case) for case in cases.cases_of(interface, function) if case.axis == "recipe"] if left else []
    for call in calls:
        for name, value in call.items():
            for changed in _changes(value):
                arguments = Arguments(function, {**call, name: changed})
                left = {key: predicate for key, predicate in left.items() if arguments.holds(predicate)}
                if not left:
                    return set()
    return set(left)


def _changes(value: Described) -> Iterator[Described]:
    """A number, or one element or all elements of a tensor, made negative, huge, or off by one."""
    if isinstance(value, Tensor):
        elements = value.elements()
        for position in (None, 0, len(elements) - 1):
            for change in _NUMBERS:
                created = tuple(_at(e, change) if position in (None, i) else e for i, e in enumerate(elements))
                yield Tensor(value.shape, value.dtype, partial(tuple, created))
    elif isinstance(value, int) and not isinstance(value, bool):
        yield from (_at(value, change) for change in _NUMBERS)


_NUMBERS = ("negative", "huge", "above", "below")


def _at(number: float, change: str) -> float:
    if isinstance(number, bool):
        return not number
    return {"negative": -5, "huge": 1000, "above": number + 1, "below": number - 1}[change]
