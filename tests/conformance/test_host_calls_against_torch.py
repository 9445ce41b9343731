"""What hosts ask for is what torch gives: the oracles against ATen on the call forms of tests/host_calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from calls import call_of
from host_calls import HostCall, calls

pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

from aten_binding import Unbound, bind, stored

from diopigen.conformance.compare import compare
from diopigen.conformance.oracles import Allocated, Call, Expected, oracles
from diopigen.ir.model import Interface

_REFUSALS = (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError)
WIDENED = frozenset({"float16", "bfloat16"})
"""Dtypes that torch rounds to on the way as well: compared with its results in float32."""


def _expectations(call: Call, name: str, wanted: Any) -> list[tuple[Any, str]]:
    if isinstance(wanted, (list, tuple)):
        return list(zip(wanted, call.dtypes[name], strict=True))
    if isinstance(wanted, Allocated):
        return [(wanted.expected, wanted.dtype)]
    return [(wanted, call.dtypes.get(name, "float64"))]


def _compared(interface: Interface, host: HostCall) -> tuple[int, str]:
    """How many results were compared, and what differs or why torch cannot be asked."""
    call = call_of(interface, host.case)
    try:
        found = bind(call, widened=host.case.dtype in WIDENED).run()
    except (Unbound, *_REFUSALS) as reason:
        return 0, f"torch: {str(reason).splitlines()[0]}"
    with np.errstate(all="ignore"):
        answer = oracles()[call.function.operator](call)
    compared = 0
    for name, actual in found.items():
        results = actual if isinstance(actual, (list, tuple)) else [actual]
        for (wanted, dtype), result in zip(_expectations(call, name, answer.get(name)), results, strict=True):
            if wanted is None or result is None:
                continue
            compared += 1
            if not isinstance(wanted, Expected):
                fault = None if wanted == result else f"oracle {wanted}, torch {result}"
            else:
                elements = stored(result.reshape(np.shape(wanted.values)), dtype)
                fault = compare(elements, dtype, wanted, call.function.tolerance, name)
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
    excused = [call for call in calls(interface) if call.not_in_torch]
    assert [call.case.id for call in excused if _compared(interface, call) == (1, "")] == []
