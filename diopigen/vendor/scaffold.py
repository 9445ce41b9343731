"""Scaffolding: what a vendor's tree has already, what is to be added, and the writing of it. Prints nothing."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.config.entries import ConfigFile
from diopigen.config.reader import read_config
from diopigen.diagnostics import Failure, Sink, Span, failure
from diopigen.emit.plan import MANIFEST_NAME, RESERVED_PREFIX, Plan
from diopigen.emit.vendor.selection import (
    NOTHING,
    Selection,
    require_known,
    require_vendor_name,
    select,
    selection_from_json,
)
from diopigen.emit.vendor.skeleton import Operator, skeleton_path
from diopigen.emit.vendor.tree import MARK, VendorOptions, emit_vendor, is_generated, shims_folder
from diopigen.header.compare import prototype
from diopigen.header.signature import c_function
from diopigen.ir.model import Interface
from diopigen.output import disk
from diopigen.output.apply import Result, apply
from diopigen.output.check import dry_run
from diopigen.output.manifest import read_records
from diopigen.output.once import missing, write_once
from diopigen.vendor.scan import scan_and_check
from diopigen.vendor.shims import CONFIG_NAME, resolved_for, shimmed_functions, shims

RULES = {
    "scaffold-not-empty": "a vendor's tree starts in an empty folder, or goes on where one was scaffolded",
    "scaffold-foreign": "a vendor's tree is not scaffolded over another output of diopigen",
    "scaffold-other-vendor": "a tree belongs to one vendor",
    "scaffold-mark-damaged": "vendor.json says whose tree it is",
    "function-missing": "an operator with a file of its own has all its functions",
}

_STARTER = Selection(starter=True)


@dataclass(frozen=True, slots=True)
class Scaffolded:
    """What a run did: what belongs to diopigen, and the paths that were started or kept as they are, sorted.

    `shims` is None for a tree whose kernels are exported by themselves, and where the configuration is in error.
    """

    generated: Result
    started: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    shims: Result | None = None


@dataclass(frozen=True, slots=True)
class _Tree:
    """What is at the output folder: whether nothing is, and what the tree was scaffolded with.

    Trees of before the shims have kernels that are exported by themselves, and keep that form.
    """

    is_new: bool
    selection: Selection = NOTHING
    shimmed: bool = True
    torch: bool = False


@dataclass(frozen=True, slots=True)
class _Written:
    """The functions that the vendor's sources define, and those of them that shims can call."""

    all: tuple[str, ...] = ()
    shimmed: frozenset[str] = frozenset()


def scaffold(
    interface: Interface,
    where: Workspace,
    runtime: Path,
    vendor: str,
    root: Path,
    sink: Sink,
    *,
    chosen: Selection | None = None,
    torch: bool = False,
    force: bool = False,
    write: bool = True,
) -> Scaffolded:
    """Makes the tree of `vendor` at `root`, or adds to it what is new; files of the vendor's own stay as they are.

    Without a selection a new tree gets the starter set, and an older one what it was scaffolded with before. `torch`
    adds a backend for PyTorch, which the tree keeps from then on.
    `force` overwrites generated files that were edited; `write` false only says what would be done. Functions whose
    signature differs from the interface become errors in `sink` (`impl-signature`), though what is new is written
    all the same. Edited generated files are errors too, and then nothing is written. Raises `Failure` for a name,
    pattern or folder that cannot be used.
    """
    require_vendor_name(vendor)
    chosen = chosen or NOTHING
    require_known(interface, chosen)
    existed = root.is_dir()
    tree = _look(root, vendor)
    selection = tree.selection.union(chosen)
    if selection.is_empty:
        selection = _STARTER
    wanted = select(interface, selection)
    # Before the scan: of a file that another run adds in the meantime nothing is known.
    there = [] if tree.is_new else [op for op in wanted if (root / skeleton_path(vendor, op)).exists()]
    written = _Written() if tree.is_new else _written(interface, where, root, vendor, sink)
    new = _unwritten(wanted, written.all)
    plan = emit_vendor(
        interface, where.templates, runtime, VendorOptions(vendor, new, selection, tree.shimmed, torch or tree.torch)
    )
    generated = Plan(tuple(file for file in plan.files if is_generated(file.path)))
    starts = {path: content for path, content in plan.items() if not is_generated(path)}
    public = None
    if tree.shimmed:
        functions = {*written.shimmed, *(function.name for operator in new for function in operator.functions)}
        public = _shims(interface, where, vendor, root, functions, sink)
    shim_root = root / shims_folder(vendor)
    command = f"diopigen scaffold --vendor {vendor} --out {root.as_posix()}"
    about_output = Sink()
    if not write:
        result = dry_run(generated, root, about_output, force=force, command=command)
        shim_result = dry_run(public, shim_root, about_output, force=force, command=command) if public else None
        started = missing(starts, root)
    else:
        result = apply(generated, root, about_output, force=force, command=command)
        shim_result = None
        started = ()
    if about_output.has_errors:
        sink.extend(about_output.sorted())
        return Scaffolded(result)
    _report_missing(there, written.all, vendor, root, tree.shimmed, sink)
    if write:
        try:
            started = write_once(starts, root, executable=(".ci/run",))
            shim_result = apply(public, shim_root, about_output, force=force, command=command) if public else None
        except Failure:
            if tree.is_new:
                _take_back(root, shim_root, existed)
            raise
    sink.extend(about_output.sorted())
    own = {*starts, *(skeleton_path(vendor, operator) for operator in wanted)}
    kept = {path for path in own - set(started) if (root / path).exists()}
    return Scaffolded(result, started, tuple(sorted(kept)), _placed(shim_result, shims_folder(vendor)))


def _placed(result: Result | None, folder: str) -> Result | None:
    """The paths of a result from the root of the tree."""
    if result is None:
        return None
    return Result(*(tuple(f"{folder}/{path}" for path in getattr(result, each.name)) for each in fields(Result)))


def _shims(
    interface: Interface, where: Workspace, vendor: str, root: Path, functions: Collection[str], sink: Sink
) -> Plan | None:
    """The shims over `functions`, as `diopigen adaptors` writes them; None where the configuration is in error."""
    path = root / CONFIG_NAME
    found = Sink()
    config = read_config(path, CONFIG_NAME, found) if path.exists() else ConfigFile(CONFIG_NAME)
    resolved = None if config is None else resolved_for(interface, vendor, config, functions, found)
    sink.extend(found.sorted())
    return None if resolved is None or found.has_errors else shims(interface, where, resolved)


def _look(root: Path, vendor: str) -> _Tree:
    """What is at `root`. Raises `Failure` where something else is there."""
    if not root.is_dir():
        return _Tree(True)  # what else may be in the way is found when files are written
    with disk.faults(root, "read"):
        names = sorted(path.name for path in root.iterdir())
    names = [name for name in names if name != ".git" and not name.startswith(RESERVED_PREFIX)]
    span = Span(root.as_posix())
    if not names:
        return _Tree(True)
    records = read_records(root, Sink(), "diopigen scaffold")
    if MARK not in names and MARK in (records.journal or ()):
        return _Tree(True)  # a first run that was killed: this one goes on from there
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


def _read_mark(path: Path) -> tuple[str, _Tree]:
    try:
        document = json.loads(disk.read_bytes(path).decode("utf-8"))
        owner = document["vendor"]
        if not isinstance(owner, str):
            raise ValueError("'vendor' is a text")
        selection = selection_from_json(document["operators"])
        return owner, _Tree(False, selection, document.get("shims") is True, document.get("torch") is True)
    except (ValueError, KeyError, TypeError, RecursionError):
        message = f"'{path.as_posix()}' does not say whose tree it is and what it was scaffolded with"
        raise failure(
            "scaffold-mark-damaged", message, Span(path.as_posix()), "restore it from version control"
        ) from None


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def _written(interface: Interface, where: Workspace, root: Path, vendor: str, sink: Sink) -> _Written:
    """What the vendor's sources define; functions with another signature are reported."""
    folder = root / "impl" / vendor
    if not folder.is_dir():
        return _Written()
    found = Sink()
    sources, names = scan_and_check(interface, where, folder, (), found)
    sink.extend(finding for finding in found.sorted() if finding.code in ("impl-signature", "vendor-unreadable"))
    return _Written(names, shimmed_functions(sources, vendor) & frozenset(names))


def _unwritten(wanted: Sequence[Operator], implemented: Collection[str]) -> tuple[Operator, ...]:
    """The operators without the functions that are defined already, in whatever file: twice would not link."""
    left = (
        replace(operator, functions=tuple(f for f in operator.functions if f.name not in implemented))
        for operator in wanted
    )
    return tuple(operator for operator in left if operator.functions)


def _report_missing(
    there: Sequence[Operator], implemented: Collection[str], vendor: str, root: Path, shimmed: bool, sink: Sink
) -> None:
    """Notes the functions that an operator with a file lacks: the file is its owner's, and nothing is added to it."""
    for operator in there:
        path = root / skeleton_path(vendor, operator)
        for function in operator.functions:
            if function.name not in implemented:
                declared = prototype(c_function(function))
                what = f"'{declared}' to namespace impl::{vendor}" if shimmed else f"""'extern "C" {declared}'"""
                fix = f"add {what}, if the kernel exists"
                sink.note("function-missing", f"{function.name} is not implemented", Span(path.as_posix()), fix=fix)


def _take_back(root: Path, shim_root: Path, existed: bool) -> None:
    """Removes what a failed first run has written, and the root unless it `existed`, as far as the disk lets it."""
    try:
        for output in (shim_root, root):
            if not output.is_dir():
                continue
            result = apply(Plan(()), output, Sink())
            disk.remove_file(output / MANIFEST_NAME)
            paths = [output / path for path in (*result.removed, MANIFEST_NAME)]
            folders = {parent for path in paths for parent in path.parents if root in parent.parents}
            for folder in sorted(folders, reverse=True):
                disk.remove_empty_folder(folder)
        if not existed:
            disk.remove_empty_folder(root)
    except Failure:
        return
