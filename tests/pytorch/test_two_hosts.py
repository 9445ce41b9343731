"""diopi_ffi and the backend in one process: two hosts with functions of the same names, imported in any order."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_build
from artefacts import artefact

pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: pip install apache-tvm-ffi")
ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import os, sys
import numpy as np

x = np.array([[1.0, 0, 3]], np.float32)
lib = None

def use_backend():
    t = torch.tensor(x, device="droplet")
    assert torch.nonzero(t).tolist() == [[0, 0], [0, 2]]
    assert (t + 1).tolist() == [[2.0, 1.0, 4.0]]
    assert torch.sort(t, descending=True)[1].tolist() == [[2, 0, 1]]
    assert torch.linalg.svdvals(t).cpu().numel() == 1  # the CPU's or the reference library's

def use_ffi():
    if lib.runs_apart():  # the memory of the device is not the host's: how many elements are not 0 is
        t = lib.empty((4,), "float32")
        lib.fill(3.0, input=t)
        assert tuple(lib.nonzero(lib.add(t, t)).shape) == (4, 1)
        assert tuple(lib.nonzero(lib.sub(t, t)).shape) == (0, 1)
        return
    assert lib.nonzero(x).tolist() == [[0, 0], [0, 2]]
    assert lib.add(x, x).tolist() == [[2.0, 0.0, 6.0]]
    assert lib.sort(x, dim=-1, descending=True)[1].tolist() == [[2, 0, 1]]
    assert abs(lib.softmax(x, dim=-1).sum() - 1) < 1e-6

for word in sys.argv[1:]:
    if word == "global":
        import ctypes
        ctypes.CDLL(os.environ["RUNTIME"], mode=os.RTLD_GLOBAL)
    if word == "torch":
        import torch
    if word == "droplet":
        import torch, torch_droplet
    if word == "ffi":
        import diopi_ffi
        lib = diopi_ffi.load(os.environ["LIBRARY"], runtime=os.environ["RUNTIME"])
    if word == "use":
        if "torch_droplet" in sys.modules:
            use_backend()
        if lib is not None:
            use_ffi()
use_backend()
use_ffi()
print("both work")
"""

ORDERS = [
    "ffi droplet",
    "ffi use droplet",
    "ffi torch use droplet use",
    "torch ffi droplet",
    "torch ffi use droplet use",
    "torch droplet ffi",
    "torch droplet use ffi use",
    "droplet ffi",
    "droplet use ffi",
]


SAMPLE = ("ffi use droplet", "torch droplet use ffi use")
"""Sample that a change runs; `make nightly` runs all."""


def run(backend: Any, order: str, library: Path, **variables: str) -> None:
    environment = {**os.environ, **backend.environment(), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *torch_build.PATHS])
    environment |= {"LIBRARY": str(library), "RUNTIME": str(artefact("libdiopirt.so")), "DIOPI_FALLBACK": "log"}
    words = [sys.executable, "-c", PROGRAM, *order.split()]
    done = subprocess.run(words, env={**environment, **variables}, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith("both work\n"), f"{order}: {done.returncode}\n{done.stderr}"


@pytest.mark.parametrize(
    "order", [pytest.param(each, marks=[] if each in SAMPLE else pytest.mark.slow) for each in ORDERS]
)
def test_each_host_works_with_the_reference_library(order: str, backend: Any) -> None:
    """The backend loads this library too, for what the vendor does not have."""
    run(backend, order, backend.reference)


@pytest.mark.parametrize(
    "order", ["ffi use droplet use", pytest.param("torch droplet use ffi use", marks=pytest.mark.slow)]
)
def test_each_host_works_with_the_library_of_the_vendor(order: str, backend: Any) -> None:
    run(backend, order, backend.vendor)


def test_a_host_in_the_global_scope_takes_no_others_place(backend: Any) -> None:
    run(backend, "global ffi use droplet", backend.reference)
