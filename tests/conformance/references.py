"""Comparison of oracles with a second reference over the cases of an operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from calls import call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import encode
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Allocated, Call, Expected, answer_of
from diopigen.ir.model import Interface

Found = Mapping[str, Any]
LAYOUTS = frozenset({"alone", "non-contiguous", "expanded", "channels-last", "strided", "offset"})
"""Axes of cases that differ in memory alone: to an oracle they are the same calls with other numbers."""


def disagreements(
    interface: Interface, operator: str, reference: Callable[[Call], Found], largest: float = float("inf")
) -> tuple[int, list[str]]:
    """Number of compared outputs, and the errors. `largest` is the most numbers of a case, for references that take
    their time."""
    function = interface.function(f"diopi{operator}")
    assert function is not None
    wrong: list[str] = []
    compared = 0
    for case in cases_of(interface, function):
        if case.expect != SUCCESS or case.axis == "special" or case.axis in LAYOUTS:
            continue
        call = call_of(interface, case)
        if sum(value.size for value in call.values.values() if isinstance(value, np.ndarray)) > largest:
            continue
        found = reference(call)
        for name, answer in answer_of(call).items():
            expected = answer.expected if isinstance(answer, Allocated) else answer
            dtype = answer.dtype if isinstance(answer, Allocated) else call.dtype(name)
            assert isinstance(expected, Expected)
            elements = np.asarray(encode(np.asarray(found[name]), dtype))
            fault = compare(elements, dtype, expected, function.tolerance, name)
            compared += 1
            if fault is not None:
                wrong.append(f"{case.id}: {name} {fault.message}: oracle {fault.expected}, reference {fault.actual}")
    return compared, wrong
