"""Measures a packed function of tvm-ffi against the C function that it calls: `python -m benchmarks.tvm_ffi`.

Everything is built and measured in one run, the kinds of calls in turn; the promised figure is printed with it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import describe
from diopigen import api
from diopigen.conformance.run.host_runtime import host_runtime
from diopigen.conformance.run.tvm_ffi_library import require_installed, tvm_ffi_library
from diopigen.diagnostics import Sink

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PROMISED = 300.0
"""Nanoseconds that a packed function may take over the C function, with tensors of shapes that it has seen before."""


def main() -> int:
    package = require_installed()
    where = api.workspace(None)
    interface = api.load(where, Sink(), check=False).interface
    runtime = host_runtime(interface, where.templates)
    packed = tvm_ffi_library(interface, where.templates)
    includes = (ROOT / "generated/include", ROOT / "runtime/include", package.include)
    compiler = ["g++", "-std=c++17", "-O2", "-fPIC", *(f"-I{path}" for path in includes)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library, program = folder / "libvendor.so", folder / "measure"
        subprocess.run([*compiler, "-shared", str(HERE / "vendor.cpp"), "-o", str(library)], check=True)
        needed = [str(runtime), str(package.library)]
        paths = [f"-Wl,-rpath,{Path(path).parent}" for path in needed]
        link = ["-Wl,--no-as-needed", *needed, *paths, "-ldl", "-o", str(program)]
        subprocess.run([*compiler, str(HERE / "measure.cpp"), *link], check=True)
        done = subprocess.run([str(program), str(library), str(packed)], check=True, capture_output=True, text=True)
    direct, *packed_calls = map(float, done.stdout.split())
    kinds = ("tensors seen before", "new tensors, shapes seen before", "new tensors, new shapes: new handles")
    print(describe())
    print(f"{'C function':46} {direct:8.1f} ns")
    for kind, figure in zip(kinds, packed_calls, strict=True):
        print(f"{f'packed, {kind}':46} {figure:8.1f} ns   +{figure - direct:.1f} ns")
    print(f"promised: +{PROMISED:.0f} ns for shapes seen before")
    return 0 if max(packed_calls[:2]) - direct <= PROMISED else 1


if __name__ == "__main__":
    sys.exit(main())
