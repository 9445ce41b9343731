"""Behaviour that needs a separate process: the order of imports, children, and threads that outlive the interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_build


def run(backend: Any, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **backend.environment(), "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_the_package_may_be_imported_before_torch(autoload: str, backend: Any) -> None:
    program = "import torch_droplet, torch; print(torch.ones(2, device='droplet').sum().item())"
    done = run(backend, program, TORCH_DEVICE_BACKEND_AUTOLOAD=autoload)
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr


def test_a_child_after_the_first_use_says_what_to_do(backend: Any) -> None:
    program = """
import os, torch, torch_droplet
x = torch.ones(2, device="droplet")
child = os.fork()
if child == 0:
    for use in (lambda: x + 1, lambda: x.cpu(), lambda: torch.empty(3, device="droplet"), torch.droplet.synchronize):
        try:
            use()
        except RuntimeError as error:
            assert "Cannot re-initialize droplet in forked subprocess" in str(error), error
            assert "'spawn' start method" in str(error)
        else:
            raise AssertionError("a child used the device")
    assert torch.droplet._is_in_bad_fork() and not torch.droplet.is_initialized()
    torch.manual_seed(1)
    del x
    print("child", flush=True)
else:
    assert os.waitpid(child, 0)[1] == 0
    print("parent", (x + 1).sum().item())
"""
    done = run(backend, program)
    assert (done.returncode, done.stdout) == (0, "child\nparent 4.0\n"), done.stderr


def test_a_child_before_the_first_use_has_the_device(backend: Any) -> None:
    program = """
import os, torch, torch_droplet
child = os.fork()
if child:
    assert os.waitpid(child, 0)[1] == 0  # first, so that the two do not write at once
print(torch.ones(2, device="droplet").sum().item(), flush=True)
"""
    done = run(backend, program)
    assert (done.returncode, done.stdout) == (0, "2.0\n2.0\n"), done.stderr


def test_a_daemon_thread_does_not_disturb_the_end(backend: Any) -> None:
    program = """
import threading, time, torch, torch_droplet
def work():
    x = torch.ones(64, 64, device="droplet")
    while True:
        x = torch.tanh(x @ x)
threading.Thread(target=work, daemon=True).start()
time.sleep(0.5)
print("end")
"""
    done = run(backend, program)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def test_a_second_vendor_is_refused_in_one_sentence(backend: Any, tmp_path: Path) -> None:
    package = tmp_path / "torch_pebble"
    package.mkdir()
    (package / "__init__.py").write_text('from diopi_torch import load\nload("pebble", __name__, __file__)\n')
    paths = os.pathsep.join([str(tmp_path), *torch_build.PATHS])
    done = run(backend, "import torch_droplet, torch_droplet\nimport torch_pebble", PYTHONPATH=paths)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: torch_pebble cannot be loaded: PyTorch has one device of this kind in a process, here droplet of "
        "torch_droplet; start another process for pebble"
    )


@pytest.mark.parametrize("first", ["diopi_torch", "diopi_torch.as_cuda", "torch_droplet", "torch"])
def test_an_installed_package_is_there_whichever_is_imported_first(first: str, backend: Any, tmp_path: Path) -> None:
    """With the metadata that pip leaves, so that torch loads the package while it is imported."""
    info = tmp_path / "torch_droplet-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_droplet\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_droplet = torch_droplet:_autoload\n")
    paths = os.pathsep.join([str(tmp_path), *torch_build.PATHS])
    program = f"import {first}\nimport torch\nprint(torch.ones(2, device='droplet').sum().item())"
    done = run(backend, program, PYTHONPATH=paths, TORCH_DEVICE_BACKEND_AUTOLOAD="1")
    assert (done.returncode, done.stdout) == (0, "2.0\n"), done.stderr


ONE_ELEMENT = """
import sys, torch, torch_droplet
x = torch.zeros(int(sys.argv[1]), device="droplet")
at, two = torch.tensor([3], device="droplet"), torch.tensor([3, 5], device="droplet")
torch.droplet.synchronize()
before = torch.droplet.memory_allocated()
torch.droplet.reset_peak_memory_stats()
x[5] = 1
x[-1] += 3
x.view(2, -1)[1, 0] = x[5]
x[at] = 7
x[two] *= 2
x[1:2].fill_(2)
print(x[5].item(), x[-1].item(), x[x.numel() // 2].cpu().item(), x[two].tolist(), x[1].item())
print(torch.droplet.max_memory_allocated() - before)
"""


def test_one_element_costs_the_same_in_a_tensor_of_any_size(backend: Any, tmp_path: Path) -> None:
    """The same kernels and copies, of as many bytes, and no more memory, for 4 KiB and for 256 MiB. (Kernels that read
    positions are listed with the bytes of the whole operand.)"""

    def events(count: int) -> tuple[str, list[tuple[str, int]]]:
        trace = tmp_path / f"{count}.json"
        done = run(backend, ONE_ELEMENT.replace("sys.argv[1]", repr(str(count))), DIOPI_SIM_TRACE=str(trace))
        assert done.returncode == 0, done.stderr
        found = [one for one in json.loads(trace.read_text())["traceEvents"] if one["ph"] == "X"]
        return done.stdout, [(one["name"], one["args"]["bytes"]) for one in found]

    (shown, small), (other, large) = events(2**10), events(2**26)
    assert shown == other and shown.startswith("2.0 3.0 1.0 [14.0, 2.0] 2.0\n")
    assert [name for name, _ in small] == [name for name, _ in large]
    differing = {one[0] for one, two in zip(small, large, strict=True) if one != two}
    assert (
        differing <= {"diopiZeroInp", "diopiIndex", "diopiIndexPutInp", "diopiIndexFillInpScalar"}
        and ("diopiFill", 4) in small
    )
