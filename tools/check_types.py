"""mypy, strict, over all Python of the project: the package, tools and tests (`make types`).

Tests import from their own folder, as pytest has it, so that each folder of tests is a root of modules. Names that
several folders have (`conftest.py`) are checked in runs of their own.
"""

from __future__ import annotations

import collections
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = ("tests/data/", "generated/", "templates/")
"""Sources that are inputs of tests, or written by the generator."""


SERVING = "examples/serving/*.py"
"""An example whose files import each other."""
SHARED_NAMES = {"conftest.py", "write_sources.py"}
"""Files that several folders of tests have. All others have names of their own: pytest imports them by these."""


def main() -> int:
    status = check([])
    status |= check([path for path in listed("tools/*.py") if path.parent.name == "tools"])
    status |= check(listed(SERVING))
    tests = listed("tests/*.py")
    names = collections.Counter(path.name for path in tests if path.name not in SHARED_NAMES)
    for name in (name for name, count in names.items() if count > 1):
        print(f"{', '.join(str(path) for path in tests if path.name == name)}: one name, which pytest imports once")
        status = 1
    for group in groups([*tests, *listed("tools/portability/*.py")]):
        status |= check(group)
    return status


def listed(pattern: str) -> list[Path]:
    """Files of the checkout, relative to its root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", pattern]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [Path(name) for name in names if name and not name.startswith(LEFT_OUT) and (ROOT / name).is_file()]


def groups(files: Sequence[Path]) -> list[list[Path]]:
    """The files in groups that have every name of a module once; the first has all names that are unique."""
    by_name = collections.defaultdict(list)
    for path in files:
        by_name[path.name].append(path)
    most = max(len(paths) for paths in by_name.values())
    return [[paths[number] for paths in by_name.values() if number < len(paths)] for number in range(most)]


def check(files: Sequence[Path]) -> int:
    """Runs mypy over some files, or what pyproject.toml names; returns its exit status."""
    patterns = ("tests/*.py", "tools/*.py", SERVING)
    folders = sorted({str(path.parent) for one in patterns for path in listed(one)}) if files else []
    environment = {**os.environ, "MYPYPATH": os.pathsep.join(folders)}
    bases = ["--explicit-package-bases"] if files else []
    command = [sys.executable, "-m", "mypy", *bases, *map(str, files)]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
