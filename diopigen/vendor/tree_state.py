"""State of the folder of a vendor's tree, and the options it was scaffolded with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import Sink, Span, failure
from diopigen.emit.plan import MANIFEST_NAME, RESERVED_PREFIX
from diopigen.emit.vendor.selection import NOTHING, Selection, selection_from_json
from diopigen.emit.vendor.tree import MARK
from diopigen.output import disk
from diopigen.output.manifest import read_records

RULES = {
    "scaffold-not-empty": "a vendor's tree starts in an empty folder, or goes on where one was scaffolded",
    "scaffold-foreign": "a vendor's tree is not scaffolded over another output of diopigen",
    "scaffold-other-vendor": "a tree belongs to one vendor",
    "scaffold-mark-damaged": "vendor.json says whose tree it is",
}


@dataclass(frozen=True, slots=True)
class TreeState:
    """State of the output folder: empty or not, and the options it was scaffolded with."""

    is_new: bool
    selection: Selection = NOTHING
    torch: bool = False
    vllm: bool = False
    tvm: bool = False
    vendored: bool = False
    """True if it has a copy of what the package brings along, in third_party/diopigen."""


def read_state(root: Path, vendor: str) -> TreeState:
    """State of `root`. Raises `Failure` where something else is there."""
    if not root.is_dir():
        return TreeState(True)  # what else may be in the way is found when files are written
    with disk.faults(root, "read"):
        names = sorted(path.name for path in root.iterdir())
    names = [name for name in names if name != ".git" and not name.startswith(RESERVED_PREFIX)]
    span = Span(root.as_posix())
    if not names:
        return TreeState(True)
    records = read_records(root, Sink(), "diopigen scaffold")
    if MARK not in names and MARK in (records.journal or ()):
        return TreeState(True)  # a first run that was killed: this one goes on from there
    if not (root / MANIFEST_NAME).exists() and MARK not in (records.journal or ()):
        message = f"'{root.as_posix()}' is not empty and was not scaffolded: it has {_some(names)}"
        raise failure("scaffold-not-empty", message, span, "choose another --out, or move what is there away")
    if MARK not in names:
        message = f"'{root.as_posix()}' holds another output of diopigen: it has {MANIFEST_NAME} but no {MARK}"
        fix = f"choose another --out; if it is a vendor's tree, restore {MARK}"
        raise failure("scaffold-foreign", message, span, fix)
    owner, tree = _read_mark(root / MARK)
    if owner != vendor:
        message = f"'{root.as_posix()}' is the tree of '{owner}', not of '{vendor}'"
        fix = f"use --vendor {owner}, or choose another --out"
        raise failure("scaffold-other-vendor", message, Span((root / MARK).as_posix()), fix)
    return tree


def _read_mark(path: Path) -> tuple[str, TreeState]:
    try:
        document = json.loads(disk.read_bytes(path).decode("utf-8"))
        owner = document["vendor"]
        if not isinstance(owner, str):
            raise ValueError("'vendor' is a text")
        selection = selection_from_json(document["operators"])
        added = [document.get(name) is True for name in ("torch", "vllm", "tvm", "vendored")]
        return owner, TreeState(False, selection, *added)
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"'{path.as_posix()}' does not say whose tree it is and what it was scaffolded with"
        raise failure(
            "scaffold-mark-damaged", message, Span(path.as_posix()), "restore it from version control"
        ) from None


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
