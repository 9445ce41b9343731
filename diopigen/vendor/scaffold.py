"""Scaffolding: what is to be added to a vendor's tree, and the writing of it. Prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from diopigen.api import Workspace
from diopigen.chip.model import Chip
from diopigen.config.entries import ConfigFile
from diopigen.config.reader import read_config
from diopigen.diagnostics import Failure, Sink, Span, failure
from diopigen.emit.plan import MANIFEST_NAME, Plan
from diopigen.emit.vendor.library_kernels import first_versions
from diopigen.emit.vendor.selection import (
    NOTHING,
    Selection,
    require_known,
    require_vendor_name,
    select,
)
from diopigen.emit.vendor.skeleton import Operator, operators, skeleton_path
from diopigen.emit.vendor.tree import VendorOptions, emit_vendor, is_generated, shims_folder
from diopigen.emit.vendor.vendored import emit_vendored
from diopigen.header.compare import prototype
from diopigen.header.signature import c_function
from diopigen.ir.model import Interface
from diopigen.output import disk
from diopigen.output.apply import Result, apply
from diopigen.output.check import dry_run
from diopigen.output.once import missing, write_once
from diopigen.package import VENDORED_FOLDER
from diopigen.vendor.scan import scan_and_check, spec_interface
from diopigen.vendor.shims import CONFIG_NAME, resolved_for, shimmed_functions, shims
from diopigen.vendor.tree_chip import GENERATED_FOLDERS, TreeChip, read_tree_chip
from diopigen.vendor.tree_state import TreeState, read_state

RULES = {
    "function-missing": "an operator with a file of its own has all its functions",
    "package-outdated": "a vendor's package for PyTorch is one over diopi_torch",
    "tree-outdated": "a vendor's tree builds with the installed diopigen, or with its copy in third_party/diopigen",
}

_STARTER = Selection(starter=True)
_Run = Callable[..., Result]
"""`apply`, or `dry_run`, which only finds out what it would do."""


@dataclass(frozen=True, slots=True)
class Scaffolded:
    """Effects of a run: files of diopigen, and paths that were created or not changed, sorted.

    `shims` is None where the configuration is in error. `folders` are generated folders of the tree: the table of the
    chip, kernels, and a copy of what the package brings along.
    """

    generated: Result
    started: tuple[str, ...] = ()
    retained: tuple[str, ...] = ()
    shims: Result | None = None
    folders: tuple[Result, ...] = ()


@dataclass(frozen=True, slots=True)
class _Written:
    """The functions that the vendor's sources define: `by_hand`, those of them that shims can call, and those with
    elementwise kernels, which are generated."""

    by_hand: frozenset[str] = frozenset()
    shimmed: frozenset[str] = frozenset()
    generated: tuple[str, ...] = ()


def scaffold(
    interface: Interface,
    where: Workspace,
    package: Path,
    vendor: str,
    root: Path,
    sink: Sink,
    *,
    selected: Selection | None = None,
    torch: bool = False,
    vllm: bool = False,
    tvm: bool = False,
    vendored: bool = False,
    chip: bytes | None = None,
    force: bool = False,
    write: bool = True,
) -> Scaffolded:
    """Makes the tree of `vendor` at `root`, or adds to it what is new; files of the vendor's own stay as they are.

    Without a selection and a chip a new tree gets the starter set, and an older one what it was scaffolded with
    before. What is `selected` gets files of the vendor's own. Of the starter set, and of what the file of the chip
    lists, operators get generated kernels where there are any. `torch` adds a backend for PyTorch, `vllm` that
    and what the plugin for vLLM reads, `tvm` what TVM needs, `vendored` a copy of what `package` holds
    (`package_root`), all of which the tree keeps from then on. `chip` is the chip's file that a new tree starts with.
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
    _require_current(root)
    selection = tree.selection.union(selected)
    if selection.is_empty and chip is None and tree.is_new:
        selection = _STARTER
    tree = replace(
        tree,
        selection=selection,
        torch=torch or vllm or tree.torch,
        vllm=vllm or tree.vllm,
        tvm=tvm or tree.tvm,
        vendored=vendored or tree.vendored,
    )
    native = read_tree_chip(interface, where, vendor, root, chip, sink)
    if native is None:
        return Scaffolded(Result())
    work = _planned(interface, where, package, root, tree, selected, native, sink)
    command = f"diopigen scaffold --vendor {vendor} --out {root.as_posix()}"
    own = {*work.starts, *(skeleton_path(vendor, operator) for operator in work.operators)}

    def scaffolded(run: _Run, into: Sink, started: Sequence[str]) -> Scaffolded:
        """Runs over all generated files, the starts being done."""
        result, *results = (
            _placed_in(run(plan, root / folder, into, force=force, command=command), folder)
            for folder, plan in {"": work.generated, **work.folders}.items()
        )
        retained = {path for path in own - set(started) if (root / path).exists()}
        shims_written = results.pop() if work.has_shims else None
        return Scaffolded(result, tuple(started), tuple(sorted(retained)), shims_written, tuple(results))

    # The findings about all files come together, before anything is written.
    aside = Sink()
    planned = scaffolded(dry_run, aside, missing(work.starts, root))
    sink.extend(aside.sorted())
    if aside.has_errors:
        return Scaffolded(planned.generated)
    _report_missing(work.there, work.implemented, vendor, root, sink)
    _report_outdated(root / f"torch_{vendor}/__init__.py", vendor, sink)
    if not write:
        return planned
    try:
        return scaffolded(apply, sink, write_once(work.starts, root, executable=(".ci/run",)))
    except Failure:
        if tree.is_new:
            _take_back(root, [root / folder for folder in work.folders], existed)
        raise


@dataclass(frozen=True, slots=True)
class _Work:
    """Input of a run: the operators of the tree, those with files, the functions with kernels, and the files of each
    kind."""

    operators: tuple[Operator, ...]
    there: tuple[Operator, ...]
    implemented: frozenset[str]
    generated: Plan
    starts: Mapping[str, bytes]
    folders: Mapping[str, Plan]
    """Of folders with a list of generated files of their own; the last are the shims, unless they are in error."""
    has_shims: bool


def _planned(
    interface: Interface,
    where: Workspace,
    package: Path,
    root: Path,
    tree: TreeState,
    selected: Selection,
    native: TreeChip,
    sink: Sink,
) -> _Work:
    vendor = native.chip.name
    based = native.native or _functions(select(interface, _STARTER) if tree.selection.starter else ())
    in_tree = {operator.name for operator in select(interface, tree.selection)}
    listed = native.listed(
        operator
        for operator in operators(interface)
        if operator.name in in_tree or based.intersection(function.name for function in operator.functions)
    )
    # Before the scan: of a file that another run adds in the meantime nothing is known.
    there = tuple(op for op in listed if not tree.is_new and (root / skeleton_path(vendor, op)).exists())
    written = _Written() if tree.is_new else _written(interface, where, root, vendor, sink)
    library = first_versions(interface, package / "runtime")
    requested = select(interface, selected)
    have_files = {operator.name for operator in there}
    own = _functions(operator for operator in requested if operator.name not in have_files)
    uncovered = based - written.by_hand - own
    kernels = native.kernels(interface, where, root, uncovered, written.generated, library)
    implemented = written.by_hand.union(kernels.functions)
    new = _unwritten(listed, implemented)
    options = VendorOptions(
        vendor,
        new,
        native.content,
        tree.selection,
        torch=tree.torch,
        vllm=tree.vllm,
        tvm=tree.tvm,
        vendored=tree.vendored,
        elementwise=len(kernels.elementwise),
        library=len(kernels.library),
    )
    plan = emit_vendor(interface, where.templates, library, options)
    functions = {*written.shimmed, *kernels.functions, *_functions(new)}
    public = _shims(interface, where, vendor, root, functions, native.chip, sink)
    folders = {**kernels.plans, **_vendored(interface, where, package, tree)}
    return _Work(
        listed,
        there,
        implemented,
        Plan(tuple(file for file in plan.files if is_generated(file.path))),
        {path: content for path, content in plan.items() if not is_generated(path)},
        {**folders, **({} if public is None else {shims_folder(vendor): public})},
        public is not None,
    )


def _functions(operators: Iterable[Operator]) -> frozenset[str]:
    return frozenset(function.name for operator in operators for function in operator.functions)


def _vendored(interface: Interface, where: Workspace, package: Path, tree: TreeState) -> Mapping[str, Plan]:
    if not tree.vendored:
        return {}
    plan = emit_vendored(interface, where.templates, package, torch_too=tree.torch, tvm_too=tree.tvm)
    return {VENDORED_FOLDER: plan}


def _require_current(root: Path) -> None:
    """Raises `Failure` for a tree of a time when each had its own runtime/ and include/."""
    path = root / "CMakeLists.txt"
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    position = text.find("add_subdirectory(runtime)")
    if position >= 0:
        message = "the tree builds a runtime/ of its own, which comes with the installed diopigen now"
        fix = "write CMakeLists.txt as in a new tree (docs/vendor-tree.md#an-older-tree), and scaffold again"
        raise failure("tree-outdated", message, Span(path.as_posix(), text.count("\n", 0, position) + 1, 1), fix)


def _placed_in(result: Result, folder: str) -> Result:
    """The paths of a result from the root of the tree."""
    if not folder:
        return result
    return Result(*(tuple(f"{folder}/{path}" for path in getattr(result, each.name)) for each in fields(Result)))


def _shims(
    interface: Interface,
    where: Workspace,
    vendor: str,
    root: Path,
    functions: Collection[str],
    chip: Chip,
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
    """Definitions in the vendor's sources; functions with another signature are reported."""
    folder = root / "impl" / vendor
    if not folder.is_dir():
        return _Written()
    found = Sink()
    sources, _ = scan_and_check(spec_interface(interface), where, folder, found)
    sink.extend(finding for finding in found.sorted() if finding.code in ("impl-signature", "vendor-unreadable"))
    by_folder: dict[str, list[str]] = {}
    for each in sources.functions:
        span = each.function.span
        inside = [] if span is None else [name for name in GENERATED_FOLDERS if f"/{vendor}/{name}/" in span.file]
        by_folder.setdefault(inside[0] if inside else "", []).append(each.function.name)
    by_hand = frozenset(by_folder.get("", ())) & {function.name for function in interface.functions}
    generated = tuple(by_folder.get(GENERATED_FOLDERS[0], ()))
    return _Written(by_hand, shimmed_functions(sources, vendor) & by_hand, generated)


def _unwritten(operators: Sequence[Operator], implemented: Collection[str]) -> tuple[Operator, ...]:
    """The operators without the functions that are defined already, in whatever file: twice would not link."""
    left = (
        replace(operator, functions=tuple(f for f in operator.functions if f.name not in implemented))
        for operator in operators
    )
    return tuple(operator for operator in left if operator.functions)


def _report_missing(
    there: Sequence[Operator], implemented: Collection[str], vendor: str, root: Path, sink: Sink
) -> None:
    """Notes the functions that an operator with a file lacks: the file is its owner's, and nothing is added to it."""
    for operator in there:
        path = root / skeleton_path(vendor, operator)
        for function in operator.functions:
            if function.name not in implemented:
                declared = prototype(c_function(function))
                fix = f"add '{declared}' to namespace impl::{vendor}, if the kernel exists"
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


def _take_back(root: Path, generated: Sequence[Path], existed: bool) -> None:
    """Removes what a failed first run has written, and the root unless it `existed`, as far as the disk lets it."""
    try:
        for output in (*generated, root):
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
