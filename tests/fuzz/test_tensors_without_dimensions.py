"""Tensors of rank 0 where shapes name dimensions, and counts below their ranges: refused before anything reads a size
that a tensor does not have, with nothing written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
import sampling
from artefacts import artefact
from random_calls import Calls

from diopigen.conformance.model import ANY_FAILURE, ANY_STATUS, FAILURES, Case, Operand, Value
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface, ShapeList
from diopigen.spec.expression import to_text

Change = Callable[[Value], Value]
REJECTED = frozenset({"diopiFusedAddRootMeanSquareNormInp", "diopiMaxPool2d", "diopiRoiAlign"})
"""Some of the functions whose shapes name dimensions."""


def without_dimensions(value: Value) -> Value:
    """A tensor of rank 0, or an array of them; everything else unchanged."""
    if isinstance(value, Operand):
        return replace(value, shape=(), layout="contiguous", values=0)
    return tuple(without_dimensions(one) for one in value) if isinstance(value, tuple) else value


def changed(case: Case, names: tuple[str, ...], change: Change, expect: str, word: str) -> Case:
    arguments = {name: change(value) if name in names else value for name, value in case.arguments.items()}
    return replace(case, id=f"{case.function}/{word}/0-d", axis="fuzz", arguments=arguments, expect=expect)


def _calls(interface: Interface) -> Iterator[Case]:
    """A legal call of each function, of one in four for a change, with one of its tensors of rank 0, and with all of
    them. Where the shape of an input lists dimensions next to a group such as `*batch`, the call is illegal; a shape of
    [1] may be of rank 0."""
    calls = Calls(interface, 0)
    selected = [name for name in calls.names if sampling.RUNS_ALL or name in REJECTED or sampling.picked(name, 4)]
    for function in (interface.function(name) for name in selected):
        assert function is not None
        case = max(calls.origin(function.name).calls, key=lambda one: _dimensions(one.arguments), default=None)
        if case is None:
            continue
        tensors = [p for p in function.params if not p.sparse and _has_tensors(case.arguments.get(p.name))]
        for param in tensors:
            yield changed(case, (param.name,), without_dimensions, ANY_STATUS, param.name)
        rejected = any(
            isinstance(p.shape, ShapeList) and p.is_read and any(d.kind != "variadic" for d in p.shape.dimensions)
            and "shape" not in p.free and not _is_one(p.shape)
            for p in tensors
        )  # fmt: skip
        names = tuple(param.name for param in tensors)
        yield changed(case, names, without_dimensions, ANY_FAILURE if rejected else ANY_STATUS, "all")


def _is_one(shape: ShapeList) -> bool:
    return [to_text(dimension.formula.expression) for dimension in shape.dimensions] == ["1"]


def _has_tensors(value: Value) -> bool:
    return isinstance(value, Operand) or (isinstance(value, tuple) and any(isinstance(one, Operand) for one in value))


def _dimensions(arguments: Mapping[str, Value]) -> int:
    return sum(len(value.shape) for value in arguments.values() if isinstance(value, Operand))


def _failures(cases: list[Case], interface: Interface) -> list[tuple[object, ...]]:
    results = run(cases, interface, artefact("libdiopi_impl.so"), artefact("libdiopirt.so"), jobs=2)
    assert results.counts["passed"] > 0.9 * len(cases)
    return [(r.case.id, r.outcome, r.faults, r.operands) for r in results.results if r.outcome in FAILURES]


@pytest.mark.build
@pytest.mark.suite
def test_tensors_of_rank_0_are_no_crash_and_rejected_where_shapes_name_dimensions(interface: Interface) -> None:
    cases = list(_calls(interface))
    assert _failures(cases, interface) == []
    rejected = {case.function for case in cases if case.expect == ANY_FAILURE}
    assert rejected >= REJECTED
    assert len(rejected) > (150 if sampling.RUNS_ALL else 30)


@pytest.mark.build
def test_a_vocabulary_of_a_negative_size_is_rejected_with_nothing_written(interface: Interface) -> None:
    calls = Calls(interface, 0).origin("diopiBatchApplyTemperaturePenaltyInp").calls
    case = next(one for one in calls if one.arguments["bias"] is None)
    cases = [
        replace(case, id=f"{case.id}{size}", arguments={**case.arguments, "vocab_size": size}, expect=ANY_FAILURE)
        for size in (-1, -(2**62), int(np.iinfo(np.int64).min))
    ]
    assert _failures(cases, interface) == []
