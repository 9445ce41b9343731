"""Faults that users of published libraries reported, injected into the CPU library: the suite finds each of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from diopigen.api import workspace
from diopigen.conformance.cases.suite import select
from diopigen.ir.model import Interface
from lab.mutation.build import build
from lab.mutation.campaign import Campaign, selected
from lab.mutation.report import text

pytestmark = [pytest.mark.slow, pytest.mark.suite]  # compiles a mutant library
ROOT = Path(__file__).resolve().parents[2]
FAULTS = {
    "magnitude-of-a-negative-base": ["Pow", "PowInp", "PowTensor", "PowInpTensor"],
    "indices-of-two-dimensions-refused": ["Index", "IndexPut", "IndexPutInp"],
    "batches-of-volumes-refused": [
        "BatchNorm", "BatchNormBackward", "BatchNormStats", "BatchNormElemt", "BatchNormBackwardReduce",
        "BatchNormBackwardElemt", "BatchNormGatherStatsWithCounts",
    ],
    "distant-elements-refused": ["CopyInp", "Add", "Softmax", "Mm"],
    "odd-strides-refused": ["CopyInp", "Add"],
    "empty-results-refused": ["Normal", "NormalInp", "UniformInp", "RandomInp", "BernoulliScalar", "Add"],
    "dtype-refusals-lost": ["Mm"],
}  # fmt: skip
"""The functions in which each fault must be found; the last are those of operands that do not go together."""


def test_the_suite_finds_what_users_reported(
    libraries: tuple[Path, Path], interface: Interface, tmp_path: Path
) -> None:
    names = sorted({name for functions in FAULTS.values() for name in functions})
    headers = tuple(
        replace(
            header,
            functions=tuple(
                f for f in header.functions if f.family == "runtime" or f.name.removeprefix("diopi") in names
            ),
        )
        for header in interface.headers
    )
    mutant = build(
        replace(interface, headers=headers), workspace(str(ROOT / "specs")).templates, tmp_path / "mutant", jobs=2
    )
    campaign = Campaign(select(interface, ops=names), interface, libraries[1], mutant, libraries[0], jobs=2)
    assert campaign.unsound == []
    report = campaign.run(selected(campaign.found, list(FAULTS)))
    outcomes = {
        verdict.mutant.name: {trial.function.removeprefix("diopi"): trial.outcome for trial in verdict.trials}
        for verdict in report.verdicts
    }
    for fault, functions in FAULTS.items():
        assert {name: outcomes[fault].get(name) for name in functions} == dict.fromkeys(functions, "killed"), text(
            report
        )
        assert "survived" not in outcomes[fault].values(), text(report)
