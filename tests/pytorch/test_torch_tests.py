"""The table of torch_tests.py: a small file of tests stands for PyTorch's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_build
import torch_tests

SMALL = """
import os
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests

class TestSmall(TestCase):
    def test_passes(self, device): self.assertEqual(torch.ones(2, device=device).sum().item(), 2)
    def test_skips(self, device): self.skipTest("no")
    def test_crashes(self, device): os._exit(3)
    def test_fails(self, device): self.assertEqual(torch.device(device).type, "cuda")
    def test_broadcast_fn_map(self, device): torch.ones(2, device=device).map_(torch.ones(2, device=device), max)
    def test_passes_too(self, device): pass

class TestPlain(TestCase):
    def test_without_device(self): self.fail("not for a device")

instantiate_device_type_tests(TestSmall, globals())
"""


def test_reasons_are_of_failures_alone() -> None:
    failure = {"test": "test_torch.py::T::test_mode_droplet", "outcome": "failed"}
    reason = {**failure, "text": "RuntimeError: mode only supports CPU, CUDA and XPU device type, got: droplet"}
    passed = {**failure, "outcome": "passed", "text": ""}
    line = torch_tests.line("small", [passed, passed, reason, {**failure, "text": "RuntimeError: mode fails"}])
    assert line == "| `small` | 2 | 0 | 1 | 1 PyTorch itself lists the devices |"


def test_patterns_of_reasons_compile() -> None:
    for reason in torch_tests.REASONS:
        assert set(reason) == {"tests", "says", "why"}
        assert re.compile(reason["tests"])
        assert re.compile(reason["says"])


@pytest.mark.slow
def test_a_file_of_tests(backend: Any, tmp_path: Path) -> None:
    (tmp_path / "test_small.py").write_text(SMALL)
    environment = {**os.environ, **backend.environment(), "PYTHONPATH": torch_build.PYTHONPATH}
    call = [sys.executable, torch_tests.__file__, str(tmp_path)]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    assert lines[2] == "| `small` | 2 | 1 | 2 | 1 PyTorch itself lists the devices |", done.stdout + done.stderr
    assert [line.split(": ")[0].rpartition("::")[2] for line in lines[3:]] == [
        "test_crashes_droplet",
        "test_fails_droplet",
    ]
    assert done.returncode == 1
    missing = subprocess.run([*call, "other"], env=environment, capture_output=True, text=True, check=False)
    assert "does not have test_other.py" in missing.stderr
