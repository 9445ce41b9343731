"""Calls of hosts: the oracles against ATen on the call forms of tests/host_calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from calls import call_of
from host_calls import HostCall, calls

pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

from aten_binding import HALVES, BindingError, bind, stored

from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import decode
from diopigen.conformance.oracles import Allocated, Call, Expected, Property, answer_of
from diopigen.ir.model import Interface

_REFUSALS = (RuntimeError, NotImplementedError, TypeError, LookupError, ValueError)


def _expectations(call: Call, name: str, expected: Any) -> list[tuple[Any, str]]:
    if isinstance(expected, (list, tuple)):
        return list(zip(expected, call.dtypes[name], strict=True))
    if isinstance(expected, Allocated):
        return [(expected.expected, expected.dtype)]
    return [(expected, call.dtypes.get(name, "float64"))]


def _torch_results(call: Call, *, widened: Mapping[str, str] | None) -> dict[str, Any]:
    """Result of the first overload of the spec that accepts the call; those that write to provided tensors come last.

    Raises `BindingError` where none does.
    """
    values = {name: value for name, value in call.values.items() if not (isinstance(value, str) and not value)}
    reasons = []
    for overload in sorted(call.function.aten, key=lambda one: "out" in one.name.partition(".")[2]):
        one = replace(call, function=replace(call.function, aten=(overload,)), values=values)
        try:
            return bind(one, widened=widened).run()
        except (BindingError, *_REFUSALS) as reason:
            reasons.append(f"{overload.name}: {str(reason).splitlines()[0]}")
    raise BindingError("; ".join(reasons) or "the spec names no overload")


def _decoded(result: Any) -> Any:
    dtype = str(result.dtype).removeprefix("torch.")
    return decode(stored(result, dtype), dtype)


def _difference(
    call: Call, name: str, expected: Any, dtype: str, result: Any, found: Mapping[str, Any]
) -> object | None:
    if isinstance(expected, Property):
        others = (_decoded(found[other]) for other in expected.others)
        return expected.check(decode(stored(result, dtype), dtype), *others)
    if isinstance(expected, Expected):
        return compare(
            stored(result.reshape(np.shape(expected.values)), dtype), dtype, expected, call.function.tolerance, name
        )
    return None if expected == result else f"oracle {expected}, torch {result}"


def _compared(interface: Interface, host: HostCall) -> tuple[int, str]:
    """Number of compared results, and the differences or the reason why torch cannot be compared."""
    call = call_of(interface, host.case)
    try:
        found = _torch_results(call, widened=HALVES if host.case.dtype in HALVES else None)
    except BindingError as reason:
        return 0, f"torch: {reason}"
    with np.errstate(all="ignore"):
        answer = answer_of(call)
    compared = 0
    for name, actual in found.items():
        results = actual if isinstance(actual, (list, tuple)) else [actual]
        for (expected, dtype), result in zip(_expectations(call, name, answer.get(name)), results, strict=True):
            if expected is None or result is None:
                continue
            compared += 1
            fault = _difference(call, name, expected, dtype, result, found)
            if fault is not None:
                return compared, f"{name}: {fault}"
    return compared, ""


@pytest.mark.filterwarnings("ignore")
def test_oracles_agree_with_torch_on_host_calls(interface: Interface) -> None:
    random = {f.name for f in interface.functions if f.tolerance == "random"}
    asked = [call for call in calls(interface) if not call.not_in_torch and call.case.function not in random]
    outcome = {call.case.id: _compared(interface, call) for call in asked}
    assert {name: fault for name, (_, fault) in outcome.items() if fault} == {}
    assert sum(compared for compared, _ in outcome.values()) > 900


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_compared_cannot_be(interface: Interface) -> None:
    """A reason in the table that nothing needs is a mistake."""
    agrees: dict[tuple[str, str], list[bool]] = {}
    for call in calls(interface):
        if call.not_in_torch:
            compared, fault = _compared(interface, call)
            agrees.setdefault((call.case.function, call.form), []).append(compared > 0 and not fault)
    assert [form for form, each in agrees.items() if all(each)] == []
