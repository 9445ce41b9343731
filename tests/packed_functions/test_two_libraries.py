"""Libraries of two vendors in one process: each has device functions and memory of its own. Needs apache-tvm-ffi."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import FOLDER, artefact

pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: pip install apache-tvm-ffi")

pytestmark = pytest.mark.build

HERE = Path(__file__).resolve().parent
DROPLET = FOLDER / "plain/droplet/clean/libdiopi_impl.so"

CALLS = """
import sys
import numpy as np
import diopi_ffi

runtime, first, second = sys.argv[1:]
cpu = diopi_ffi.load(first, runtime=runtime)
kestrel = diopi_ffi.load(second, runtime=runtime, device="ext_dev")
assert (cpu.device_type, cpu.device_id, kestrel.device_type, kestrel.device_id) == (1, 0, 12, 1)

x = np.arange(6, dtype=np.float32).reshape(2, 3)
made = kestrel.relu(kestrel.relu(kestrel.empty((2, 3), "float32")))
assert made.device == __import__("tvm_ffi").device("ext_dev", 1)
for _ in range(2):  # in turn
    assert cpu.relu(x).tolist() == x.tolist()
    kestrel.relu(made)
try:
    cpu.relu(made)
except ValueError as error:
    assert "parameter 'input': the tensor is on DLPack device 12:1, the library's memory is 1:0" in str(error)
else:
    raise AssertionError("memory of another library is accepted")
print("passed")
"""


def test_the_reference_library_and_another_vendors() -> None:
    artefact("libdiopi_tvm_ffi.so")  # else it would be compiled here
    libraries = [str(artefact(name)) for name in ("libdiopirt.so", "libdiopi_impl.so", "kestrel/libdiopi_impl.so")]
    done = subprocess.run([sys.executable, "-c", CALLS, *libraries], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.skipif(not DROPLET.exists(), reason="droplet is not built: make build PRESET=torch")
def test_two_devices_of_tvm() -> None:
    pytest.importorskip("tvm", reason="apache-tvm is not installed: pip install apache-tvm")
    libraries = [str(artefact(name)) for name in ("libdiopirt.so", "kestrel/libdiopi_impl.so")]
    command = [sys.executable, str(HERE / "run_two_devices.py"), *libraries, str(DROPLET)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr[-2000:]
