"""The emulation itself finds what it is there to find."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import artefact

PROGRAM = Path(__file__).with_name("group_program.cpp")

TOUCH = """
import ctypes, sys
host = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
library = ctypes.CDLL(sys.argv[2], ctypes.RTLD_GLOBAL)
assert library.initLibrary() == 0
class Size(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_int64)), ("len", ctypes.c_int64))
context, tensor, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
assert host.diopiHostCreateContext(ctypes.byref(context)) == 0
sizes = (ctypes.c_int64 * 1)(4)
size = Size(sizes, 1)
DEVICE, FLOAT32 = 1, 9
arguments = (ctypes.byref(tensor), ctypes.byref(size), None, ctypes.c_int64(0), FLOAT32, DEVICE)
assert host.diopiHostCreateTensor(context, *arguments) == 0
values = (ctypes.c_float * 4)(1, 2, 3, 4)
assert host.diopiHostCopyToStorage(context, tensor, values, ctypes.c_uint64(16)) == 0
assert library.diopiNegInp(context, tensor) == 0
back = (ctypes.c_float * 4)()
assert host.diopiHostCopyFromStorage(context, tensor, back, ctypes.c_uint64(16)) == 0
assert list(back) == [-1, -2, -3, -4], list(back)
assert host.diopiGetTensorData(tensor, ctypes.byref(data)) == 0
print("reached", flush=True)
if sys.argv[3] == "touch":
    ctypes.string_at(data, 4)
"""

STREAMS = """
import ctypes, sys
host = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
library = ctypes.CDLL(sys.argv[2], ctypes.RTLD_GLOBAL)
assert library.initLibrary() == 0
class Size(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_int64)), ("len", ctypes.c_int64))
first, second, tensor = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
for context in (first, second):
    assert host.diopiHostCreateContext(ctypes.byref(context)) == 0
size = Size((ctypes.c_int64 * 1)(4), 1)
DEVICE, FLOAT32 = 1, 9
arguments = (ctypes.byref(tensor), ctypes.byref(size), None, ctypes.c_int64(0), FLOAT32, DEVICE)
assert host.diopiHostCreateTensor(first, *arguments) == 0
def copy(function, context, values):
    array = (ctypes.c_float * 4)(*values)
    assert getattr(host, function)(context, tensor, array, ctypes.c_uint64(16)) == 0
    return list(array)
copy("diopiHostCopyToStorage", first, (1, 2, 3, 4))
assert library.diopiNegInp(first, tensor) == 0
print([copy("diopiHostCopyFromStorage", context, (0,) * 4)[0] for context in (second, first)])
"""


@pytest.mark.parametrize(("mode", "seen"), [("", "[-1.0, -1.0]"), ("lazy", "[1.0, -1.0]")])
def test_lazy_streams_show_who_waits_for_whom(emulated: tuple[Path, Path], mode: str, seen: str) -> None:
    """A copy on another stream does not wait for the kernel; one on the same stream does."""
    command = [sys.executable, "-c", STREAMS, *map(str, emulated)]
    environment = {**os.environ, "DIOPI_CUDA_EMULATION_STREAMS": mode}
    finished = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (finished.returncode, finished.stdout.strip()) == (0, seen), finished.stderr


@pytest.mark.parametrize(("what", "status"), [("leave", 0), ("touch", -signal.SIGSEGV)])
def test_the_host_cannot_reach_device_memory(emulated: tuple[Path, Path], what: str, status: int) -> None:
    """Copies and kernels reach it; a look from the host ends the process."""
    command = [sys.executable, "-c", TOUCH, *map(str, emulated), what]
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.stdout == "reached\n", finished.stderr
    assert finished.returncode == status


@pytest.fixture(scope="module")
def program() -> Path:
    """A program of kernels, right ones and wrong ones."""
    return artefact("cuda/group_program")


@pytest.mark.parametrize("order", ["", "reversed"])
def test_barriers_order_the_threads_of_a_group(program: Path, order: str) -> None:
    command = [str(program), "right"]
    finished = subprocess.run(command, capture_output=True, text=True, env={"DIOPI_CUDA_EMULATION_ORDER": order})
    assert (finished.returncode, finished.stdout) == (0, "sum 496 scan 31 120 joined 154 first 24\n"), finished.stderr


def test_a_missing_barrier_gives_a_wrong_result_in_one_of_the_orders(program: Path) -> None:
    answers = []
    for order in ("", "reversed"):
        environment = {"DIOPI_CUDA_EMULATION_ORDER": order}
        finished = subprocess.run([str(program), "no-barrier"], capture_output=True, text=True, env=environment)
        answers.append(finished.stdout)
    assert answers[0] != answers[1]


def test_a_barrier_that_some_threads_leave_out_ends_the_process(program: Path) -> None:
    finished = subprocess.run([str(program), "divergent"], capture_output=True, text=True)
    assert finished.returncode == -signal.SIGABRT
    assert "some threads of a group ended while others wait at a barrier" in finished.stderr
