"""Programs of doctest cases: their names, and how tests run one case in a process of its own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from artefacts import FOLDER

PRESETS = ("plain", "address", "thread")
"""Any of these has all cases; the first that is built names them."""
SUMMARY = re.compile(
    r"\[doctest\] test cases: +1 +\| +1 passed +\| +0 failed.*\n"
    r"\[doctest\] assertions: +[1-9][0-9]* +\| +[0-9]+ passed +\| +0 failed +\|\n"
    r"\[doctest\] Status: SUCCESS!\n\Z"
)


def case_names(program: str, *filters: str) -> list[str]:
    """The cases of a program of the root build, by its name below build/tests/<preset>. Without a build the one name
    'not_built': the test that runs it fails and says what to do."""
    built = next((path for preset in PRESETS if (path := FOLDER / preset / program).is_file()), None)
    if built is None:
        return ["not_built"]
    command = [str(built), "--list-test-cases", "--no-intro", "--no-colors", *filters]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return ["not_listed"]
    names = [line for line in done.stdout.splitlines() if line and not line.startswith(("[doctest]", "==="))]
    if len(set(names)) != len(names):
        raise ValueError(f"{program}: two cases have one name")
    return names


def case_command(program: Path, name: str) -> list[str]:
    """Runs one case; on stdout there is what it prints, and after it doctest's summary."""
    return [str(program), f"--test-case={name}", "--no-intro", "--no-colors"]


def passed(stdout: str) -> bool:
    """Returns whether one case was run, checked something, and nothing failed."""
    return SUMMARY.search(stdout) is not None
