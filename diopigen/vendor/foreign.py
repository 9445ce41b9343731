"""Scaffolding for an interface that is not DIOPI's: headers, and a skeleton for each function that no source has."""

from __future__ import annotations

import re
from pathlib import Path

from diopigen.api import Workspace
from diopigen.diagnostics import Sink
from diopigen.emit.vendor.foreign import generated_files, starts
from diopigen.emit.vendor.selection import NOTHING, Selection, require_known, require_vendor_name, select
from diopigen.emit.vendor.skeleton import skeleton_path
from diopigen.ir.model import Interface
from diopigen.output.apply import apply
from diopigen.output.check import dry_run
from diopigen.output.once import missing, write_once
from diopigen.vendor.scaffold import Scaffolded
from diopigen.vendor.tree_state import read_state

_SOURCES = frozenset({".c", ".cc", ".cpp", ".cu", ".cxx"})


def scaffold(
    interface: Interface,
    where: Workspace,
    vendor: str,
    root: Path,
    sink: Sink,
    *,
    selected: Selection = NOTHING,
    force: bool = False,
    write: bool = True,
) -> Scaffolded:
    """Makes the tree of `vendor` at `root`, or adds to it what is new; without a selection all functions get skeletons.
    Raises `Failure` for a name, pattern or folder that cannot be used."""
    require_vendor_name(vendor)
    require_known(interface, selected)
    tree = read_state(root, vendor)
    selection = tree.selection.union(selected)
    if selection.is_empty:
        selection = Selection(everything=True)
    words = _words(root / "impl" / vendor)
    operators = select(interface, selection)
    new = [one for one in operators if one.functions[0].name not in words]
    generated = generated_files(interface, where.templates, vendor, selection)
    command = f"diopigen scaffold --vendor {vendor} --out {root.as_posix()}"
    result = (apply if write else dry_run)(generated, root, sink, force=force, command=command)
    if sink.has_errors:
        return Scaffolded(result)
    started = dict(starts(interface, where.templates, vendor, new).items())
    written = write_once(started, root) if write else missing(started, root)
    own = {*started, *(skeleton_path(vendor, operator) for operator in operators)}
    retained = sorted(path for path in own - set(written) if (root / path).exists())
    return Scaffolded(result, written, tuple(retained))


def _words(folder: Path) -> frozenset[str]:
    """The words of a vendor's sources: a function whose name is among them needs no skeleton."""
    paths = [path for path in folder.rglob("*") if path.suffix in _SOURCES and path.is_file()]
    return frozenset(word for path in paths for word in re.findall(r"\w+", path.read_text("utf-8", errors="replace")))
