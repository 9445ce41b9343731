"""A copy of what is checked in, in which commands of diopigen run as in a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_NEEDED = ("diopigen/", "specs/", "templates/", "generated/", "impl/", "tests/", "diopi_torch/", "pyproject.toml")


def copied(root: Path) -> Path:
    """The files that the commands read, below `root`."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        if name.startswith(_NEEDED) and (ROOT / name).is_file():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    return root


def run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A module of Python in the copy, with the package of the copy."""
    environment = {**os.environ, "PYTHONPATH": str(root), "DIOPIGEN_CACHE": "off"}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def state(root: Path) -> dict[str, bytes]:
    """All files of spec, oracles, kernels and tests with their contents, but for what Python compiled."""
    folders = ("specs", "diopigen", "impl", "tests")
    paths = (path for folder in folders for path in (root / folder).rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths if path.suffix != ".pyc"}
