"""`python -m benchmarks.dispatch`: builds both sides, measures them in one run, and checks the promise."""

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
VALIDATED = 300.0
"""Nanoseconds over a direct call with `DIOPI_VALIDATE=refuse`."""


def main() -> int:
    """Prints the table; exit code 1 where the promise is not kept."""
    includes = [f"-I{ROOT / name}" for name in ("generated/include", "generated/contract")]
    folders = ("include", "adaptor/include", "dispatch/include", "dispatch/src", "contract")
    includes += [f"-I{ROOT / 'runtime' / name}" for name in folders]
    common = ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", *includes]
    sources = [*(ROOT / "runtime/dispatch/src").glob("*.cpp"), *(ROOT / "runtime/contract").glob("*.cpp")]
    sources += [ROOT / "generated/dispatch" / name for name in ("entries.cpp", "elementwise_binary.cpp")]
    sources += (ROOT / "generated/contract").glob("*.cpp")
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
        known = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
        environment = {**known, "DIOPI_VENDOR_LIBRARY": vendor}
        direct, dispatched = _measured([program, vendor, dispatch], environment)
        _, validated = _measured([program, vendor, dispatch], {**environment, "DIOPI_VALIDATE": "refuse"})
    print(f"{'':<24}  {'ns':>7}")
    print(f"{'direct call':<24}  {direct:>7.2f}")
    retained = [_line("through the dispatch", dispatched - direct, PROMISED)]
    retained.append(_line("and validated", validated - direct, VALIDATED))
    return 0 if all(retained) else 1


def _measured(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Nanoseconds of the direct call and of the other one."""
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    first, second = map(float, done.stdout.split())
    return first, second


def _line(name: str, over: float, promised: float) -> bool:
    """Prints a row: what a call costs more than a direct one. Whether the promise is kept."""
    print(f"{name:<24}  {over:>+7.2f}  promised {promised:.2f}, ratio {over / promised:.2f}")
    return over <= promised


if __name__ == "__main__":
    sys.exit(main())
