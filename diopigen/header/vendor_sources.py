"""Finds the functions that a vendor implements, without the vendor's SDK, and checks them against the interface.

Clang goes on after an include that it cannot find. Bodies are skipped, so that only signatures need their types;
where one of those is unknown, the function is marked and its signature is not checked.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Note, Sink, Span
from diopigen.header import branches, libclang, stubs
from diopigen.header.cdecl import CFunction, CInterface
from diopigen.header.clang import Files, include_arguments, location_of, parse_clean, read_all
from diopigen.header.compare import Types, count, nearest_function, param_label, prototype
from diopigen.header.declarations import DeclarationReader
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.header.source import SourceText, read_source
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

_SUFFIXES = frozenset({".cc", ".cpp", ".cu", ".cxx"})
_SKIPPED_FOLDERS = frozenset({"build", "test", "tests", "third_party"})
_FUNCTION = re.compile(r"diopi[A-Z0-9]\w*")

# What nvcc knows by itself.
_DEVICE_WORDS = ("__global__", "__device__", "__host__", "__shared__", "__constant__", "__managed__", "__forceinline__")
_DEVICE_ARGUMENTS = [*(f"-D{word}=" for word in _DEVICE_WORDS), "-D__launch_bounds__(...)="]
# The word behind a kernel that compares it with the interface, which is what this scan does by itself.
_KERNEL_ARGUMENTS = ["-DDIOPIGEN_KERNEL(name)=static_assert(true)", "-DDIOPIGEN_ADAPTOR_KERNEL_H_"]

# Errors that say that a signature is wrong, and not that one of its types is unknown.
_CONFLICT = re.compile(
    r"conflicting types for|redefinition of|functions that differ only in their return type|"
    r"declaration of .* has a different language linkage"
)
_HIDES_NOTHING = re.compile(rf".*file not found$|{_CONFLICT.pattern}")
_LOOKS_DEFINED = re.compile(rb"\bdiopiError_t\s+(diopi[A-Z0-9]\w*)\s*\([^;{}]*\)\s*(?:try\s*)?\{")


@dataclass(frozen=True, slots=True)
class VendorFunction:
    """A definition. `namespace` is "" for the global one, `c_linkage` whether the symbol is the plain name.

    `resolved` is False where clang did not know a type of the signature, so that it may be wrong here. `branch` are the
    branches of `#if` that it is in.
    """

    function: CFunction
    namespace: str
    c_linkage: bool
    resolved: bool
    branch: branches.Path = ()


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
) -> VendorSources:
    """Finds the definitions of `diopi*` functions in a vendor's `.cpp`, `.cc`, `.cxx` and `.cu` files.

    `directory` is `impl/<vendor>`, of which the folders `functions*` count where there are any, or a folder that
    counts as a whole. The public headers `prelude` are included ahead of each file. `namespaces` are those that
    hold implementations (`impl::camb`) in addition to the global one; None takes every namespace with a name.
    `macros` (`NAME` or `NAME=VALUE`) are those of the vendor's build. Every branch of an `#if` that another macro
    chooses is read.
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
    header_files = Files(headers)
    unit = parse_clean(names, header_files, sink, "c++", arguments, libclang.FOR_SERIALIZATION)
    if unit is None:
        return VendorSources()
    renamed = DeclarationReader(unit, header_files).renamed
    functions: list[VendorFunction] = []
    files: list[str] = []
    incomplete: dict[str, tuple[Note | None, tuple[str, ...]]] = {}
    with _precompiled(unit, names) as including:
        for path in paths:
            source = read_source(path, sink, code="vendor-unreadable")
            if source is None:
                continue
            files.append(source.name)
            fixed = [macro.partition("=")[0] for macro in macros]
            scan = _FileScan(source, [*arguments, *including], renamed, namespaces, fixed)
            functions += scan.functions
            hidden = scan.hidden()
            if hidden is not None:
                incomplete[source.name] = hidden
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


class _FileScan:
    """The definitions of one file."""

    def __init__(
        self,
        source: SourceText,
        arguments: Sequence[str],
        renamed: Mapping[str, str],
        namespaces: Sequence[str] | None,
        fixed: Sequence[str],
    ) -> None:
        self._source = source
        self._files = Files([source])
        self._arguments = arguments
        self._renamed = renamed
        self._namespaces = namespaces
        self._fixed = fixed
        self._cindex = libclang.load()
        self._branches = branches.Branches(source.data)
        found: dict[tuple[str, int], VendorFunction] = {}
        self._units = [self._read(None, found)]
        for path in branches.paths_of(self._branches, [offset for _, offset in self._unseen(found)], fixed):
            if any(self._branches.path(offset) == path for _, offset in self._unseen(found)):
                self._units.append(self._read(self._branches.choosing(path), found))
        names = {name for name, _ in found}
        unseen = [name for name, offset in self._unseen(found) if self._may_be_compiled(offset)]
        self._missed = tuple(dict.fromkeys(name for name in unseen if name not in names))
        self.functions = [found[key] for key in sorted(found, key=lambda key: key[1])]

    def _read(self, text: bytes | None, found: dict[tuple[str, int], VendorFunction]) -> Any:
        """Adds the definitions of the file, or of a text in place of it, to `found`; returns the unit."""
        unit = self._parse(libclang.SKIP_BODIES, text)
        errors = _errors(unit)
        reader = DeclarationReader(unit, self._files, self._renamed)
        with_bodies: set[tuple[str, int]] | None = None
        for cursor, namespace in self._candidates(unit.cursor, ""):
            key = cursor.spelling, cursor.location.offset
            is_definition = key in found or self._is_definition(cursor)
            if is_definition is None:
                if with_bodies is None:
                    bodies = self._candidates(self._parse(0, text).cursor, "")
                    with_bodies = {(c.spelling, c.location.offset) for c, _ in bodies if c.is_definition()}
                is_definition = key in with_bodies
            if is_definition and key not in found:
                found[key] = self._function(cursor, namespace, reader, errors)
        return unit

    def _unseen(self, found: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        """Functions that the text seems to define and that are not in `found`, with their offsets."""
        looks = [(match[1].decode(), match.start(1)) for match in _LOOKS_DEFINED.finditer(self._branches.plain)]
        return [one for one in looks if one not in found]

    def _may_be_compiled(self, offset: int) -> bool:
        """Returns whether a position is in no branch, or in one that a macro without a value of the user's chooses."""
        path = self._branches.path(offset)
        return not path or self._branches.is_open(path, self._fixed)

    def _parse(self, options: int, text: bytes | None) -> Any:
        name = str(Path(self._source.name).absolute())
        own = [] if text is None else [(name, text.decode("utf-8"))]
        # Without what the precompiled headers declare: walking over that takes ten times as long as the parse.
        return self._cindex.Index.create(excludeDecls=True).parse(
            name,
            args=[*stubs.standard_arguments("c++"), *self._arguments],
            unsaved_files=[*stubs.stub_files("c++"), *own],
            options=libclang.KEEP_GOING | libclang.INCOMPLETE | options,
        )

    def _candidates(self, cursor: Any, namespace: str) -> Iterator[tuple[Any, str]]:
        """Functions of the interface's form that other files can see, with their namespaces."""
        kinds = self._cindex.CursorKind
        for child in cursor.get_children():
            file = child.location.file
            if file is None or self._files(file.name) is None:
                continue
            if child.kind == kinds.NAMESPACE:
                if child.spelling:
                    inner = f"{namespace}::{child.spelling}" if namespace else child.spelling
                    yield from self._candidates(child, inner)
            elif child.kind in (kinds.LINKAGE_SPEC, kinds.UNEXPOSED_DECL):
                yield from self._candidates(child, namespace)
            elif (
                child.kind == kinds.FUNCTION_DECL
                and _FUNCTION.fullmatch(child.spelling)
                and child.linkage == self._cindex.LinkageKind.EXTERNAL
                and (not namespace or self._namespaces is None or namespace in self._namespaces)
            ):
                yield child, namespace

    def _is_definition(self, cursor: Any) -> bool | None:
        """Returns whether a body follows. Clang does not say so of skipped bodies, so the text does; None where it does
        not."""
        name, offset = cursor.spelling, cursor.location.offset
        if self._source.data.startswith(name.encode(), offset):
            following = self._source.data[cursor.extent.end.offset :][:200].lstrip()
            if following.startswith((b"{", b"try")):
                return True
            if following.startswith(b";"):
                return False
        return None

    def _function(
        self, cursor: Any, namespace: str, reader: DeclarationReader, errors: Sequence[Any]
    ) -> VendorFunction:
        function = reader.function(cursor, self._source, with_doc=False)
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        unknown = libclang.is_invalid(cursor) and any(
            start <= error.location.offset <= end
            and error.location.file is not None
            and self._files(error.location.file.name) is not None
            and not _CONFLICT.match(error.spelling)
            for error in errors
        )
        branch = self._branches.path(cursor.location.offset)
        return VendorFunction(function, namespace, cursor.mangled_name == cursor.spelling, not unknown, branch)

    def hidden(self) -> tuple[Note | None, tuple[str, ...]] | None:
        """The first error that can hide functions, and functions of the text that were not seen; None without errors.

        An include that is not found hides nothing by itself.
        """
        units = self._units if self._missed else self._units[:1]
        errors = [error for unit in units for error in _errors(unit)]
        hiding = [e for e in errors if not (_HIDES_NOTHING.match(e.spelling) or _is_in_kernel_library(e))]
        if not hiding:
            return None
        return Note(hiding[0].spelling, location_of(hiding[0].location, self._files)), self._missed


def _errors(unit: Any) -> list[Any]:
    return [diagnostic for diagnostic in unit.diagnostics if diagnostic.severity >= libclang.ERROR]


def _is_in_kernel_library(error: Any) -> bool:
    """Returns whether the place of an error is a header that diopigen brought along: they ask more of the standard
    library than what the scan has of it, and define none of the vendor's functions."""
    file = error.location.file
    return file is not None and any(part in ("diopigen", "diopigen_kernels") for part in Path(file.name).parts[-3:-1])


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
