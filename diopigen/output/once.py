"""Writes files that belong to a person from then on: what is there already is never touched."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from diopigen.output import disk
from diopigen.output.lock import locked
from diopigen.output.survey import parents, real_folders


def missing(files: Collection[str], root: Path) -> tuple[str, ...]:
    """The paths below `root` at which nothing is, sorted; a symbolic link counts as something."""
    return tuple(sorted(path for path in files if not os.path.lexists(root / path)))


def write_once(files: Mapping[str, bytes], root: Path, executable: Collection[str] = ()) -> tuple[str, ...]:
    """Writes those of `files` (path below `root` to content) that are not there, and gives their paths, sorted.

    All contents are on the disk before the first file appears; a run that fails takes away what it wrote. Raises
    `Failure` where the disk refuses.
    """
    staged: dict[str, Path] = {}
    created: list[Path] = []
    written: list[str] = []
    with locked(root):
        disk.sweep([root, *(root / folder for folder in real_folders(root, files))])
        try:
            for path in missing(files, root):
                there = real_folders(root, [path])
                mode = 0o755 if path in executable else None
                staged[path] = disk.stage(root / there[-1] if there else root, root / path, files[path], mode)
            for folder in parents(staged):
                if disk.make_folder(root / folder):
                    created.append(root / folder)
            for path in list(staged):
                if _rename(staged[path], root / path):
                    written.append(path)
                del staged[path]
        except BaseException:
            disk.discard(staged.values())
            disk.discard(root / path for path in written)
            disk.discard_folders(created)
            raise
    return tuple(written)


def _rename(temporary: Path, target: Path) -> bool:
    """Gives a staged file its name unless the name is taken by now; False where it is."""
    with disk.faults(target, "write"):
        try:
            os.link(temporary, target)
        except FileExistsError:
            return False
        except OSError:
            # A file system without hard links.
            if os.path.lexists(target):
                return False
            temporary.replace(target)
            return True
        finally:
            disk.discard([temporary])
    return True
