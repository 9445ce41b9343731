"""The conformance suite over a vendor on the simulated device: right, and with each of several faults."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from programs import SUITE
from sampling import first
from sim_build import ROOT, run

CHECKS = {"DIOPI_SIM_MEMORY_CHECK": "1", "DIOPI_SIM_ORDER_CHECK": "1"}


EXCEPTIONS = """\
unsupported:
  - functions: diopiRelu
    dtypes: [float64, float16, bfloat16, int64, int32, int16, int8, uint8, uint16, uint32, uint64, bool]
    reason: the chip takes float32 alone
"""


def report_of(plain: Path, folder: Path, *options: str | Path, **environment: str) -> dict[str, Any]:
    """Results of the suite for diopiRelu."""
    report = folder / "results.json"
    files: list[str | Path] = [
        "--lib",
        plain / "libdiopi_relu.so",
        "--runtime",
        plain.parent / "libdiopirt.so",
        "--json",
        report,
    ]
    command: list[str | Path] = [*SUITE, *files, "--ops", "diopiRelu"]
    done = run([*command, "--spec", ROOT / "specs", *options], **CHECKS, **environment)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    assert (done.returncode == 0) == (not found.get("endings") and not failures(found)), done.stdout + done.stderr
    return found


def failures(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [case for case in found["cases"] if case["outcome"] not in ("passed", "excepted", "unimplemented")]


@pytest.mark.parametrize("delay", first(["", "11,3000"]))
def test_a_right_vendor_fails_nothing(plain: Path, tmp_path: Path, delay: str) -> None:
    exceptions = tmp_path / "exceptions.yaml"
    exceptions.write_text(EXCEPTIONS, encoding="utf-8")
    found = report_of(plain, tmp_path, "--exceptions", exceptions, DIOPI_SIM_DELAY=delay)
    assert failures(found) == []
    assert sum(case["outcome"] == "passed" for case in found["cases"]) >= 10
    assert "endings" not in found, "all memory is given back, and finalizeLibrary says so"


FAULTS = {
    "host reads": ("crashed", "diopi-sim: host access to device memory: read at 0x"),
    "wrong stream": ("crashed", "diopi-sim: missing synchronisation: copy to host on stream "),
    "double free": ("crashed", "diopi-sim: double free: free of 0x"),
    "throws": ("failed", "diopiRelu on stream 0 failed: unknown exception"),
    "ignores strides": ("failed", "elements differ"),
}
"""Outcomes of the suite, with their messages. On a wrong stream the operator and the copy of its result are not
ordered; the suite has waited for the copies of its operands."""


@pytest.mark.parametrize("fault", first(sorted(FAULTS, key=lambda name: name != "ignores strides")))
def test_a_fault_is_found_with_a_message_that_leads_to_it(plain: Path, tmp_path: Path, fault: str) -> None:
    outcome, message = FAULTS[fault]
    found = report_of(plain, tmp_path, "--dtype", "float32", RELU_FAULT=fault)
    texts = [one["message"] for case in found["cases"] if case["outcome"] == outcome for one in case["faults"]]
    assert any(message in text for text in texts), texts


def test_a_leak_fails_a_run_in_which_no_case_fails(plain: Path, tmp_path: Path) -> None:
    found = report_of(plain, tmp_path, "--dtype", "float32", "--axis", "recipe", RELU_FAULT="leak", DIOPI_SIM_DEBUG="1")
    assert failures(found) == []
    (ending,) = found["endings"]
    assert ending["message"].startswith("finalizeLibrary returns ")
    leak = re.search(r"\(leak: (\d+) allocations with (\d+) bytes were never freed\)", ending["message"])
    assert leak is not None
    assert int(leak[1]) >= len(found["cases"]), "some calls come twice, with other numbers first"
    assert int(leak[2]) == 640 * int(leak[1])
    assert "diopi-sim: leak: memory was never freed" in ending["printed"]
    assert "diopiRelu" in ending["printed"], "where it was allocated"
