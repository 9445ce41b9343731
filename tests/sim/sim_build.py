"""Runs cases of the simulated device in the flavours of the root build."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from doctest_programs import case_command

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SIM = ROOT / "runtime/sim"
KERNELS = ROOT / "runtime/kernels"
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
INCLUDES = tuple(
    f"-I{ROOT / folder}"
    for folder in (
        "runtime/sim/include",
        "runtime/kernels/include",
        "runtime/adaptor/include",
        "runtime/include",
        "generated/include",
    )
)


def run(command: Sequence[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in an environment without the variables of the simulated device but those that are given."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_SIM_")}
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, env={**clean, **environment})


def run_case(program: Path, name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs one case in a process of its own."""
    done = run(case_command(program, name), **environment)
    assert "test cases: 0 " not in done.stdout, f"{program.name} has no case {name}"
    return done


def succeed(command: Sequence[str | Path]) -> str:
    done = run(command)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def normal(report: str) -> str:
    """A report with addresses as 0x#, and of each stack only the frames of functions with a name of ours."""
    lines_retained = []
    for line in report.splitlines():
        frame = re.match(r"\S+\((\w*)\+0x[0-9a-f]+\) ?\[0x[0-9a-f]+\]$", line)
        if frame is None:
            lines_retained.append(re.sub(r"0x[0-9a-f]+", "0x#", line))
        elif frame[1] in ("makeTheMemory", "freeTheMemory"):
            lines_retained.append(f"    {frame[1]}")
        else:
            assert line.startswith(("/", "./")), line
    return "\n".join(lines_retained) + "\n" if lines_retained else ""
