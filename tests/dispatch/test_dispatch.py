"""The dispatch library between a host and a vendor's library: what is called, copied, reported and refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dispatch_build import Libraries, clean_environment
from sampling import some

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.emit.dispatch.functions import RESERVED
from diopigen.emit.operands import is_operator

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).parent / "dispatch_calls.py"
NOTICE = re.compile(r"diopi: (.+): it runs on the reference library, through host memory\n")
UNIT = 'diopiNeg: the "unit" takes float32'
LEFT = [
    f"the library of test leaves diopiNeg(out=float64[2], input=float64[2]) (diopiNoImplement: {UNIT})",
    "the library of test leaves diopiSqrt(out=float32[2, 2] strides [5, 2], input=float32[2, 2] strides [5, 2]) "
    "(diopiForceFallbackToCPU without a text)",
    "diopiAbs is not in the library of test",
]
"""Operators of the program `unary` that fall back, and the reasons."""


@dataclass
class Done:
    result: Any
    errors: str


Run = Callable[..., Done]


def start(libraries: Libraries, folder: Path, name: str, environment: dict[str, str | None]) -> Any:
    """The calls of a function of dispatch_calls.py in a process of their own; None removes a variable."""
    environment_of_call = {**clean_environment(libraries), **environment}
    command = [sys.executable, PROGRAM, libraries.runtime, libraries.dispatch, name]
    return subprocess.run(
        list(map(str, command)),
        env={key: value for key, value in environment_of_call.items() if value is not None},
        cwd=folder,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def run(libraries: Libraries, tmp_path: Path) -> Run:
    def started(name: str, **environment: str | None) -> Done:
        done = start(libraries, tmp_path, name, environment)
        assert done.returncode == 0, done.stderr
        return Done(json.loads(done.stdout), done.stderr)

    return started


def test_calls_go_to_the_vendor_else_to_the_reference(run: Run) -> None:
    done = run("unary")
    found = done.result
    assert found["vendor"]["values"] == [-1, 2] and found["vendor"]["fallbacks"] == 0
    assert found["dtype"]["values"] == [-1, 2] and found["dtype"]["fallbacks"] == 1
    assert found["declined"]["values"] == [[2, 3], [4, 5]] and found["declined"]["intact"]
    assert found["missing"]["values"] == [1, 2] and found["missing"]["fallbacks"] == 1
    # A failure is no reason to fall back.
    assert found["failing"]["status"] == "diopiErrorOccurred" and found["failing"]["fallbacks"] == 0
    assert found["failing"]["error"] == "the rounding unit is on holiday"
    assert found["throwing"]["status"] == "diopiErrorOccurred"
    assert found["throwing"]["error"] == "diopiCeil: an exception left the operator: no more registers"
    assert found["nowhere"]["status"] == "diopiNoImplement"
    assert found["nowhere"]["error"] == "diopiSign: not in the library of test, nor in the reference library"
    # Of a failure on the reference nothing is written back.
    assert found["refused"]["status"] == "diopiDtypeNotSupported" and found["refused"]["values"] == [0]
    assert found["refused"]["error"] == "the reference has no such dtype"
    assert found["total"] == 4
    assert NOTICE.findall(done.errors) == LEFT


def test_every_fallback_is_logged_on_demand(run: Run) -> None:
    done = run("unary", DIOPI_FALLBACK="log")
    found = NOTICE.findall(done.errors)
    assert found[:3] == LEFT and found[3].startswith("the library of test leaves diopiSqrt(") and len(found) == 4


def test_fallbacks_are_reported_by_operator_status_and_text(run: Run, tmp_path: Path) -> None:
    """Two processes append to one file."""
    lines = [
        {"function": "diopiAbs", "status": "", "reason": "", "calls": 1},
        {"function": "diopiNeg", "status": "diopiNoImplement", "reason": UNIT, "calls": 1},
        {"function": "diopiSqrt", "status": "diopiForceFallbackToCPU", "reason": "", "calls": 2},
    ]
    for times in (1, 2):
        run("unary", DIOPI_FALLBACK_REPORT="report.jsonl")
        written = (tmp_path / "report.jsonl").read_text().splitlines()
        assert list(map(json.loads, written)) == lines * times


def test_fallback_can_be_rejected(run: Run) -> None:
    found = run("unary", DIOPI_FALLBACK="off").result
    assert found["vendor"]["status"] == "diopiSuccess"
    assert found["missing"]["status"] == "diopiNoImplement" and found["missing"]["values"] == [0, 0]
    assert found["missing"]["error"] == "diopiAbs: not in the library of test, and DIOPI_FALLBACK is off"
    said = f"the library of test leaves the call (diopiNoImplement: {UNIT}), and DIOPI_FALLBACK is off"
    assert found["dtype"]["error"] == f"diopiNeg: {said}"
    assert found["total"] == 0


def test_without_a_reference_library(run: Run) -> None:
    found = run("unary", DIOPI_REFERENCE_LIBRARY=None).result
    assert found["vendor"]["values"] == [-1, 2]
    assert found["missing"]["error"].endswith(
        "not in the library of test, and there is no reference library to fall back to"
    )


def test_arrays_of_tensors(run: Run) -> None:
    assert run("many").result == {"status": "diopiSuccess", "values": [1, 2, 3], "handles kept": True}


def test_tensors_that_share_memory_still_do(run: Run) -> None:
    assert run("aliased").result == {"status": "diopiSuccess", "values": [1, 2, 3], "in place": [4]}


def test_created_tensors_move_to_the_device(run: Run) -> None:
    assert run("created").result == {"status": "diopiSuccess", "values": [[1], [3]], "dtype": "int64", "device": 1}


def test_comparison_finds_and_keeps_differences(run: Run, tmp_path: Path) -> None:
    done = run("compared", DIOPI_COMPARE=".")
    found = done.result
    # The caller's results stay those of the vendor.
    assert found["exp"]["differences"] == 1 and found["exp"]["values"][0] == pytest.approx(1.001)
    assert found["neg"]["differences"] == 0
    assert found["nonzero"] == [1, [0, 1]]
    assert found["equal"] == [1, False]
    assert found["total"] == 3
    assert "diopi: diopiNonzero differs from the reference (the first operator that does)\n" in done.errors
    assert "  out is int64[0, 1], reference int64[1, 1]\n" in done.errors
    assert "  out float32[2]: 2 of 2 elements differ; worst [" in done.errors
    assert "  called with out=float32[2], input=float32[2]\n" in done.errors
    folder = tmp_path / re.findall(r"kept in (.*_diopiExp)", done.errors)[0]
    call = json.loads((folder / "call.json").read_text())
    assert call["function"] == "diopiExp" and call["status"] == "diopiSuccess"
    assert [(item["name"], item["when"]) for item in call["tensors"]] == [
        (name, when) for when in ("before", "after", "reference") for name in ("out", "input")
    ]
    assert np.load(folder / "input.before.npy").tolist() == [0, 1]
    assert np.load(folder / "out.reference.npy").tolist() == pytest.approx([1, np.e])
    assert np.load(folder / "out.after.npy").tolist() == pytest.approx([1.001, 1.001 * np.e])


def test_comparison_takes_only_what_matches(run: Run) -> None:
    found = run("compared", DIOPI_COMPARE="^diopi(Neg|Equal)$").result
    assert found["total"] == 1 and found["exp"]["differences"] == 0


def test_calls_are_logged_and_dumped(run: Run, tmp_path: Path) -> None:
    done = run("unary", DIOPI_LOG="Neg", DIOPI_DUMP="Sqrt", DIOPI_DUMP_FOLDER="kept/calls")
    lines = [line for line in done.errors.splitlines() if "diopiNeg(" in line and " by the " in line]
    pattern = (
        r"diopi: diopiNeg\(out=float(32|64)\[2\], input=float(32|64)\[2\]\) diopiSuccess by the (\w+).* in [\d.e+]+ us"
    )
    matches = [re.fullmatch(pattern, line) for line in lines]
    assert [match and match.group(3) for match in matches] == ["vendor", "reference"]
    assert f" by the reference library (vendor: diopiNoImplement: {UNIT}) in " in lines[1]
    first, second = sorted((tmp_path / "kept/calls").iterdir())
    assert np.load(first / "out.after.npy").tolist() == [[2, 3], [4, 5]]
    call = json.loads((second / "call.json").read_text())
    assert call["status"] == "diopiDtypeNotSupported" and call["tensors"][0]["dtype"] == "int32"


def test_a_variable_that_is_not_declared_is_a_warning(run: Run) -> None:
    lines = [
        line
        for line in run("unary", DIOPI_LGO="Neg", DIOPI_AUTOCOMPARE="x").errors.splitlines()
        if " variable " in line
    ]
    assert lines == [
        "diopi: DIOPI_LGO is no variable of this library, nor of another one (generated/docs/environment.md)"
    ]


def test_an_alias_names_the_folder_as_well(run: Run, tmp_path: Path) -> None:
    run("unary", DIOPI_DUMP="Sqrt", DIOPI_AUTOCOMPARE_FOLDER="elsewhere")
    assert len(list((tmp_path / "elsewhere").iterdir())) == 2


def test_times_are_told_at_the_end(run: Run) -> None:
    errors = run("unary", DIOPI_TIMING="1").errors
    rows = {
        line.split()[0]: line.split()[1:3] for line in errors.splitlines() if line.startswith("diopi") and "%" in line
    }
    assert rows["diopiNeg"] == ["1", "1"] and rows["diopiSqrt"] == ["0", "2"] and rows["diopiExp"] == ["1", "0"]


@pytest.mark.parametrize(
    ("variable", "value", "text"),
    some(
        [
            ("DIOPI_FALLBACK", "maybe", "DIOPI_FALLBACK is 'maybe': off, warn or log is possible"),
            ("DIOPI_FALLBACK_REPORT", "/nowhere/x", "DIOPI_FALLBACK_REPORT is '/nowhere/x', which cannot be written"),
            ("DIOPI_TIMING", "yes", "DIOPI_TIMING is 'yes': 0 or 1 is possible"),
            ("DIOPI_COMPARE", "(", "DIOPI_COMPARE is not a regular expression: '('"),
            (
                "DIOPI_VENDOR_LIBRARY",
                "/nowhere/lib.so",
                "the vendor's library does not load (DIOPI_VENDOR_LIBRARY names",
            ),
            (
                "DIOPI_REFERENCE_LIBRARY",
                "/nowhere/lib.so",
                "the reference library does not load (DIOPI_REFERENCE_LIBRARY",
            ),
        ],
        6,
    ),
)
def test_bad_settings_are_named(libraries: Libraries, tmp_path: Path, variable: str, value: str, text: str) -> None:
    done = start(libraries, tmp_path, "many", {variable: value})
    assert done.returncode != 0
    assert done.stderr.startswith(f"diopi: {text}")


def test_first_calls_of_several_threads(run: Run) -> None:
    assert run("threads").result == {"right": [True] * 4, "fallbacks": 800}


def test_no_parameter_has_a_name_of_the_emitted_functions() -> None:
    interface = api.load(api.workspace(str(ROOT / "specs")), Sink(), check=False).interface
    dispatched = [function for function in interface.functions if is_operator(function)]
    assert len(dispatched) == 565
    assert not {param.name for function in dispatched for param in function.params} & RESERVED
