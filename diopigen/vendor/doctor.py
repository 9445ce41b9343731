"""Problems of a vendor's tree that does not work: its library, device functions, headers, configuration and shims, each
finding with the command that fixes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen import __version__
from diopigen.api import Workspace
from diopigen.config.model import ResolvedConfig
from diopigen.diagnostics import Note, Sink, Span
from diopigen.emit.vendor.vendored import VERSION_FILE
from diopigen.header.rules import ERROR, WARNING, Reporter, Rule, Rules
from diopigen.header.vendor_file import VendorFunction
from diopigen.ir.model import Interface
from diopigen.output.check import check as check_plan
from diopigen.output.check import dry_run
from diopigen.package import VENDORED_FOLDER
from diopigen.vendor.elf import Symbols, read_symbols
from diopigen.vendor.shims import MARK, shims
from diopigen.vendor.vendored_copy import planned_copy

RULES: Rules = {
    "doctor-no-library": Rule(WARNING, "a vendor's tree has been built"),
    "doctor-not-exported": Rule(ERROR, "an operator with a definition is exported by the library"),
    "doctor-nothing-exported": Rule(ERROR, "a library exports operators"),
    "doctor-null-call": Rule(
        ERROR, "a library calls no operator that is not defined: a weak one is a jump to address 0"
    ),
    "doctor-no-init": Rule(ERROR, "a library exports initLibrary, in which it meets its host"),
    "doctor-device-function": Rule(ERROR, "a library offers every device function, by registration or by name"),
    "doctor-always-called": Rule(ERROR, "a library exports the texts that hosts ask for without a null test"),
    "doctor-old-copy": Rule(WARNING, "a tree's third_party/diopigen is that of the installed diopigen"),
    "doctor-stale-shims": Rule(ERROR, "shims are what the configuration and the kernels say now"),
}

_SHOWN = 6
_TEXTS = ("diopiGetVendorName", "diopiGetImplVersion", "diopiGetLastErrorString")


@dataclass(frozen=True, slots=True)
class Patient:
    """A vendor's folder `impl/NAME` with what was found in it. `library` is None where none was built."""

    name: str
    directory: Path
    definitions: tuple[VendorFunction, ...]
    resolved: ResolvedConfig | None
    library: Path | None
    shims: Path | None

    @property
    def root(self) -> Path:
        """The tree that the folder is in: that of `.../impl/NAME`, else the folder itself."""
        return tree_root(self.directory)


def tree_root(directory: Path) -> Path:
    """The tree that `.../impl/NAME` is in, else the folder itself."""
    return directory.parent.parent if directory.parent.name == "impl" else directory


def find_library(directory: Path) -> Path | None:
    """The newest libdiopi_impl.so below the tree of `impl/NAME`."""
    found = sorted(tree_root(directory).rglob("libdiopi_impl.so"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else None


def find_shims(directory: Path, name: str) -> Path | None:
    """The folder of the vendor's shims, where there is one."""
    root = tree_root(directory)
    candidates = [
        root / "generated/adaptors" / name,
        *sorted(path.parent for path in root.rglob("adaptors/**/adaptor.cpp")),
    ]
    return next((folder for folder in candidates if (folder / MARK).exists()), None)


def examine(patient: Patient, interface: Interface, where: Workspace, sink: Sink) -> None:
    """Adds a finding to `sink` for everything that is wrong. Raises `Failure` where the library cannot be read."""
    report = Reporter(RULES, sink)
    _copy(patient, interface, where, report)
    _stale(patient, interface, where, report)
    if patient.library is None:
        fix = (
            f"build it: cmake --preset debug && cmake --build --preset debug (in {patient.root}), or name it with --lib"
        )
        report(
            "doctor-no-library", f"'{patient.root}' holds no libdiopi_impl.so", Span(str(patient.directory)), fix=fix
        )
        return
    symbols = read_symbols(patient.library)
    location = Span(str(patient.library))
    _exports(patient, interface, symbols, location, report)
    _calls(patient, interface, symbols, location, report)
    _device(interface, symbols, location, report)


def _names(found: Iterable[str]) -> str:
    names = list(found)
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + rest


def _exports(patient: Patient, interface: Interface, symbols: Symbols, location: Span, report: Reporter) -> None:
    operators = [function.name for function in interface.functions if function.family != "runtime"]
    if not symbols.defined.intersection(operators):
        fix = 'let the version script export diopi*, and declare kernels extern "C" or put shims in front of them'
        report("doctor-nothing-exported", "the library exports no operator", location, fix=fix)
        return
    defined = {item.function.name: item for item in patient.definitions}
    for shimmed in (False, True):
        hidden = [
            name
            for name in operators
            if name in defined and bool(defined[name].namespace) == shimmed and name not in symbols.defined
        ]
        if not hidden:
            continue
        notes = [Note(f"defined here: {name}", defined[name].function.span) for name in hidden[:_SHOWN]]
        count = f"{len(hidden)} function{'s' if len(hidden) > 1 else ''} with a definition"
        if shimmed:
            message = f"{count} in impl::{patient.name} and no shim in the library: {_names(hidden)}"
            fix = f"diopigen adaptors {patient.directory}, and compile its adaptor.cpp into the library"
        else:
            message = f"{count} that the library does not export: {_names(hidden)}"
            fix = "build again; then see that CMake compiles the file and that the version script lets diopi* through"
        report("doctor-not-exported", message, location, notes=notes, fix=fix)
    lacking = [name for name in _TEXTS if name not in symbols.defined]
    if lacking:
        fix = "define them: impl/NAME/library.cpp of a scaffolded tree does"
        report("doctor-always-called", f"the library does not export {_names(lacking)}", location, fix=fix)


def _calls(patient: Patient, interface: Interface, symbols: Symbols, location: Span, report: Reporter) -> None:
    operators = {function.name for function in interface.functions if function.family != "runtime"}
    required = sorted((symbols.weak | symbols.needed) & operators - symbols.defined)
    if required:
        message = f"the library calls operators that it lacks: {_names(required)}"
        fix = "implement them, test for null before the call, or put the dispatch library (docs/dispatch.md) in front"
        report("doctor-null-call", message, location, fix=fix)


def _device(interface: Interface, symbols: Symbols, location: Span, report: Reporter) -> None:
    if "initLibrary" not in symbols.defined:
        fix = 'define extern "C" int32_t initLibrary() and export it: impl/NAME/device.cpp of a scaffolded tree does'
        report("doctor-no-init", "the library does not export initLibrary", location, fix=fix)
    called = symbols.weak | symbols.needed | symbols.defined
    lacking = [
        function.register
        for function in interface.device_functions
        if function.register not in called and function.linked_name not in symbols.defined
    ]
    if lacking:
        message = f"the library neither calls {_names(lacking)} nor exports the functions of the newer form"
        fix = "register them in initLibrary: impl/NAME/device.cpp of a scaffolded tree does"
        report("doctor-device-function", message, location, fix=fix)


def _copy(patient: Patient, interface: Interface, where: Workspace, report: Reporter) -> None:
    """The copy of diopigen that the tree carries, compared byte for byte with what would be written now."""
    folder = patient.root / VENDORED_FOLDER
    plan = planned_copy(patient.root, interface, where)
    if plan is None:
        return
    aside = Sink()
    stale = dry_run(plan, folder, aside)
    paths = [*stale.written, *stale.removed, *(finding.span.file for finding in aside.sorted() if finding.span)]
    if paths:
        version = folder / VERSION_FILE
        created_by = version.read_text(encoding="utf-8", errors="replace").strip() if version.is_file() else "unknown"
        message = f"{VENDORED_FOLDER} (version {created_by}) is not that of diopigen {__version__}: {_names(paths)}"
        report("doctor-old-copy", message, Span(str(folder)), fix=f"diopigen sync {patient.directory} --apply")


def _stale(patient: Patient, interface: Interface, where: Workspace, report: Reporter) -> None:
    if patient.shims is None or patient.resolved is None:
        return
    aside = Sink()
    check_plan(shims(interface, where, patient.resolved), patient.shims, aside, command="diopigen adaptors")
    found: Sequence[str] = [str(finding.span.file) for finding in aside.sorted() if finding.span is not None]
    if aside.sorted():
        fix = f"diopigen adaptors {patient.directory} --out {patient.shims}, and build again"
        message = f"the shims are out of date: {_names(Path(name).name for name in found)}"
        report("doctor-stale-shims", message, Span(str(patient.shims)), fix=fix)
