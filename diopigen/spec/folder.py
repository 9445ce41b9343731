"""Files below a folder that the user names: links followed, every folder entered once, only regular files.

A pipe would wait for a writer, and a link that leads back to its own parent would never end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Found:
    """An entry: its path, its name from the root with `/` between the parts, and whether it is a regular file or a
    link to one. Folders, pipes, sockets, devices and links to nothing are not."""

    path: Path
    name: str
    regular: bool


def entries_below(root: Path) -> list[Found]:
    """All entries below `root`, by name. A folder that several links lead to is entered once, by
    the first name in order, and none that holds `root`; `__pycache__` is left out. Raises `OSError` where a folder may
    not be listed."""
    return sorted(_walk(root), key=lambda found: found.name)


def yaml_files(root: Path, folder: str) -> list[str]:
    """The names of the YAML files in a folder of `root`, of those entries that are below it. What cannot be listed has
    none."""
    try:
        names = [found.name for found in entries_below(root)]
    except OSError:
        return []
    return [name for name in names if name.endswith(".yaml") and name.rpartition("/")[0] == folder]


def _walk(root: Path) -> Iterator[Found]:
    # Links back to the root or above it would bring in what does not belong to it.
    entered = {_identity(folder) for folder in Path(os.path.realpath(root)).parents}
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        folder = f"{root}/{prefix}"
        identity = _identity(folder)
        if identity in entered:
            continue
        entered.add(identity)
        inner = []
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        for entry in entries:
            name = f"{prefix}{entry.name}"
            mode = _mode(entry)
            if entry.name == "__pycache__":
                continue
            yield Found(Path(entry.path), name, stat.S_ISREG(mode))
            if stat.S_ISDIR(mode):
                inner.append(f"{name}/")
        waiting += reversed(inner)


def _identity(folder: str | Path) -> tuple[int, int]:
    """Identity of a folder, the same for all its names."""
    status = os.stat(folder)  # noqa: PTH116 - Paths for hundreds of entries take half of the time
    return status.st_dev, status.st_ino


def _mode(entry: os.DirEntry[str]) -> int:
    """The mode of what an entry leads to; 0 for a link that leads nowhere or in a circle."""
    try:
        return entry.stat().st_mode
    except OSError:
        return 0
