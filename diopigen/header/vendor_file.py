"""The definitions of one source file of a vendor, read without the vendor's SDK.

Clang goes on after an include that it cannot find. Bodies are skipped, so that only signatures need their types;
where one of those is unknown, the function is marked and its signature is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Note
from diopigen.header import branches, libclang, stubs
from diopigen.header.cdecl import CFunction
from diopigen.header.clang import Files, location_of
from diopigen.header.declarations import DeclarationReader
from diopigen.header.source import SourceText

_FUNCTION = re.compile(r"diopi[A-Z0-9]\w*")
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
class FileFacts:
    """The definitions in a file. `hidden`, None without errors, has the first error that can hide functions, and
    functions of the text that were not seen."""

    functions: tuple[VendorFunction, ...]
    hidden: tuple[Note | None, tuple[str, ...]] | None


class FileScan:
    """One reading of a file; `facts` is what it found, `units` are the parses."""

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
        self.units = [self._read(None, found)]
        for path in branches.paths_of(self._branches, [offset for _, offset in self._unseen(found)], fixed):
            if any(self._branches.path(offset) == path for _, offset in self._unseen(found)):
                self.units.append(self._read(self._branches.choosing(path), found))
        names = {name for name, _ in found}
        unseen = [name for name, offset in self._unseen(found) if self._may_be_compiled(offset)]
        self._missed = tuple(dict.fromkeys(name for name in unseen if name not in names))
        functions = tuple(found[key] for key in sorted(found, key=lambda key: key[1]))
        self.facts = FileFacts(functions, self._hidden())

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

    def _hidden(self) -> tuple[Note | None, tuple[str, ...]] | None:
        """`FileFacts.hidden`. An include that is not found hides nothing by itself."""
        units = self.units if self._missed else self.units[:1]
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
