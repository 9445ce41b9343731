"""diopiHostOpenLibrary: each of several hosts in a process loads the library for itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import artefact

PROGRAM = """
import ctypes, os, sys

class Size(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_int64)), ("length", ctypes.c_int64)]

def opened(host, path):
    handle = ctypes.c_void_p()
    if host.diopiHostOpenLibrary(path.encode(), ctypes.byref(handle)):
        text = ctypes.c_char_p()
        host.diopiHostGetLastErrorText(ctypes.byref(text))
        return text.value.decode()
    return ctypes.CDLL(path, handle=handle.value)

def relu_of_minus_two_and_three(host, library):
    context, tensors = ctypes.c_void_p(), [ctypes.c_void_p(), ctypes.c_void_p()]
    assert host.diopiHostCreateContext(ctypes.byref(context)) == 0
    size = Size((ctypes.c_int64 * 1)(2), 1)
    for each in tensors:
        float32, device = 9, 1
        status = host.diopiHostCreateTensor(
            context, ctypes.byref(each), ctypes.byref(size), None, ctypes.c_int64(0), float32, device
        )
        assert status == 0
    values = (ctypes.c_float * 2)(-2, 3)
    assert host.diopiHostCopyToStorage(context, tensors[1], values, ctypes.c_uint64(8)) == 0
    assert library.diopiRelu(context, tensors[0], tensors[1]) == 0
    assert host.diopiHostCopyFromStorage(context, tensors[0], values, ctypes.c_uint64(8)) == 0
    return list(values)

path, *words = sys.argv[1:]
hosts = []
for word in words:
    mode, _, name = word.partition(":")
    flags = {"global": os.RTLD_GLOBAL, "local": os.RTLD_LOCAL, "alone": os.RTLD_LOCAL | os.RTLD_DEEPBIND}[mode]
    hosts.append(ctypes.CDLL(name, mode=flags | os.RTLD_NOW))
libraries = [opened(host, path) for host in hosts]
assert not [each for each in libraries if isinstance(each, str)], libraries
assert all(library.initLibrary() == 0 for library in libraries)
for _ in range(2):
    for host, library in zip(hosts, libraries):
        print(relu_of_minus_two_and_three(host, library))
assert [opened(host, path)._handle for host in hosts] == [library._handle for library in libraries]
assert len({library._handle for library in libraries}) == len(hosts)
assert not any(hasattr(library, "diopiHostOpenLibrary") for library in libraries), "that is a function of the host"
print(opened(hosts[0], "/no/such/library.so"))
print(opened(hosts[0], __import__("tempfile").mkstemp()[1]))
"""


@pytest.mark.parametrize("name", ["libdiopi_impl.so", "droplet/injected/libdiopi_impl.so", "libdiopi_dispatch.so"])
@pytest.mark.parametrize("modes", [("local",), ("local", "local"), ("global", "alone"), ("global",)])
def test_each_host_has_a_library_of_its_own(modes: tuple[str, ...], name: str, tmp_path: Path) -> None:
    hosts = []
    for number, mode in enumerate(modes):
        host = tmp_path / f"libhost{number}.so"
        shutil.copy(artefact("libdiopirt.so"), host)
        hosts.append(f"{mode}:{host}")
    vendor = {"DIOPI_VENDOR_LIBRARY": str(artefact("libdiopi_impl.so"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(artefact(name)), *hosts], env=vendor, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *results, missing, junk = done.stdout.splitlines()
    assert results == ["[0.0, 3.0]"] * (2 * len(modes))
    assert missing.startswith("diopiHostOpenLibrary: /no/such/library.so: cannot open shared object file")
    assert junk.startswith("diopiHostOpenLibrary: /") and "file too short" in junk
