"""Configures and builds a preset of the root build (docs/building.md), and notes that everything was built.

    tools/build.py plain               # into build/tests/plain
    tools/build.py torch --jobs 4

Ninja shows what it does: a line that counts on a terminal, a line for each step elsewhere. A failure ends with a line
that says which step failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "build/tests"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("preset", nargs="?", default="plain", help="as CMakePresets.json names it")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="compilers at a time")
    parser.add_argument("--target", action="append", default=[], help="build this alone, such as diopi_impl")
    parser.add_argument("--define", "-D", action="append", default=[], help="as cmake takes it")
    options = parser.parse_args()
    return build(options.preset, options.jobs, options.target, options.define)


def build(preset: str, jobs: int, targets: Sequence[str] = (), defines: Sequence[str] = ()) -> int:
    """Builds these targets of a preset, or all; gives the exit code."""
    started = time.time()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NINJA_STATUS": "[%f/%t %es] "}
    only = ["--target", *targets] if targets else []
    steps = {
        "configure": ["cmake", "--preset", preset, *(f"-D{word}" for word in defines)],
        "build": [
            "cmake",
            "--build",
            "--preset",
            preset,
            "--parallel",
            str(jobs),
            *only,
        ],
    }
    for name, command in steps.items():
        quiet = subprocess.PIPE if name == "configure" else None
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=quiet, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print((done.stdout or "")[-8000:], file=sys.stderr)
            print(f"build: the step '{name}' of preset {preset} failed: {' '.join(command)}", file=sys.stderr)
            return done.returncode
    if targets:
        return 0
    # The time at which the build began: what changed since is not in it.
    folders = {"torch": "plain", "other_torch": f"torch-{os.environ.get('TORCH')}"}  # torch adds to the folder of plain
    stamp = TESTS / folders.get(preset, preset) / "built"
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
    os.utime(stamp, (started, started))
    return 0


if __name__ == "__main__":
    sys.exit(main())
