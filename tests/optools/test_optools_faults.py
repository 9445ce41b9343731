"""60 faults in four models, each named by its operator; models without a fault raise no alarm.

A change runs a sample; `make nightly` all faults, on the CPU and on a device.
"""

from __future__ import annotations

import pytest
import torch
from faults import FAULTS, Fault, Injected
from networks import MODELS
from optools.comparing import Compare
from sampling import some

CLEAN_RUNS = 10


def named(fault: Fault, device: str) -> str:
    """Result of comparing a model with a fault: the first wrong operator and its phase, or nothing."""
    with Injected(fault.op, fault.change, phases=fault.phases) as injected, Compare(quiet=True) as tool:
        MODELS[fault.model](device)
    assert injected.acted, f"{fault.name} never acted"
    first = tool.report.first
    return "" if first is None else f"{first.op} {first.where.phase if fault.phases else ''}"


@pytest.mark.parametrize("fault", some([pytest.param(fault, id=fault.name) for fault in FAULTS], 6))
def test_a_fault_is_named(fault: Fault, device: str) -> None:
    assert named(fault, device) == f"{fault.op} {fault.phases}"


@pytest.mark.slow
def test_nearly_all_faults_are_named(device: str) -> None:
    wrong = {}
    for fault in FAULTS:
        torch.manual_seed(0)
        if (found := named(fault, device)) != f"{fault.op} {fault.phases}":
            wrong[fault.name] = found
    print(f"{len(FAULTS) - len(wrong)} of {len(FAULTS)} faults are named")
    assert len(wrong) <= 3, wrong


@pytest.mark.parametrize(
    ("model", "seed"),
    some([pytest.param(model, seed, id=f"{model}-{seed}") for model in MODELS for seed in range(CLEAN_RUNS)], 8),
)
def test_a_model_without_a_fault_raises_no_alarm(model: str, seed: int, device: str) -> None:
    torch.manual_seed(1000 + seed)
    with Compare(repeat=seed % 2 == 1) as tool:
        MODELS[model](device)
    assert tool.report.findings == [] and sum(total.calls for total in tool.report.totals.values()) > 100
    assert not [reason for reason in tool.skipped if "no reference" in reason]


def test_hints_name_the_cause_of_a_fault(device: str) -> None:
    expected = {
        "stale buffer": "the result is that of call",
        "stride handling": "right for contiguous operands",
        "non-determinism": "differs when it is repeated",
        "half precision": "right in float32",
    }
    for kind, hint in expected.items():
        fault = next(one for one in FAULTS if one.kind == kind)
        with Injected(fault.op, fault.change, phases=fault.phases), Compare(quiet=True) as tool:
            MODELS[fault.model](device)
        first = tool.report.first
        assert first is not None and any(hint in word for word in first.hints), (kind, first)
