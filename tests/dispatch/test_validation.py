"""The validation layer: what the spec forbids is rejected before a library sees it, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from artefacts import artefact
from programs import SUITE

from diopigen.conformance.cases import suite as cases
from diopigen.conformance.model import Case
from diopigen.contract.functions import FUNCTIONS
from diopigen.ir.model import Function, Interface
from diopigen.spec.expression import Call, walk

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.suite


def run(library: Path, folder: Path, *options: str, **environment: str) -> dict[str, Any]:
    """Results of a run through the layer, by case id."""
    out = folder / "results.json"
    known = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    command = [*SUITE, "--lib", str(library)]
    command += ["--runtime", str(artefact("libdiopirt.so")), "-j", "2", "--json", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, env={**known, **environment}, capture_output=True, text=True, check=False)
    assert out.exists(), done.stderr
    return {case["id"]: case for case in json.loads(out.read_text())["cases"]}


def outside(function: Function) -> set[str]:
    """The constraints that the layer does not evaluate: those without a predicate, and those whose predicate uses a
    function that needs more than a host can read at a call."""
    found = set()
    for constraint in function.constraints:
        calls = walk(constraint.require.expression) if constraint.require is not None else ()
        names = {part.function for part in calls if isinstance(part, Call)}
        if constraint.require is None or any(name in FUNCTIONS and not FUNCTIONS[name].in_layer for name in names):
            found.add(constraint.id)
    return found


def test_each_refusal_of_the_suite_is_found_through_a_library_that_checks_nothing(
    interface: Interface, derived: Callable[[Function], Sequence[Case]], tmp_path: Path
) -> None:
    library = artefact("dispatch/libaccepting.so")
    found = run(library, tmp_path, "--axis", "error", "--through", "validation")
    expected = {
        f"{function.name}/{name}/error" for function in cases.tested(interface) for name in outside(function)
    } & found.keys()
    missed = {name for name, case in found.items() if case["outcome"] not in ("passed", "inapplicable")}
    assert missed <= expected
    assert len(expected) < 20
    assert len(found) == len(cases.select(interface, axes=["error"], derived=derived))


@pytest.mark.parametrize(
    "share", [pytest.param("2", id="sample"), pytest.param("100000", id="whole", marks=pytest.mark.slow)]
)
def test_what_the_suite_accepts_is_not_rejected(tmp_path: Path, share: str) -> None:
    axes = [word for axis in cases.AXES if axis != "error" for word in ("--axis", axis)]
    found = run(artefact("libdiopi_impl.so"), tmp_path, *axes, "--sample", share, "--through", "validation")
    assert len(found) > 1100
    rejected = {name: case.get("faults") for name, case in found.items() if case["outcome"] == "failed"}
    assert rejected == {}


def test_the_text_names_operator_parameter_value_and_what_is_allowed(tmp_path: Path) -> None:
    options = [word for name in ("Add", "Softmax", "Conv*2d", "Linear", "Dropout") for word in ("--ops", name)]
    found = run(artefact("dispatch/libaccepting.so"), tmp_path, "--axis", "error", *options, "--through", "validation")
    texts = {name: case["reason"] for name, case in found.items() if case.get("reason")}
    expected = {
        "diopiAdd/null-input/error": "diopiAdd: 'input' must not be null",
        "diopiAdd/no-broadcast/error": (
            "diopiAdd: 'out' cannot have the shape of its operands: they do not broadcast "
            "(input=float32[2, 3], other=float32[2, 4])"
        ),
    }
    assert {name: texts.get(name) for name in expected} == expected
    assert all(text.startswith(name.partition("/")[0]) for name, text in texts.items())


def calls(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The calls of a function of dispatch_calls.py, to a library that checks nothing."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("DIOPI_")}
    library = str(artefact("dispatch/libaccepting.so"))
    program = Path(__file__).parent / "dispatch_calls.py"
    command = [sys.executable, program, artefact("libdiopirt.so"), artefact("libdiopi_dispatch.so"), name]
    switches = {"DIOPI_VENDOR_LIBRARY": library, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        list(map(str, command)), env={**known, **switches}, capture_output=True, text=True, check=False
    )


TEXT = "'out' is float32[3] and must have the shape [2] (input=float32[2])"


@pytest.mark.parametrize(
    ("mode", "status"), [("off", "diopiSuccess"), ("log", "diopiSuccess"), ("refuse", "diopiErrorOccurred")]
)
def test_what_each_mode_does(mode: str, status: str) -> None:
    done = calls("mismatched", DIOPI_VALIDATE=mode)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["status"] == status
    assert (f"diopi: diopiNeg: {TEXT}" in done.stderr) == (mode == "log")
    if mode == "refuse":
        assert found["error"] == f"diopiNeg: {TEXT}"


def test_a_call_is_not_taken_for_an_earlier_one() -> None:
    done = calls("repeated", DIOPI_VALIDATE="refuse")
    assert done.returncode == 0, done.stderr
    legal, illegal = "diopiSuccess", "refused"
    found = [legal if status == "diopiSuccess" else illegal for status in json.loads(done.stdout)]
    assert found == [legal, illegal, legal] * 4


def test_an_unknown_mode_is_said() -> None:
    done = calls("mismatched", DIOPI_VALIDATE="yes")
    assert "DIOPI_VALIDATE is 'yes': off, log or refuse is possible" in done.stdout + done.stderr
