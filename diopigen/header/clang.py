"""Parses C headers with libclang.

Headers in the wild are not valid C: they use `size_t` and `bool` without including them, and include `<cstdint>`
whatever the language. So basic types are always there, and stub headers stand in for the standard ones. All
headers go into one translation unit, which is several times faster than one unit for each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from diopigen.diagnostics import Note, Sink, Span
from diopigen.header import libclang, stubs
from diopigen.header.cdecl import CInterface
from diopigen.header.declarations import DeclarationReader
from diopigen.header.rules import ERROR, Rule, Rules
from diopigen.header.source import SourceText, read_source

Language = Literal["c", "c++"]

RULES: Rules = {
    "header-unreadable": Rule(ERROR, "a header is missing, or is no UTF-8 text"),
    "header-syntax": Rule(ERROR, "a header does not parse, so that no type in it can be trusted"),
}


class Files:
    """Finds the text of a file by clang's name for it. Names of one file that differ (links, `..`) are one."""

    def __init__(self, sources: Sequence[SourceText]) -> None:
        self._by_path = {os.path.realpath(source.name): source for source in sources}
        self._known: dict[str, SourceText | None] = {}

    def __call__(self, name: str) -> SourceText | None:
        if name not in self._known:
            self._known[name] = self._by_path.get(os.path.realpath(name))
        return self._known[name]


def parse_headers(
    paths: Sequence[Path],
    *,
    language: Language = "c++",
    sink: Sink,
    include_dirs: Sequence[Path] = (),
    docs: bool = True,
) -> CInterface | None:
    """Everything that the headers at `paths` declare, read as C11 or C++17; None after an error in `sink`.

    The folder of every header and the folder above it are searched for includes, so that a header parses alone
    that names its siblings as `"diopirt.h"` or `<diopi/diopirt.h>`. What siblings outside `paths` declare is
    known while parsing and left out of the result. `docs` reads the comments too, a third of the time. A parse
    with errors gives nothing, because clang then guesses types. Raises `Failure` (libclang-missing) where
    libclang does not load.
    """
    sources = read_all(paths, sink)
    if sources is None:
        return None
    files = Files(sources)
    includes = include_arguments([source.name for source in sources], include_dirs)
    unit = parse_unit([source.name for source in sources], language, includes)
    if report_errors(unit, files, sink):
        return None
    return DeclarationReader(unit, files).interface(tuple(source.name for source in sources), docs=docs)


def read_all(paths: Sequence[Path], sink: Sink) -> list[SourceText] | None:
    """The texts of all headers, each once; None where one is unreadable (all of those are reported)."""
    sources: dict[str, SourceText] = {}
    complete = True
    for path in paths:
        source = read_source(path, sink, code="header-unreadable")
        if source is None:
            complete = False
        elif re.search(r'["\n\r]', source.name):
            message = f"the path of {source.name!r} cannot stand in an #include"
            sink.error("header-unreadable", message, Span(source.name), fix="rename the file or its folder")
            complete = False
        else:
            sources.setdefault(os.path.realpath(source.name), source)
    return list(sources.values()) if complete else None


def include_arguments(names: Sequence[str], include_dirs: Sequence[Path]) -> list[str]:
    """`-I` for the given folders, then for the folder of each file and for the one above it."""
    folders = [Path(folder).absolute() for folder in include_dirs]
    for name in names:
        folder = Path(name).absolute().parent
        folders += [folder, folder.parent]
    return [f"-I{folder}" for folder in dict.fromkeys(folders)]


def parse_unit(names: Sequence[str], language: Language, arguments: Sequence[str], options: int = 0) -> Any:
    """One translation unit that includes all files."""
    main = f"{stubs.FOLDER}/unit.h"
    text = "".join(f'#include "{Path(name).absolute()}"\n' for name in names)
    return (
        libclang.load()
        .Index.create()
        .parse(
            main,
            args=[*stubs.standard_arguments(language), *arguments],
            unsaved_files=[*stubs.stub_files(language), (main, text)],
            options=libclang.DETAILED_RECORD | libclang.SKIP_BODIES | options,
        )
    )


def report_errors(unit: Any, files: Files, sink: Sink) -> bool:
    """One `header-syntax` for each error that clang reports; whether there was one."""
    found = [diagnostic for diagnostic in unit.diagnostics if diagnostic.severity >= libclang.ERROR]
    for diagnostic in found:
        notes = [
            Note(child.spelling, place(child.location, files))
            for child in diagnostic.children
            if child.location.file is not None
        ]
        message = diagnostic.spelling
        sink.error("header-syntax", message, place(diagnostic.location, files), fix=_fix(message), notes=notes)
    return bool(found)


def place(location: Any, files: Files) -> Span | None:
    """The span of a clang location; columns count characters where the file's text is known."""
    if location.file is None:
        return None
    source = files(location.file.name)
    if source is None:
        return Span(location.file.name, location.line, location.column)
    line, column = source.position(location.offset)
    return Span(source.name, line, column)


def _fix(message: str) -> str:
    missing = re.fullmatch(r"'(.*)' file not found", message)
    if missing:
        return f"add the folder that holds '{missing[1]}' to the include directories"
    unknown = re.match(r"unknown type name '(.*)'", message)
    if unknown:
        return f"include the header that declares '{unknown[1]}', or correct the name"
    return "correct the header; nothing in it is compared until it parses"
