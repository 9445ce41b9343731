"""Scaffolding: what is to be added to a vendor's tree, and the writing of it. Prints nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.chip.model import Chip
from diopigen.config.entries import ConfigFile
from diopigen.config.reader import read_config
from diopigen.diagnostics import Failure, Sink, Span
from diopigen.emit.plan import MANIFEST_NAME, Plan
from diopigen.emit.vendor.selection import (
    NOTHING,
    Selection,
    require_known,
    require_vendor_name,
    select,
)
from diopigen.emit.vendor.skeleton import Operator, skeleton_path
from diopigen.emit.vendor.tree import VendorOptions, emit_vendor, is_generated, shims_folder
from diopigen.header.compare import prototype
from diopigen.header.signature import c_function
from diopigen.ir.model import Interface
from diopigen.output import disk
from diopigen.output.apply import Result, apply
from diopigen.output.check import dry_run
from diopigen.output.once import missing, write_once
from diopigen.vendor.scan import scan_and_check, spec_interface
from diopigen.vendor.shims import CONFIG_NAME, resolved_for, shimmed_functions, shims
from diopigen.vendor.tree_chip import KernelPlans, TreeChip, read_tree_chip
from diopigen.vendor.tree_state import TreeState, read_state

RULES = {
    "function-missing": "an operator with a file of its own has all its functions",
    "package-outdated": "a vendor's package for PyTorch is one over diopi_torch",
}

_STARTER = Selection(starter=True)


@dataclass(frozen=True, slots=True)
class Scaffolded:
    """What a run did: what belongs to diopigen, and the paths that were started or kept as they are, sorted.

    `shims` is None for a tree whose kernels are exported by themselves, and where the configuration is in error.
    `kernels` are the table of the chip and the elementwise kernels.
    """

    generated: Result
    started: tuple[str, ...] = ()
    retained: tuple[str, ...] = ()
    shims: Result | None = None
    kernels: tuple[Result, ...] = ()


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
    selected: Selection | None = None,
    torch: bool = False,
    tvm: bool = False,
    chip: bytes | None = None,
    force: bool = False,
    write: bool = True,
) -> Scaffolded:
    """Makes the tree of `vendor` at `root`, or adds to it what is new; files of the vendor's own stay as they are.

    Without a selection a new tree gets the starter set, and an older one what it was scaffolded with before. `torch`
    adds a backend for PyTorch and `tvm` what TVM needs, which the tree keeps from then on. `chip` is the chip's
    file that a new tree starts with: its elementwise operators get kernels, the others skeletons.
    `force` overwrites generated files that were edited; `write` false only says what would be done. Functions whose
    signature differs from the interface become errors in `sink` (`impl-signature`), though what is new is written
    all the same. Edited generated files are errors too, and then nothing is written. Raises `Failure` for a name,
    pattern or folder that cannot be used.
    """
    require_vendor_name(vendor)
    selected = selected or NOTHING
    require_known(interface, selected)
    existed = root.is_dir()
    tree = read_state(root, vendor)
    selection = tree.selection.union(selected)
    if selection.is_empty:
        selection = _STARTER
    tree = replace(tree, selection=selection, torch=torch or tree.torch, tvm=tvm or tree.tvm)
    native = read_tree_chip(interface, where, vendor, root, chip, sink) if tree.has_kernels else None
    if tree.has_kernels and native is None:
        return Scaffolded(Result())
    work = _planned(interface, where, runtime, vendor, root, tree, native, sink)
    command = f"diopigen scaffold --vendor {vendor} --out {root.as_posix()}"
    output = _Output(root / shims_folder(vendor), command, force, write, Sink())
    result = output.apply(work.generated, root)
    # Without writing, the findings about all files come together.
    shim_result = output.apply(work.public, output.shim_root) if work.public and not write else None
    kernels = tuple(
        _placed_in(output.apply(plan, root / folder), folder) for folder, plan in work.kernels.items() if not write
    )
    if output.sink.has_errors:
        sink.extend(output.sink.sorted())
        return Scaffolded(result)
    _report_missing(work.there, work.written.all, vendor, root, tree.shimmed, sink)
    _report_outdated(root / f"torch_{vendor}/__init__.py", vendor, sink)
    if write:
        try:
            started = write_once(work.starts, root, executable=(".ci/run",))
            kernels = tuple(
                _placed_in(output.apply(plan, root / folder), folder) for folder, plan in work.kernels.items()
            )
            shim_result = output.apply(work.public, output.shim_root) if work.public else None
        except Failure:
            if tree.is_new:
                _take_back(root, output.shim_root, existed)
            raise
    else:
        started = missing(work.starts, root)
    sink.extend(output.sink.sorted())
    own = {*work.starts, *(skeleton_path(vendor, operator) for operator in work.operators)}
    retained = {path for path in own - set(started) if (root / path).exists()}
    shims_written = None if shim_result is None else _placed_in(shim_result, shims_folder(vendor))
    return Scaffolded(result, started, tuple(sorted(retained)), shims_written, kernels)


@dataclass(frozen=True, slots=True)
class _Work:
    """What a run has to write: the operators that are selected, those of them that have files already, what the
    vendor's sources define, and the files of each kind."""

    operators: tuple[Operator, ...]
    there: tuple[Operator, ...]
    written: _Written
    generated: Plan
    starts: Mapping[str, bytes]
    public: Plan | None
    kernels: Mapping[str, Plan]


def _planned(
    interface: Interface,
    where: Workspace,
    runtime: Path,
    vendor: str,
    root: Path,
    tree: TreeState,
    native: TreeChip | None,
    sink: Sink,
) -> _Work:
    operators = tuple(select(interface, tree.selection))
    if native is not None:
        operators = native.listed(operators)
    # Before the scan: of a file that another run adds in the meantime nothing is known.
    there = tuple(op for op in operators if not tree.is_new and (root / skeleton_path(vendor, op)).exists())
    written = _Written() if tree.is_new else _written(interface, where, root, vendor, sink)
    generated = native.kernels(interface, where, vendor, written.all) if native is not None else KernelPlans()
    new = _unwritten(operators, (*written.all, *generated.functions))
    content = native.content if native is not None else None
    options = VendorOptions(
        vendor, new, tree.selection, tree.shimmed, tree.torch, tree.tvm, content, len(generated.functions)
    )
    plan = emit_vendor(interface, where.templates, runtime, options)
    public = None
    if tree.shimmed:
        functions = {*written.shimmed, *generated.functions}
        functions |= {function.name for operator in new for function in operator.functions}
        public = _shims(interface, where, vendor, root, functions, None if native is None else native.chip, sink)
    return _Work(
        operators,
        there,
        written,
        Plan(tuple(file for file in plan.files if is_generated(file.path))),
        {path: content for path, content in plan.items() if not is_generated(path)},
        public,
        generated.plans,
    )


@dataclass(frozen=True, slots=True)
class _Output:
    """Writes generated files, or only says what would be written; findings are in `sink`."""

    shim_root: Path
    command: str
    force: bool
    write: bool
    sink: Sink

    def apply(self, plan: Plan, root: Path) -> Result:
        run = apply if self.write else dry_run
        return run(plan, root, self.sink, force=self.force, command=self.command)


def _placed_in(result: Result, folder: str) -> Result:
    """The paths of a result from the root of the tree."""
    return Result(*(tuple(f"{folder}/{path}" for path in getattr(result, each.name)) for each in fields(Result)))


def _shims(
    interface: Interface,
    where: Workspace,
    vendor: str,
    root: Path,
    functions: Collection[str],
    chip: Chip | None,
    sink: Sink,
) -> Plan | None:
    """The shims over `functions`, as `diopigen adaptors` writes them; None where the configuration is in error."""
    path = root / CONFIG_NAME
    found = Sink()
    config = read_config(path, CONFIG_NAME, found) if path.exists() else ConfigFile(CONFIG_NAME)
    resolved = None if config is None else resolved_for(interface, vendor, config, functions, found, chip)
    sink.extend(found.sorted())
    return None if resolved is None or found.has_errors else shims(interface, where, resolved)


def _written(interface: Interface, where: Workspace, root: Path, vendor: str, sink: Sink) -> _Written:
    """What the vendor's sources define; functions with another signature are reported."""
    folder = root / "impl" / vendor
    if not folder.is_dir():
        return _Written()
    found = Sink()
    sources, names = scan_and_check(spec_interface(interface), where, folder, found)
    sink.extend(finding for finding in found.sorted() if finding.code in ("impl-signature", "vendor-unreadable"))
    return _Written(names, shimmed_functions(sources, vendor) & frozenset(names))


def _unwritten(operators: Sequence[Operator], implemented: Collection[str]) -> tuple[Operator, ...]:
    """The operators without the functions that are defined already, in whatever file: twice would not link."""
    left = (
        replace(operator, functions=tuple(f for f in operator.functions if f.name not in implemented))
        for operator in operators
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


def _report_outdated(package: Path, vendor: str, sink: Sink) -> None:
    """Reports a package of a time when each tree had its own copy of what is in diopi_torch."""
    text = package.read_text(encoding="utf-8", errors="replace") if package.is_file() else ""
    position = text.find(f"torch_{vendor} import _backend")
    if position >= 0:
        message = f"torch_{vendor} imports modules that are in the package diopi_torch now"
        fix = f"pip install diopi-torch, delete {package.as_posix()} and pyproject.toml, and scaffold again"
        sink.warning(
            "package-outdated", message, Span(package.as_posix(), text.count("\n", 0, position) + 1, 1), fix=fix
        )


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
