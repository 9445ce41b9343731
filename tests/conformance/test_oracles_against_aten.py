"""The oracles against ATen: every function for which the spec names an overload, on the suite's own cases.

The calls are those of `conformance aten`, and so are the failures that are explained (known.yaml). Needs the `torch`
extra.
"""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")

from aten_runs import failures, torch_results

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.cases.suite import tested as functions_of
from diopigen.conformance.model import SUCCESS, Case
from diopigen.conformance.oracles import oracle_of
from diopigen.ir.model import Function, Interface

NOT_COMPARED = frozenset({
    "BatchNormBackwardElemt", "BatchNormBackwardReduce", "BatchNormGatherStatsWithCounts", "BatchNormElemt",
    "BatchNormStats", "LinearBackward", "MatmulBackward", "RMSNormBackward",
})  # fmt: skip
"""Operators whose overloads have no kernel for the CPU."""
UNREDUCED = frozenset({"CTCLoss", "CTCLossBackward"})
"""ATen leaves the reduction to the caller, or drops what the gradient needs."""
ENOUGH = 300
"""The number of functions that must be compared."""
PARTS = 8
"""The functions are compared in so many tests, so that the processes of pytest-xdist share the work."""


def _functions(interface: Interface) -> list[Function]:
    """The functions with an overload whose values an oracle knows; random ones have distributions instead."""
    known = [f for f in functions_of(interface) if f.aten and oracle_of(f) is not None]
    return [f for f in known if f.tolerance != "random" and f.operator not in NOT_COMPARED | UNREDUCED]


def _cases(interface: Interface, function: Function) -> list[Case]:
    return [case for case in cases_of(interface, function) if case.expect == SUCCESS]


@pytest.mark.parametrize("part", range(PARTS))
def test_every_oracle_agrees_with_aten(interface: Interface, part: int) -> None:
    functions = _functions(interface)
    assert len(functions) >= ENOUGH
    own = functions[part::PARTS]
    results = torch_results(interface, (case for function in own for case in _cases(interface, function)))
    assert failures(results) == {}
    compared = Counter(result.case.function for result in results.results if result.outcome == "passed")
    assert {function.name for function in own} - set(compared) == set()


def test_what_is_not_compared_has_an_overload(interface: Interface) -> None:
    """An entry of the table that nothing needs is a mistake."""
    named = {function.operator for function in functions_of(interface) if function.aten}
    assert named >= NOT_COMPARED | UNREDUCED


def test_every_expression_with_an_overload_is_compared(interface: Interface) -> None:
    """The kernels of the reference library come from the same expressions, so that only ATen can show them right: no
    elementwise operator may be left out. Special values and integers are among the cases."""
    with_kernel = [f for f in functions_of(interface) if f.kernel is not None and f.aten]
    compared = {function.name for function in _functions(interface)}
    assert {function.name for function in with_kernel} - compared == set()
    cases = [case for function in with_kernel for case in _cases(interface, function)]
    assert {"special", "recipe"} <= {case.axis for case in cases}
    assert {"bool", "uint8", "int64", "float16", "float64", "complex128"} <= {case.dtype for case in cases}
