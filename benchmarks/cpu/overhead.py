"""`python -m benchmarks.cpu.overhead --lib libdiopi_impl.so --runtime libdiopirt.so`: what a call on one element costs.

Compiles overhead.cpp against both libraries and runs it. Exit code 1 where a call takes a microsecond or more.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROMISED = 1000.0
"""Nanoseconds that no call may reach."""


def measure(library: Path, runtime: Path) -> dict[str, float]:
    """Nanoseconds a call by function."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "overhead"
        includes = [f"-I{ROOT / 'generated/include'}", f"-I{ROOT / 'runtime/include'}"]
        paths = [str(path.resolve()) for path in (library, runtime)]
        options = [f"-Wl,-rpath,{Path(path).parent}" for path in paths]
        source = str(Path(__file__).with_name("overhead.cpp"))
        subprocess.run(
            ["g++", "-std=c++17", "-O2", *includes, source, *paths, *options, "-o", str(program)], check=True
        )
        finished = subprocess.run([str(program)], check=True, stdout=subprocess.PIPE, text=True)
    return {name: float(time) for name, time in (line.split() for line in finished.stdout.splitlines())}


def main() -> int:
    """Measures, prints, and checks the limits."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu.overhead")
    parser.add_argument("--lib", type=Path, required=True)
    parser.add_argument("--runtime", type=Path, required=True)
    options = parser.parse_args()
    failed = False
    for name, time in measure(options.lib, options.runtime).items():
        print(f"{name:<24} {time:>8.1f} ns")
        failed = failed or time >= PROMISED
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
