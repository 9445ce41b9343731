"""Finds the functions that a vendor implements, without the vendor's SDK, and checks them against the interface."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Note, Sink, Span
from diopigen.header import branches, libclang
from diopigen.header.cdecl import CFunction, CInterface
from diopigen.header.clang import Files, include_arguments, parse_clean, read_all
from diopigen.header.compare import Types, count, nearest_function, param_label, prototype
from diopigen.header.declarations import DeclarationReader
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.header.scan_cache import ScanCache
from diopigen.header.source import SourceText, read_source
from diopigen.header.vendor_file import FileScan, VendorFunction
from diopigen.package import VENDORED_FOLDER, package_root

RULES: Rules = {
    "vendor-unreadable": Rule(ERROR, "a vendor's folder or source file cannot be read"),
    "vendor-empty": Rule(WARNING, "a vendor's folder holds no source files"),
    "vendor-parse-incomplete": Rule(NOTE, "a file has errors, mostly for want of the SDK, that hide no function"),
    "vendor-hidden": Rule(WARNING, "errors in a file, mostly for want of the SDK, hide functions of its text"),
    "impl-signature": Rule(ERROR, "a function is implemented with another signature than its header declares"),
    "impl-unchecked": Rule(NOTE, "a signature needs types of the vendor's SDK and could not be checked"),
    "impl-orphan": Rule(WARNING, "a function is implemented that no header declares"),
    "impl-duplicate": Rule(ERROR, "a function is implemented twice"),
}

_PRELUDE = ""
"""The name of the public headers in a cached scan."""
_SUFFIXES = frozenset({".cc", ".cpp", ".cu", ".cxx"})
_SKIPPED_FOLDERS = frozenset({"build", "test", "tests", "third_party"})

# What nvcc knows by itself.
_DEVICE_WORDS = ("__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__forceinline__")
_DEVICE_ARGUMENTS = [*(f"-D{word}=" for word in _DEVICE_WORDS), "-D__launch_bounds__(...)="]
# The word behind a kernel that compares it with the interface, which is what this scan does by itself.
_KERNEL_ARGUMENTS = ["-DDIOPIGEN_KERNEL(name)=static_assert(true)", "-DDIOPIGEN_ADAPTOR_KERNEL_H_"]


@dataclass(frozen=True, slots=True)
class VendorSources:
    """The definitions of a vendor in order of file and line, the files read, and those that had errors."""

    functions: tuple[VendorFunction, ...] = ()
    files: tuple[str, ...] = ()
    incomplete: tuple[str, ...] = ()


def scan_vendor(
    directory: Path,
    prelude: Sequence[Path],
    sink: Sink,
    *,
    namespaces: Sequence[str] | None = None,
    macros: Sequence[str] = (),
    written: Path | None = None,
) -> VendorSources:
    """Finds the definitions of `diopi*` functions in a vendor's `.cpp`, `.cc`, `.cxx` and `.cu` files.

    `directory` is `impl/<vendor>`, of which the folders `functions*` count where there are any, or a folder that
    counts as a whole. The public headers `prelude` are included ahead of each file. `namespaces` are those that
    hold implementations (`impl::camb`) in addition to the global one; None takes every namespace with a name.
    `macros` (`NAME` or `NAME=VALUE`) are those of the vendor's build. Every branch of an `#if` that another macro
    chooses is read. `written` is the folder of `prelude` where it was made for this scan.
    What is unreadable, and headers that do not parse, are errors in `sink`; raises `Failure` without libclang.
    """
    report = Reporter(RULES, sink)
    if not directory.is_dir():
        problem = "is not a directory" if directory.exists() else "does not exist"
        fix = "give the folder impl/<vendor>"
        report("vendor-unreadable", f"'{directory}' {problem}", Span(str(directory)), fix=fix)
        return VendorSources()
    paths = source_files(directory)
    if not paths:
        fix = f"give a folder with {', '.join(sorted(_SUFFIXES))} files"
        report("vendor-empty", f"'{directory}' holds no source files", Span(str(directory)), fix=fix)
        return VendorSources()
    headers = read_all(prelude, sink)
    if headers is None:
        return VendorSources()
    names = [source.name for source in headers]
    arguments = [
        *_DEVICE_ARGUMENTS,
        *_KERNEL_ARGUMENTS,
        *(f"-D{macro}" for macro in macros),
        *include_arguments(names, [directory, directory.parent, directory / "include", *_tree_folders(directory)]),
    ]
    fixed = [macro.partition("=")[0] for macro in macros]
    words = [str(directory), *names, "any" if namespaces is None else " ".join(namespaces)]
    cached = ScanCache(words, arguments, written)
    if not cached.holds(_PRELUDE):
        cached.drop()
    functions: list[VendorFunction] = []
    files: list[str] = []
    incomplete: dict[str, tuple[Note | None, tuple[str, ...]]] = {}
    with ExitStack() as stack:
        public: _Prelude | None = None
        for path in paths:
            source = read_source(path, sink, code="vendor-unreadable")
            if source is None:
                continue
            files.append(source.name)
            facts = cached.get(source.name)
            if facts is None:
                if public is None:
                    public = _parsed(headers, arguments, sink, stack)
                    if public is None:
                        return VendorSources()
                    cached.put(_PRELUDE, [public.unit])
                scan = FileScan(source, [*arguments, *public.including], public.renamed, namespaces, fixed)
                facts = scan.facts
                cached.put(source.name, scan.units, facts)
            functions += facts.functions
            if facts.hidden is not None:
                incomplete[source.name] = facts.hidden
    cached.save([_PRELUDE, *files])
    _report_incomplete(incomplete, report)
    return VendorSources(tuple(functions), tuple(files), tuple(incomplete))


def _tree_folders(directory: Path) -> list[Path]:
    """The headers that the tree `.../impl/NAME` builds with, where it was scaffolded: they know aliases of types."""
    root = directory.absolute().parent.parent
    chip = root / "generated/chip"
    if not chip.is_dir():
        return []
    copy = root / VENDORED_FOLDER
    brought = copy if copy.is_dir() else package_root()
    folders = ("generated/include", "runtime/include", "runtime/adaptor/include", "runtime/kernels/include")
    return [chip, *(brought / folder for folder in folders)]


def source_files(directory: Path) -> list[Path]:
    """The C++ and CUDA files of a vendor, sorted."""
    folders = [path for path in directory.glob("functions*") if path.is_dir()]
    found = [path for path in directory.glob("functions*") if path.suffix in _SUFFIXES and path.is_file()]
    for folder in folders or [directory]:
        found += [path for path in folder.rglob("*") if path.suffix in _SUFFIXES and path.is_file()]
    retained = [path for path in found if not _SKIPPED_FOLDERS & set(path.relative_to(directory).parts[:-1])]
    return sorted(set(retained), key=lambda path: path.parts)


@dataclass(frozen=True, slots=True)
class _Prelude:
    """The parsed public headers, the arguments that include them, and the names that they have given to types."""

    unit: Any
    including: Sequence[str]
    renamed: Mapping[str, str]


def _parsed(headers: Sequence[SourceText], arguments: Sequence[str], sink: Sink, stack: ExitStack) -> _Prelude | None:
    """The public headers, precompiled until `stack` closes; None after an error in one of them."""
    names = [source.name for source in headers]
    files = Files(headers)
    unit = parse_clean(names, files, sink, "c++", arguments, libclang.FOR_SERIALIZATION)
    if unit is None:
        return None
    including = stack.enter_context(_precompiled(unit, names))
    return _Prelude(unit, including, DeclarationReader(unit, files).renamed)


@contextmanager
def _precompiled(unit: Any, names: Sequence[str]) -> Iterator[list[str]]:
    """Arguments that include the public headers: precompiled (2 ms for each file), or as text (20 ms)."""
    as_text = [argument for name in names for argument in ("-include", str(Path(name).absolute()))]
    try:
        folder = tempfile.TemporaryDirectory(prefix="diopigen-")
    except OSError:
        yield as_text
        return
    with folder as path:
        file = str(Path(path) / "prelude.pch")
        try:
            unit.save(file)
        except libclang.load().TranslationUnitSaveError:
            yield as_text
        else:
            yield ["-include-pch", file]


def _report_incomplete(found: Mapping[str, tuple[Note | None, tuple[str, ...]]], report: Reporter) -> None:
    """One warning for each file with functions that were not seen, and one note for all other files with errors: nearly
    every file of a vendor has some where the SDK is missing."""
    harmless = {file: note for file, (note, names) in found.items() if not names}
    for file, (note, names) in found.items():
        if names:
            message = f"errors in '{file}' hide functions that are in its text: {', '.join(names)}"
            fix = "compile the file with the vendor's SDK; if these are macros or declarations, nothing"
            report("vendor-hidden", message, Span(file), notes=[note] if note else (), fix=fix)
    if harmless:
        first, note = next(iter(harmless.items()))
        message = f"{count(len(harmless), 'file')} with errors, for want of the SDK; no function in the text was missed"
        fix = "nothing; compare the count of functions with your own"
        report("vendor-parse-incomplete", message, Span(first), notes=[note] if note else (), fix=fix)


def check_impl(expected: CInterface, vendor: VendorSources, sink: Sink) -> tuple[str, ...]:
    """Checks a vendor's definitions against the interface; returns the implemented functions in its order.

    A definition with another signature counts as implemented. One next to a right one in the same
    namespace is an overload of the vendor's own, and no finding.
    """
    report = Reporter(RULES, sink)
    declared = {function.name: function for function in expected.functions}
    types = Types(expected, CInterface())
    by_name: dict[tuple[str, str], list[VendorFunction]] = {}
    for found in vendor.functions:
        by_name.setdefault((found.namespace, found.function.name), []).append(found)
    for (_, name), definitions in by_name.items():
        _duplicates(definitions, report)
        if name not in declared:
            like = nearest_function(name, declared)
            fix = f"did you mean '{like}'?" if like else "declare it in the spec, or make it static"
            for found in definitions:
                report("impl-orphan", f"no header declares '{name}'", found.function.span, fix=fix)
            continue
        differences = [_differences(declared[name], found.function, types) for found in definitions]
        right = [found for found, difference in zip(definitions, differences, strict=True) if not difference]
        for found, difference in zip(definitions, differences, strict=True):
            if not difference or any(_stand_together(found, other) for other in right):
                continue
            if not found.resolved:
                message = f"the signature of '{name}' uses types that are unknown here"
                fix = "compile the file with the vendor's SDK to check it"
                report("impl-unchecked", message, found.function.span, fix=fix)
                continue
            message = f"'{name}' {', '.join(difference)}"
            notes = [Note("declared here", declared[name].span)] if declared[name].span else ()
            fix = f"write '{prototype(declared[name])}'"
            report("impl-signature", message, found.function.span, notes=notes, fix=fix)
    implemented = {found.function.name for found in vendor.functions}
    return tuple(name for name in declared if name in implemented)


def signature_differences(expected: CFunction, found: CFunction, interface: CInterface) -> list[str]:
    """Describes the difference of a function's signature from that in an interface."""
    return _differences(expected, found, Types(interface, CInterface()))


def _differences(expected: CFunction, found: CFunction, types: Types) -> list[str]:
    """Describes the difference of a signature; const on a parameter itself is no part of it."""
    differences = []
    required, have = types.of_returns(expected, found)
    if required.without_top_const() != have.without_top_const():
        differences.append(f"returns '{found.returns}' in place of '{expected.returns}'")
    if len(expected.params) != len(found.params):
        differences.append(f"takes {count(len(found.params), 'parameter')} in place of {len(expected.params)}")
        return differences
    for index, (expected_param, param) in enumerate(zip(expected.params, found.params, strict=True)):
        required, have = types.of_params(expected_param, param)
        if required.without_top_const() != have.without_top_const():
            differences.append(
                f"takes '{param.type}' as {param_label(expected_param, index)} in place of '{expected_param.type}'"
            )
    return differences


def _stand_together(one: VendorFunction, other: VendorFunction) -> bool:
    """Returns whether one build can have both definitions."""
    spans = one.function.span, other.function.span
    in_one_file = spans[0] is not None and spans[1] is not None and spans[0].file == spans[1].file
    return not (in_one_file and branches.exclude_each_other(one.branch, other.branch))


def _duplicates(definitions: Sequence[VendorFunction], report: Reporter) -> None:
    earlier: dict[tuple[str, ...], list[VendorFunction]] = {}
    for found in definitions:
        function = found.function
        signature = ("C",) if found.c_linkage else tuple(param.resolved for param in function.params)
        first = next((other for other in earlier.get(signature, ()) if _stand_together(found, other)), None)
        earlier.setdefault(signature, []).append(found)
        if first is not None:
            report(
                "impl-duplicate",
                f"'{function.name}' is implemented twice",
                function.span,
                notes=[Note("first here", first.function.span)],
                fix="remove one of the two",
            )
