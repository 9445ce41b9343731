"""PyTorch's `instantiate_device_type_tests` makes tests that run on droplet: of those in generic_device_tests.py."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import torch_build
from run_kind import ROOT

PROGRAM = Path(__file__).parent / "generic_device_tests.py"
SKIPPED = {"test_only_cpu_droplet", "test_skipped_droplet"}
GENERIC = {
    "test_operator_add_droplet_bfloat16",
    "test_operator_nn_functional_conv2d_droplet_int64",
    "test_one_dtype_abs_droplet_float32",
    "test_no_dtype_amax_droplet",
    "test_module_nn_LSTM_train_mode_droplet_float32",
    "test_module_nn_LSTM_eval_mode_droplet_float64",
    "test_optimizer_AdamW_droplet_float32",
    "test_dtypes_droplet_bool",
    "test_parametrized_odd_droplet_float32",
    "test_native_droplet",
    "test_only_here_droplet",
    "test_only_on_droplet",
    "test_accelerator_droplet",
    "test_devices_droplet",
    "test_precision_droplet_float32",
    "test_tolerance_droplet_float32",
    "test_difference_is_seen_droplet",
    "test_device_droplet",
}


def outcomes(backend: Any, report: Path, settings: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """Names of the tests that ran with what became of them, and what was printed."""
    environment = {**os.environ, **backend.environment(), "PYTHONPATH": torch_build.PYTHONPATH, **settings}
    call = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", f"--junitxml={report}", str(PROGRAM)]
    done = subprocess.run(call, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    cases = ElementTree.parse(report).iter("testcase")
    return {str(case.get("name")): next((part.tag for part in case), "passed") for case in cases}, done.stdout


def test_generic_tests_run_on_droplet(backend: Any, tmp_path: Path) -> None:
    found, printed = outcomes(backend, tmp_path / "report.xml", {})
    wrong = {name: outcome for name, outcome in found.items() if outcome not in ("passed", "skipped")}
    assert wrong == {}, printed[-3000:]
    assert {name for name, outcome in found.items() if outcome == "skipped"} == SKIPPED
    assert {name for name, outcome in found.items() if outcome == "passed"} >= GENERIC
    assert {name for name in found if "droplet" not in name} == {"test_device_cpu"}


def test_devices_are_chosen_by_the_environment(backend: Any, tmp_path: Path) -> None:
    only, _ = outcomes(backend, tmp_path / "only.xml", {"PYTORCH_TESTING_DEVICE_ONLY_FOR": "privateuse1"})
    assert "test_device_droplet" in only
    assert "test_device_cpu" not in only
    without, _ = outcomes(backend, tmp_path / "without.xml", {"PYTORCH_TESTING_DEVICE_EXCEPT_FOR": "droplet"})
    assert set(without) == {"test_device_cpu"}
