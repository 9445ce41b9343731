"""Shared by tests of scaffolding: the command as a user runs it, and the content of a tree."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from diopigen.vendor.scaffold import Scaffolded

ROOT = Path(__file__).resolve().parents[2]

Scaffold = Callable[..., Scaffolded]


def command(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Runs `diopigen` as a user does."""
    line = [sys.executable, "-m", "diopigen", *arguments]
    return subprocess.run(line, cwd=cwd, capture_output=True, text=True)


def snapshot(root: Path) -> dict[str, tuple[str, int]]:
    """Every file below `root` with the hash of its content and the time of its last change, in nanoseconds."""
    return {
        path.relative_to(root).as_posix(): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
