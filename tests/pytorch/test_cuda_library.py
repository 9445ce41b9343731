"""PyTorch on the CUDA library, emulated on the host: the same backend, with two devices and streams that are lazy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_build
from artefacts import artefact
from run_kind import ROOT, WHOLE

HERE = Path(__file__).parent
SMALL = "(mlp or llama or lstm) and float32"
"""Models that the emulation, which does a group's threads one after another, trains within seconds."""

LATE = """
import torch, torch_droplet
table, rows = torch.ones(3, 2, device="droplet"), torch.tensor([[0, 7]], device="droplet")
picked = torch.gather(table, 0, rows)
more = table + 1
try:
    more.cpu()
except RuntimeError as error:
    print(error)
print(more.cpu().sum().item(), torch_droplet.fallback_report())
"""


@pytest.fixture(scope="module")
def on_cuda(backend: Any) -> dict[str, str]:
    """The environment in which the backend takes the emulated library for the vendor's."""
    library = artefact("libdiopi_impl_cuda_emulated.so")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    emulated = {"DIOPI_CUDA_EMULATION_DEVICES": "2", "DIOPI_CUDA_EMULATION_STREAMS": "lazy"}
    return {**kept, **backend.environment(), **emulated, "DIOPI_VENDOR_LIBRARY": str(library)}


@pytest.mark.parametrize(
    ("file", "chosen", "checks"),
    [
        ("test_models.py", "test_training and not slow" + ("" if WHOLE else f" and {SMALL}"), {}),
        ("test_traps.py", "", {}),
        ("test_edges.py", "", {}),
        *([("test_optim_db.py", "", {})] if WHOLE else []),
        # A test there wants the call at fault to be the one that is refused.
        ("test_plumbing.py", "", {"DIOPI_CUDA_CHECKS": "now"}),
    ],
)
def test_what_holds_on_droplet_holds_there(
    on_cuda: dict[str, str], file: str, chosen: str, checks: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / file), "-k", chosen]
    environment = {**on_cuda, **checks}
    if file == "test_models.py":
        # Narrow convolutions: an emulated thread is some hundred times slower than one of the CPU library.
        environment.pop("DIOPIGEN_TORCH_TESTS", None)
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_what_only_the_device_sees_is_an_exception_at_the_next_wait(on_cuda: dict[str, str]) -> None:
    environment = {**on_cuda, "PYTHONPATH": torch_build.PYTHONPATH}
    done = subprocess.run([sys.executable, "-c", LATE], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    error, rest = done.stdout.splitlines()
    assert "diopiGather: C4: every value of index is in [0, size(input, dim) - 1]" in error
    assert rest == "12.0 {}"
