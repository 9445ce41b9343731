"""The validation layer: what the spec forbids is rejected before a library sees it, and nothing else is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from artefacts import artefact

from diopigen import api
from diopigen.conformance.cases import select, tested
from diopigen.contract.functions import FUNCTIONS
from diopigen.diagnostics import Sink
from diopigen.ir.model import Function, Interface
from diopigen.spec.expression import Call, walk

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.suite


@pytest.fixture(scope="module")
def interface() -> Interface:
    return api.load(api.workspace(str(ROOT / "specs")), Sink(), check=False).interface


def run(library: Path, folder: Path, *options: str, **environment: str) -> dict[str, Any]:
    """Results of a run through the layer, by case id."""
    out = folder / "results.json"
    known = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    command = [sys.executable, "-m", "diopigen", "conformance", "run", "--lib", str(library)]
    command += ["--runtime", str(artefact("libdiopirt.so")), "-j", "2", "--json", str(out), *options]
    done = subprocess.run(
        command, cwd=ROOT, env={**known, **environment}, capture_output=True, text=True, check=False, timeout=1200
    )
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
    interface: Interface, tmp_path: Path
) -> None:
    library = artefact("dispatch/libaccepting.so")
    found = run(library, tmp_path, "--axis", "error", "--through", "validation")
    expected = {
        f"{function.name}/{name}/error" for function in tested(interface) for name in outside(function)
    } & found.keys()
    missed = {name for name, case in found.items() if case["outcome"] not in ("passed", "inapplicable")}
    assert missed == expected
    assert len(found) == len(select(interface, axes=["error"]))


@pytest.mark.parametrize(
    "share", [pytest.param("4", id="sample"), pytest.param("100000", id="whole", marks=pytest.mark.slow)]
)
def test_what_the_suite_accepts_is_not_rejected(interface: Interface, tmp_path: Path, share: str) -> None:
    axes = [word for axis in {case.axis for case in select(interface)} - {"error"} for word in ("--axis", axis)]
    found = run(artefact("libdiopi_impl.so"), tmp_path, *axes, "--sample", share, "--through", "validation")
    assert len(found) > 1500
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


def test_log_reports_and_goes_on(tmp_path: Path) -> None:
    known = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    switches = {"DIOPI_VALIDATE": "log", "DIOPI_VENDOR_LIBRARY": str(artefact("libdiopi_impl.so"))}
    command = [sys.executable, "-m", "diopigen", "conformance", "repro", "diopiAdd/null-input/error"]
    command += ["--lib", str(artefact("libdiopi_dispatch.so")), "--runtime", str(artefact("libdiopirt.so"))]
    done = subprocess.run(command, cwd=ROOT, env={**known, **switches}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "diopi: diopiAdd: 'input' must not be null" in done.stdout + done.stderr


def test_an_unknown_mode_is_said(tmp_path: Path) -> None:
    case = "diopiAdd/float32/recipe-1"
    known = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    switches = {"DIOPI_VALIDATE": "yes", "DIOPI_VENDOR_LIBRARY": str(artefact("libdiopi_impl.so"))}
    command = [sys.executable, "-m", "diopigen", "conformance", "repro", case]
    command += ["--lib", str(artefact("libdiopi_dispatch.so")), "--runtime", str(artefact("libdiopirt.so"))]
    done = subprocess.run(command, cwd=ROOT, env={**known, **switches}, capture_output=True, text=True, check=False)
    assert "DIOPI_VALIDATE is 'yes': off, log or refuse is possible" in done.stdout + done.stderr
    assert done.returncode == 1
