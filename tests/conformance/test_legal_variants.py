"""Legal variants over the tiny library: a right one passes, a wrong one and one that does nothing are named."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_cases import tiny_cases

from diopigen.api import workspace
from diopigen.conformance.model import Case
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface
from lab.mutation.build import build
from lab.variants.campaign import SOURCES, Campaign
from lab.variants.report import summary, text, to_json

ROOT = Path(__file__).resolve().parents[2]
OPERATORS = ("Add", "Relu", "Softmax")
NEEDED = ("work.h", "work.cpp", "groups.h", "groups.cpp", "variants/softmax_by_reciprocal.cpp")

OTHERS = """
#include <cmath>

#include "../work.h"

namespace diopigen::variants {

namespace {

bool scaled(Work& work, double factor) {
    if (work.dtype("out") != diopi_dtype_float32) return false;
    Array<double> out = Work::numbersOf<double>(work.call().tensor("out"));
    for (double& number : out.values) number *= factor;
    return work.write("out", out.values);
}

const Registration registration(
    "made up", {{"a-thousandth-off", "sums are off by a thousandth", named("Add"),
                 replaced([](Work& work) { return scaled(work, 1.001); })},
                {"one-of-two", "results of one of two functions are written again", named("Add Relu"),
                 replaced([](Work& work) { return work.call().hasPrefix("Add") && scaled(work, 1); })}});

}  // namespace

}  // namespace diopigen::variants
"""


@pytest.fixture(scope="session")
def variants_library(interface: Interface, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of three variants, of the functions that they replace."""
    sources = tmp_path_factory.mktemp("sources") / "library"
    for name in NEEDED:
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCES / name, sources / name)
    (sources / "variants/others.cpp").write_text(OTHERS)
    names = {f"diopi{name}" for name in OPERATORS}
    headers = tuple(
        replace(header, functions=tuple(f for f in header.functions if f.name in names or f.family == "runtime"))
        for header in interface.headers
    )
    templates, folder = workspace(str(ROOT / "specs")).templates, tmp_path_factory.mktemp("variants")
    return build(replace(interface, headers=headers), templates, folder, jobs=2, behaviours=sources)


@pytest.fixture(scope="session")
def campaign(interface: Interface, tiny_library: Path, variants_library: Path, runtime: Path) -> Campaign:
    return Campaign(tiny_cases(interface, *OPERATORS), interface, tiny_library, variants_library, runtime, jobs=2)


def test_a_right_variant_passes_every_case(campaign: Campaign) -> None:
    report = campaign.run(["softmax-by-reciprocal"])
    verdict = report.verdicts[0]
    assert report.accepted, text(report)
    assert verdict.functions == ("diopiSoftmax",) and verdict.calls > 4
    assert "1 of 1 legal variants pass" in summary(report)


def test_a_wrong_one_fails_and_is_shown(campaign: Campaign) -> None:
    report = campaign.run(["a-thousandth-off"])
    failing = {result.case.id for result in report.verdicts[0].failures}
    assert "diopiAdd/float32/plain" in failing
    assert not any("/float64/" in name or "/error" in name for name in failing)
    assert not report.accepted and not report.unsound
    assert "a-thousandth-off (sums are off by a thousandth) is refused:" in text(report)
    record = json.loads(to_json(report))
    assert set(record["variants"][0]["failures"]) == failing


def test_a_variant_must_write_results_in_each_of_its_functions(campaign: Campaign) -> None:
    report = campaign.run(["one-of-two"])
    assert not report.verdicts[0].failures
    assert report.verdicts[0].idle == ("diopiRelu",)
    assert not report.accepted
    assert "writes no result in Relu" in text(report)


def test_what_the_library_fails_itself_is_no_false_alarm(
    interface: Interface, tiny_library: Path, variants_library: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_FAULT", "alpha ignored")
    cases: list[Case] = tiny_cases(interface, "Add")
    campaign = Campaign(cases, interface, tiny_library, variants_library, runtime)
    report = campaign.run(["one-of-two"])
    assert not report.verdicts[0].failures
    assert "diopiAdd/float32/recipe-1" in report.unsound
    assert "cases fail without any variant" in text(report)


def test_an_unknown_variant_is_rejected_with_the_nearest_one(campaign: Campaign) -> None:
    with pytest.raises(Failure) as caught:
        campaign.run(["softmax-by-reciprocl"])
    assert "softmax-by-reciprocal" in str(caught.value.diagnostics[0].fix)
