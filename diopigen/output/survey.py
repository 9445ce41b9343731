"""Compares the files below an output root with a plan. Reads, decides, changes nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from diopigen.diagnostics import Diagnostic, Failure, Severity, Sink, Span
from diopigen.emit.plan import MANIFEST_NAME, Plan
from diopigen.output import disk
from diopigen.output.manifest import Records, manifest_bytes, read_records, sha256


class State(str, Enum):
    """State of one path. The first five are planned, the last three were written once and are not any more."""

    UNCHANGED = "unchanged"
    MISSING = "missing"
    STALE = "stale"
    EDITED = "edited"
    NOT_OURS = "not ours"
    ORPHAN = "orphan"
    ORPHAN_EDITED = "orphan, edited"
    GONE = "gone"


class Kind(str, Enum):
    ABSENT = "absent"
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Found:
    """Kind of file at a path. `blocked_by` is the part of the path that is there but is no folder, if one is."""

    kind: Kind
    digest: str = ""
    mode: int | None = None
    blocked_by: str | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """Every planned path and every path on record with its state, sorted; and what is in the way.

    `target` is the plan with its manifest, path to bytes. `modes` holds the permission bits
    of the files that are there. `obstacles` are errors that no `force` gets over.
    """

    root: Path
    target: Mapping[str, bytes]
    states: Mapping[str, State]
    modes: Mapping[str, int | None]
    obstacles: tuple[Diagnostic, ...]
    records: Records

    def paths(self, *states: State) -> tuple[str, ...]:
        return tuple(path for path, state in self.states.items() if state in states)

    @property
    def unfinished(self) -> bool:
        """Returns whether an earlier run was cut short."""
        return self.records.journal is not None


def survey(plan: Plan, root: Path, sink: Sink, command: str) -> Survey:
    """Compares `plan` with the tree below `root`; the sink gets what is wrong with the manifest itself."""
    records = read_records(root, sink, command)
    target = dict(sorted({**plan, MANIFEST_NAME: manifest_bytes(plan)}.items()))
    found: dict[str, Found] = {}
    obstacles: list[Diagnostic] = []
    for path in sorted({*target, *records.known}):
        try:
            found[path] = _inspect(root, path)
        except Failure as problem:
            obstacles += problem.diagnostics
    states = {
        path: _past_state(found[path], records.known[path])
        for path in records.known
        if path not in target and path in found
    }
    orphans = {path for path, state in states.items() if state is State.ORPHAN}
    for path, content in target.items():
        if path not in found:
            continue
        obstacle = _obstacle(root, path, found[path], orphans, records.known)
        if obstacle:
            obstacles.append(obstacle)
            continue
        states[path] = _planned_state(path, found[path], sha256(content), records)
    modes = {path: here.mode for path, here in found.items()}
    return Survey(root, target, dict(sorted(states.items())), modes, tuple(obstacles), records)


def parents(paths: Iterable[str]) -> list[str]:
    """Every folder on the way to the paths, each once, outer folders first; the root itself is not among them."""
    folders = {
        "/".join(parts[:count]) for parts in (path.split("/") for path in paths) for count in range(1, len(parts))
    }
    return sorted(folders)


def real_folders(root: Path, paths: Iterable[str]) -> list[str]:
    """Those of `parents(paths)` that are there as folders. Links are not followed: they may leave the root."""
    real: dict[str, None] = {}
    for folder in parents(paths):
        outer = folder.rpartition("/")[0]
        if (not outer or outer in real) and _kind(root / folder)[0] is Kind.FOLDER:
            real[folder] = None
    return list(real)


def _planned_state(path: str, found: Found, expected: str, records: Records) -> State:
    if found.kind is not Kind.FILE or found.blocked_by is not None:
        return State.MISSING  # a folder or file in the way that is left is one that the run clears away
    if found.digest == expected:
        return State.UNCHANGED
    if path == MANIFEST_NAME or not records.trusted:
        return State.STALE
    if path not in records.known:
        return State.NOT_OURS
    return State.STALE if found.digest in records.known[path] else State.EDITED


def _past_state(found: Found, ours: frozenset[str]) -> State:
    if found.kind in (Kind.ABSENT, Kind.FOLDER) or found.blocked_by is not None:
        return State.GONE
    return State.ORPHAN if found.kind is Kind.FILE and found.digest in ours else State.ORPHAN_EDITED


def _inspect(root: Path, path: str) -> Found:
    parts = path.split("/")
    for count in range(1, len(parts)):
        folder = "/".join(parts[:count])
        kind, _ = _kind(root / folder)
        if kind is Kind.ABSENT:
            return Found(_kind(root / path)[0])  # asked all the same: the whole path may be too long
        if kind is not Kind.FOLDER:
            return Found(kind, blocked_by=folder)
    kind, mode = _kind(root / path)
    if kind is not Kind.FILE:
        return Found(kind)
    return Found(kind, sha256(disk.read_bytes(root / path)), mode)


def _kind(path: Path) -> tuple[Kind, int]:
    with disk.faults(path, "write"):
        try:
            mode = os.lstat(path).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return Kind.ABSENT, 0
    if stat.S_ISREG(mode):
        return Kind.FILE, stat.S_IMODE(mode)
    if stat.S_ISDIR(mode):
        return Kind.FOLDER, 0
    return (Kind.LINK if stat.S_ISLNK(mode) else Kind.OTHER), 0


def _obstacle(
    root: Path, path: str, found: Found, orphans: set[str], known: Mapping[str, frozenset[str]]
) -> Diagnostic | None:
    """The error about what is at `path` and cannot be replaced by a file, or None."""
    if found.blocked_by is not None:
        if found.blocked_by in orphans:
            return None
        what = "a symbolic link" if found.kind is Kind.LINK else "not a folder"
        return _in_the_way(root / path, root / found.blocked_by, what)
    if found.kind in (Kind.ABSENT, Kind.FILE):
        return None
    if found.kind is Kind.FOLDER:
        ours = set(parents(known))
        if path in ours and _holds_only(root, path, orphans, ours):
            return None
        return _in_the_way(root / path, root / path, "a folder")
    what = "a symbolic link" if found.kind is Kind.LINK else "neither a file nor a folder"
    return _in_the_way(root / path, root / path, what)


def _holds_only(root: Path, folder: str, orphans: set[str], ours: set[str]) -> bool:
    """Returns whether a folder and those in it are ours and hold nothing but files that the run removes."""
    for name, is_folder in _entries(root / folder):
        path = f"{folder}/{name}"
        if is_folder:
            if path not in ours or not _holds_only(root, path, orphans, ours):
                return False
        elif path not in orphans and not disk.is_temporary(name):
            return False
    return True


def _entries(folder: Path) -> Iterator[tuple[str, bool]]:
    with disk.faults(folder, "list"):
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
            yield entry.name, entry.is_dir(follow_symlinks=False)


def _in_the_way(expected: Path, obstacle: Path, what: str) -> Diagnostic:
    return Diagnostic(
        "output-unwritable",
        Severity.ERROR,
        f"cannot write '{expected.as_posix()}': '{obstacle.as_posix()}' is {what}",
        Span(expected.as_posix()),
        fix=f"move '{obstacle.as_posix()}' away, or choose another output folder",
    )
