"""Documents that are run: every `sh` block in order, and what the page says that it prints.

The first block below one of `sh` is its output, shortened with `...`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "----- the next block"
Block = tuple[str, str]
"""Commands, and the text that is shown below them."""


def blocks(page: Path) -> list[Block]:
    """The commands of a page in order, each with the text that is shown below it."""
    found: list[Block] = []
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "sh":
            found.append((text, ""))
        elif found and not found[-1][1]:
            found[-1] = (found[-1][0], text)
    return found


def shown(expected: str, printed: str) -> list[str]:
    """The lines of the page that do not come, in this order, in what was printed; `...` stands for anything."""
    missing, at = [], 0
    for line in expected.splitlines():
        if line.strip() == "...":
            continue
        pattern = ".*?".join(re.escape(part) for part in line.rstrip().split("..."))
        found = re.compile(rf"^{pattern}\s*$", re.MULTILINE).search(printed, at)
        if found is None:
            missing.append(line)
        else:
            at = found.end()
    return missing


def syntax_errors(page: Sequence[Block]) -> str:
    """Syntax errors that bash reports for the commands."""
    script = "\n".join(commands for commands, _ in page)
    return subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).stderr


def run(page: Sequence[Block], folder: Path, variables: Mapping[str, str]) -> list[str]:
    """Output of each block, run in one shell in `folder`, with a compiler cache if the machine has one."""
    script = ["set -e", "set -o pipefail"]
    for commands, _ in page:
        script += [f"echo '{MARK}'", commands]
    retained = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=folder,
        env={**retained, **launcher, "PYTHONPATH": str(ROOT), **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    printed = done.stdout.split(MARK + "\n")[1:]
    assert len(printed) == len(page)
    return printed


def differences(page: Sequence[Block], printed: Sequence[str]) -> dict[str, tuple[list[str], str]]:
    """By commands: the lines that do not come, and the end of what came."""
    found = {}
    for (commands, text), said in zip(page, printed, strict=True):
        if lines := shown(text, said):
            found[commands] = (lines, said[-2000:])
    return found
