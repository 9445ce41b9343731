"""Faults that vendors make, injected in a copy of droplet: each builds, and is found with a message that leads to it.

All faults are in one build; DROPLET_FAULT names the one that acts.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from droplet_tree import Built, built_tree, conformance, run_diopigen
from sampling import first

CHECKS = {"DIOPI_SIM_MEMORY_CHECK": "1", "DIOPI_SIM_ORDER_CHECK": "1"}


def repro(built: Built, case: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs one case again."""
    files = ("--lib", built.library, "--runtime", built.runtime)
    return run_diopigen("conformance", "repro", case, *files, **variables)


@pytest.fixture(scope="module")
def built() -> Built:
    return built_tree("injected")


def cases(report: dict[str, Any], outcome: str) -> dict[str, str]:
    """The messages of the cases with an outcome."""
    return {
        case["id"]: " ".join(fault["message"] for fault in case.get("faults", []))
        for case in report["cases"]
        if case["outcome"] == outcome
    }


OPERATORS = ["Softmax", "LogSoftmax", "Sum", "Cat", "CopyInp", "Bmm", "Convolution2d"]
SELECTED = ["--dtype", "float32", *(word for name in OPERATORS for word in ("--ops", name))]


@pytest.mark.parametrize("delay", first(["", "5,200"]))
def test_without_a_fault_nothing_is_found(built: Built, tmp_path: Path, delay: str) -> None:
    variables = {**CHECKS, "DIOPI_SIM_DELAY": delay} if delay else CHECKS
    code, report, said = conformance(built, tmp_path / "r.json", *SELECTED, **variables)
    assert code == 0, said[-3000:]
    assert len(cases(report, "passed")) > 60


FAULTS = {
    "host dereference": (
        "Softmax",
        "crashed",
        ["host access to device memory: write at 0x", "it is byte ", "allocation #"],
    ),
    "double free": ("CopyInp", "crashed", ["double free: free of 0x", "allocation #", "(1234 bytes on device 0"]),
    "wrong stream": ("Bmm", "crashed", ["missing synchronisation: ", "diopiBmm", "copy to host on stream"]),
    "ignores strides": ("Softmax", "failed", ["elements differ; worst ["]),
    "ignores layout": ("Convolution2d", "failed", ["elements differ; worst ["]),
    "throws": ("LogSoftmax", "failed", ["the call is refused (diopiLogSoftmax: exception: no table for logarithms)"]),
}
"""The operator that has the fault, what the suite calls it, and words of its message."""


@pytest.mark.parametrize("fault", first(sorted(FAULTS, key=lambda name: name != "ignores strides")))
def test_the_suite_finds_a_fault_and_its_message_leads_to_it(built: Built, tmp_path: Path, fault: str) -> None:
    operator, outcome, words = FAULTS[fault]
    selected = ["--ops", operator, "--ops", "Mean", "--dtype", "float32"]
    code, report, said = conformance(built, tmp_path / "r.json", *selected, DROPLET_FAULT=fault, **CHECKS)
    found = cases(report, outcome)
    assert code == 1 and found, said[-3000:]
    missing = [word for word in words if not any(word in text for text in found.values())]
    assert missing == [], list(found.items())[:5]
    assert {name.split("/")[0] for name in found} == {f"diopi{operator}"}, list(found)[:5]


@pytest.mark.slow
def test_strides_are_what_the_suite_tells_apart(built: Built, tmp_path: Path) -> None:
    """The names of the failing cases say what is ignored."""
    _, report, _ = conformance(built, tmp_path / "r.json", "--ops", "Softmax", DROPLET_FAULT="ignores strides")
    failed, passed = cases(report, "failed"), cases(report, "passed")
    assert "diopiSoftmax/float32/strided" in failed and "diopiSoftmax/float32/recipe-1" in passed
    _, report, _ = conformance(built, tmp_path / "r.json", "--ops", "Convolution2d", DROPLET_FAULT="ignores layout")
    assert "diopiConvolution2d/float32/recipe-1" in cases(report, "failed")


def test_the_origin_of_an_allocation_is_shown(built: Built) -> None:
    case = "diopiSoftmax/float32/recipe-1"
    variables = {**CHECKS, "DIOPI_SIM_DEBUG": "1", "DROPLET_FAULT": "host dereference"}
    done = repro(built, case, **variables)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    origin = said.index(" was allocated by:")
    assert "diopigenSimMalloc" in said[origin:] and "host access to device memory: write at 0x" in said[origin:], said


@pytest.mark.slow
def test_a_missing_synchronisation_shows_under_delays(built: Built) -> None:
    """Without them the copy has long been made when the host reads it: right by luck."""
    case = "diopiSum/float32/recipe-3"
    assert repro(built, case, DROPLET_FAULT="missing synchronisation").returncode == 0
    done = repro(built, case, DROPLET_FAULT="missing synchronisation", DIOPI_SIM_DELAY="3,400000")
    assert done.returncode == 1 and "FAILED diopiSum/float32/recipe-3" in done.stdout
    assert "elements differ" in done.stdout
    assert repro(built, case, DIOPI_SIM_DELAY="3,400000").returncode == 0


@pytest.mark.slow
def test_a_leak_is_named_when_the_library_is_left(built: Built, tmp_path: Path) -> None:
    selected = ["--ops", "Cat", "--dtype", "float32", "-j", "1"]
    code, _, said = conformance(built, tmp_path / "r.json", *selected, DROPLET_FAULT="leak", **CHECKS)
    assert code == 1 and "leak: " in said and "(4321 bytes on device 0" in said, said[-3000:]
    code, _, said = conformance(built, tmp_path / "r.json", *selected, **CHECKS)
    assert code == 0 and "leak" not in said


def test_a_device_function_that_is_not_registered(built: Built) -> None:
    case = "diopiSoftmax/float32/recipe-1"
    done = repro(built, case, DROPLET_FAULT="unregistered function")
    assert done.returncode == 1
    assert "no device function registered through diopiRegisterMemcpyH2DAsyncFunc" in done.stdout, done.stdout


def test_hosts_of_both_forms_find_the_device(built: Built) -> None:
    """By registration in initLibrary, which the runs above take, and by the names of the newer form."""
    done = subprocess.run(["nm", "-D", "--defined-only", built.library], capture_output=True, text=True, check=True)
    exported = {line.split()[-1] for line in done.stdout.splitlines()}
    streams, copies = ("make_stream", "destroy_stream", "synchronize_stream"), ("h2d", "d2h", "d2d")
    words = ["malloc", "free", *streams, *(f"memcpy_{way}_async" for way in copies)]
    by_name = {f"device_{word}" for word in words}
    assert by_name | {"initLibrary", "finalizeLibrary", "buildGeneratorState"} <= exported


def test_doctor_finds_nothing_in_the_tree(built: Built) -> None:
    done = run_diopigen("doctor", "impl/droplet", "--lib", built.library, folder=built.tree)
    assert done.returncode == 0, done.stdout + done.stderr
