"""docs/bring-up.md, run as a new user would: every `sh` block in order, and what the page says that they print."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import artefact

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/bring-up.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "----- the next block"


def blocks() -> list[tuple[str, str]]:
    """The commands of the page in order, each with the text that is shown below it."""
    found: list[tuple[str, str]] = []
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language == "sh":
            found.append((text, ""))
        else:
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


def test_every_command_of_the_page_is_shell() -> None:
    script = "\n".join(commands for commands, _ in blocks())
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
    assert done.returncode == 0 and len(blocks()) >= 14, done.stderr


@pytest.mark.slow
def test_the_page_is_true(tmp_path: Path) -> None:
    reference = artefact("libdiopi_impl.so")
    script = ["set -e", "set -o pipefail"]
    found = blocks()
    for commands, _ in found:
        if (
            '-S "$DIOPIGEN_DIR/impl/cpu"' in commands
        ):  # minutes; the tests of the CPU library build it by the same lines
            commands = f"export DIOPI_REFERENCE_LIBRARY={reference}\n"
        script += [f"echo '{MARK}'", commands]
    retained = {name: value for name, value in os.environ.items() if not name.startswith("DIOPI_")}
    launcher = {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache"} if shutil.which("ccache") else {}
    path = f"{Path(sys.executable).parent}:{retained['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path,
        env={**retained, **launcher, "PATH": path, "DIOPIGEN_DIR": str(ROOT), "PYTHONPATH": str(ROOT)},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    printed = done.stdout.split(MARK + "\n")[1:]
    assert len(printed) == len(found)
    differing = {}
    for (commands, text), said in zip(found, printed, strict=True):
        if lines := shown(text, said):
            differing[commands] = (lines, said[-2000:])
    assert differing == {}
