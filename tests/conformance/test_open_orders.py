"""Results whose order the spec leaves open (`unordered`): any order passes, and no other result does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from calls import Results, call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.dtypes import encode
from diopigen.conformance.model import SUCCESS, Case, Operand
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Property, answer_of
from diopigen.ir.model import Interface


def case_where(interface: Interface, name: str, **arguments: Any) -> tuple[Case, Call]:
    """The first case of a function in which numbers have these values, and its call."""
    function = interface.function(name)
    assert function is not None
    case = next(
        case
        for case in cases_of(interface, function)
        if case.expect == SUCCESS and all(case.arguments[key] == value for key, value in arguments.items())
    )
    return case, call_of(interface, case)


def faults(case: Case, call: Call, answer: Answer, found: Mapping[str, Any]) -> dict[str, str]:
    """Errors of results in the suite, by output."""
    results = Results(case, call, answer, found, encode)
    wrong: dict[str, str] = {}
    for name, requested in answer.items():
        expected = requested.expected if isinstance(requested, Allocated) else requested
        stored = results.found[name]
        if isinstance(expected, Property):
            complaint = results.complaint(expected, stored.elements, stored.dtype)
        else:
            assert isinstance(expected, Expected)
            fault = results.fault(name, stored.elements, stored.dtype, expected)
            complaint = fault.message if fault else None
        if complaint:
            wrong[name] = complaint
    return wrong


TOPK = {"k": 60, "sorted": False}


def topk(call: Call) -> dict[str, Any]:
    x, dim, k = call["input"], call["dim"], call["k"]
    indices = np.argsort(-x.astype(np.float64), axis=dim, kind="stable")[:, :k]
    return {"values": np.take_along_axis(x, indices, dim), "indices": indices}


def test_the_largest_elements_pass_in_any_order_that_indices_follow(interface: Interface) -> None:
    case, call = case_where(interface, "diopiTopk", **TOPK)
    answer, found = answer_of(call), topk(call)
    assert faults(case, call, answer, found) == {}
    reversed_order = {name: array[:, ::-1] for name, array in found.items()}
    assert faults(case, call, answer, reversed_order) == {}
    # Each line may have an order of its own.
    reversed_order["values"][0], reversed_order["indices"][0] = found["values"][0], found["indices"][0]
    assert faults(case, call, answer, reversed_order) == {}


def test_no_other_elements_pass(interface: Interface) -> None:
    case, call = case_where(interface, "diopiTopk", **TOPK)
    answer, found = answer_of(call), topk(call)
    dropped = {name: np.concatenate([array[:, 1:], array[:, -1:]], axis=1) for name, array in found.items()}
    assert set(faults(case, call, answer, dropped)) == {"values", "indices"}
    repeated = {**found, "indices": np.concatenate([found["indices"][:, :1], found["indices"][:, :-1]], axis=1)}
    assert "an index occurs twice" in faults(case, call, answer, repeated)["indices"]
    apart = {**found, "indices": found["indices"][:, ::-1]}
    assert "elements of 'input'" in faults(case, call, answer, apart)["indices"]


def test_where_the_order_is_not_open_it_counts(interface: Interface) -> None:
    case, call = case_where(interface, "diopiTopk", sorted=True, k=3, dim=1, largest=True)
    answer, found = answer_of(call), topk(call)
    assert faults(case, call, answer, found) == {}
    reversed_order = {name: array[:, ::-1] for name, array in found.items()}
    assert set(faults(case, call, answer, reversed_order)) == {"values", "indices"}


def in_order(call: Call, sign: int, *, stable: bool) -> dict[str, Any]:
    """Sorted elements with their indices; equal ones in their order, or in the opposite one."""
    x, dim = call["input"], call["dim"]
    keys = sign * x.astype(np.float64)
    last = x.shape[dim] - 1
    indices = np.argsort(keys, dim, "stable") if stable else last - np.argsort(np.flip(keys, dim), dim, "stable")
    return {"values": np.take_along_axis(x, indices, dim), "indices": indices, "out": indices}


@pytest.mark.parametrize(
    ("name", "flag", "sign"),
    [("diopiSort", "pStable", 1), ("diopiArgsort", "stable", -1), ("diopiArgsort", "stable", 1)],
)
def test_equal_elements_may_change_positions_only_without_stability(
    interface: Interface, name: str, flag: str, sign: int
) -> None:
    descending = sign < 0
    loose, call = case_where(interface, name, **{flag: False, "descending": descending, "dim": 1})
    answer = answer_of(call)
    last = "indices" if name == "diopiSort" else "out"
    for stable in (True, False):
        assert faults(loose, call, answer, in_order(call, sign, stable=stable)) == {}
    found = in_order(call, sign, stable=True)
    apart = {**found, last: np.roll(found[last], 1, axis=1)}
    assert "elements of 'input' that it selects" in faults(loose, call, answer, apart)[last]
    outside = {**found, last: found[last] + 1}
    assert faults(loose, call, answer, outside)[last].startswith("there are indices outside 0 to ")
    strict, call = case_where(interface, name, **{flag: True, "descending": False})
    answer = answer_of(call)
    assert faults(strict, call, answer, in_order(call, 1, stable=True)) == {}
    assert set(faults(strict, call, answer, in_order(call, 1, stable=False))) == {last}


def test_zeros_of_both_signs_may_change_positions_only_without_stability(interface: Interface) -> None:
    zeros: dict[str, Any] = {"input": np.array([0.0, -0.0, 1.0, -0.0], np.float32), "dim": 0, "descending": False}
    for stable, complaints in ((True, {"values"}), (None, set())):
        operand = Operand((4,), "float32", tuple(zeros["input"].tolist()))
        indices, values = Operand((4,), "int64", 0), Operand((4,), "float32", 0)
        arguments = {"values": values, "indices": indices, **zeros, "input": operand, "pStable": stable}
        case = Case("diopiSort/float32/zeros", "diopiSort", "sorting", "float32", "recipe", arguments)
        call = call_of(interface, case, {"input": zeros["input"]})
        found = {"values": np.array([-0.0, 0.0, 0.0, 1.0], np.float32), "indices": np.array([0, 1, 3, 2])}
        assert set(faults(case, call, answer_of(call), found)) == complaints


@pytest.mark.parametrize("order", ["rising", "falling", "first seen"])
def test_distinct_elements_pass_in_any_order_with_their_counts(interface: Interface, order: str) -> None:
    case, call = case_where(interface, "diopiUnique", sorted=False, return_counts=True)
    answer, found = answer_of(call), unique(call, order)
    assert set(answer) == {"out", "indices", "counts"}
    assert faults(case, call, answer, found) == {}
    missing = {**found, "out": np.concatenate([found["out"][1:], found["out"][-1:]])}
    assert {"out", "indices"} <= set(faults(case, call, answer, missing))
    assert "counts" in faults(case, call, answer, {**found, "counts": found["counts"] + 1})
    assert "leads to" in faults(case, call, answer, {**found, "indices": np.roll(found["indices"], 1)})["indices"]


def unique(call: Call, order: str) -> dict[str, Any]:
    out, first, indices, counts = np.unique(call["input"], return_index=True, return_inverse=True, return_counts=True)
    selected = {"rising": np.arange(len(out)), "falling": np.arange(len(out))[::-1], "first seen": np.argsort(first)}[
        order
    ]
    where = np.argsort(selected)
    return {"out": out[selected], "counts": counts[selected], "indices": where[indices.reshape(call["input"].shape)]}
