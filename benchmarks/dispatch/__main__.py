"""`python -m benchmarks.dispatch`: builds both sides, measures them in one run, and judges the promise."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PROMISED = 3.0
"""Nanoseconds over a direct call: a load, a test and a jump."""


def main() -> int:
    """Prints the table; exit code 1 where the promise is not kept."""
    includes = [f"-I{ROOT / name}" for name in ("generated/include", "generated/dispatch", "runtime/include")]
    includes += [f"-I{ROOT / 'runtime/dispatch' / name}" for name in ("include", "src")]
    common = ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", *includes]
    sources = [*(ROOT / "runtime/dispatch/src").glob("*.cpp"), ROOT / "generated/dispatch/entries.cpp"]
    sources += [*(ROOT / "generated/dispatch").glob("elementwise_binary.cpp")]
    runtime = [*(ROOT / "runtime/src").glob("*.cpp")]
    with tempfile.TemporaryDirectory() as folder:
        vendor, dispatch, program = (str(Path(folder) / name) for name in ("libvendor.so", "libdispatch.so", "main"))
        shared = [*common, "-fPIC", "-shared", "-Wno-deprecated-declarations"]
        for command in (
            [*shared, HERE / "vendor.cpp", "-o", vendor],
            [*shared, *sources, *runtime, "-ldl", "-o", dispatch],
            [*common, HERE / "main.cpp", "-ldl", "-o", program],
        ):
            subprocess.run(list(map(str, command)), check=True)
        environment = {**os.environ, "DIOPI_VENDOR_LIBRARY": vendor}
        line = subprocess.run([program, vendor, dispatch], env=environment, check=True, capture_output=True, text=True)
    direct, dispatched = map(float, line.stdout.split())
    over = dispatched - direct
    print(f"{'':<24}  {'ns':>7}")
    print(f"{'direct call':<24}  {direct:>7.2f}")
    print(f"{'through the dispatch':<24}  {dispatched:>7.2f}")
    print(f"{'over the direct call':<24}  {over:>7.2f}  promised {PROMISED:.2f}, ratio {over / PROMISED:.2f}")
    return 1 if over > PROMISED else 0


if __name__ == "__main__":
    sys.exit(main())
