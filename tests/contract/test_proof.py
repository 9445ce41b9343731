"""Predicates agree with the suite: accepted cases satisfy all, the case of a constraint falsifies its own alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from proof import faults
from sampling import picked

from diopigen.conformance.cases import suite as cases
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
SHARES = [pytest.param(8, id="sample"), pytest.param(1, id="whole", marks=pytest.mark.slow)]
"""One function in so many for a change; all of them in `make nightly`."""


@pytest.mark.parametrize("share", SHARES)
def test_predicates_and_cases_contradict_each_other_nowhere(interface: Interface, share: int) -> None:
    found = [f for f in cases.tested(interface) if f.constraints and picked(f.name, share)]
    assert len(found) > 20
    assert [line for function in found for line in faults(interface, function)] == []


def test_every_constraint_has_a_predicate_or_is_the_librarys_own(interface: Interface) -> None:
    open_ones = {
        f"{function.short_name} {constraint.id}"
        for function in interface.functions
        for constraint in function.constraints
        if constraint.require is None
    }
    assert all(
        constraint.checked == "library"
        for function in interface.functions
        for constraint in function.constraints
        if constraint.require is None
    )
    assert open_ones == {
        "BanBadWordsInp C2", "CTCLossBackward C2", "CustomizedFlashAttentionBackward C10",
        "CustomizedFlashAttentionVarLenBackward C9", "FusedContextAttentionInp C6", "FusedDecoderAttentionInp C5",
        "FusedSiluFfnInp C2", "MatmulAllReduce C2", "NativeMemoryFormatCast C1", "SpMM C1", "StopWordsCriterion C1",
    }  # fmt: skip
