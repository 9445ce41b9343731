"""Parses C headers with libclang.

Headers in the wild are not valid C: they use `size_t` and `bool` without including them, and include `<cstdint>`
whatever the language. So basic types are always there, and stub headers replace the standard ones. All
headers go into one translation unit, which is several times faster than one unit for each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from diopigen.diagnostics import Note, Sink, Span
from diopigen.header import libclang, stubs
from diopigen.header.cdecl import CInterface
from diopigen.header.declarations import DeclarationReader
from diopigen.header.rules import ERROR, Rule, Rules
from diopigen.header.source import SourceText, read_source

_UNIT = f"{stubs.FOLDER}/unit.h"

Language = Literal["c", "c++"]

RULES: Rules = {
    "header-unreadable": Rule(ERROR, "a header is missing, or is no UTF-8 text"),
    "libclang-missing": Rule(ERROR, "libclang, which reads every header, is not installed or does not load"),
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
    included: bool = False,
) -> CInterface | None:
    """Everything that the headers at `paths` declare, read as C11 or C++17; None after an error in `sink`.

    The folder of every header and the folder above it are searched for includes, so that a header parses alone
    that names its siblings as `"diopirt.h"` or `<diopi/diopirt.h>`. What siblings outside `paths` declare is
    known while parsing and left out of the result, unless `included` asks for it. `docs` reads the comments too, a
    third of the time. A parse with errors gives nothing, because clang then guesses types. Raises `Failure`
    (libclang-missing) where libclang does not load.
    """
    sources = read_all(paths, sink)
    if sources is None:
        return None
    files = Files(sources)
    includes = include_arguments([source.name for source in sources], include_dirs)
    unit = parse_clean([source.name for source in sources], files, sink, language, includes)
    if unit is None:
        return None
    if included:
        files = Files([*_included(unit), *sources])
    return DeclarationReader(unit, files).interface(tuple(source.name for source in sources), docs=docs)


def _included(unit: Any) -> Iterator[SourceText]:
    """The texts of the headers that a unit includes, without those of the standard; what is no text is left out."""
    names = dict.fromkeys(inclusion.include.name for inclusion in unit.get_includes())
    for name in names:
        source = None if name.startswith(stubs.FOLDER) else read_source(Path(name), Sink(), code="header-unreadable")
        if source is not None:
            yield source


def read_all(paths: Sequence[Path], sink: Sink) -> list[SourceText] | None:
    """The texts of all headers, each once; None where one is unreadable (all of those are reported)."""
    sources: dict[str, SourceText] = {}
    complete = True
    for path in paths:
        source = read_source(path, sink, code="header-unreadable")
        if source is None:
            complete = False
        elif re.search(r'["\n\r]', source.name):
            message = f"the path of {source.name!r} cannot be in an #include"
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


def parse_clean(
    names: Sequence[str], files: Files, sink: Sink, language: Language, arguments: Sequence[str], options: int = 0
) -> Any | None:
    """One translation unit that includes all files; None after reporting every error of severity error or worse."""
    unit = _parse(names, language, arguments, options)
    if not _errors(unit):
        return unit
    # In one unit a header that is cut off breaks the next one. So add them one by one to those that parse, and
    # hold back what follows from a header that is already known to be broken.
    good: list[str] = []
    broken: set[str] = set()
    for name in names:
        unit = _parse([*good, name], language, arguments, options)
        errors = _errors(unit)
        if not errors:
            good.append(name)
            continue
        included = {files(inclusion.include.name) for inclusion in unit.get_includes()}
        if not any(source is not None and source.name in broken for source in included):
            for error in errors:
                _report(error, name, files, sink)
        broken.add(name)
    return None


def _parse(names: Sequence[str], language: Language, arguments: Sequence[str], options: int) -> Any:
    text = "".join(f'#include "{Path(name).absolute()}"\n' for name in names)
    return (
        libclang.load()
        .Index.create()
        .parse(
            _UNIT,
            args=[*stubs.standard_arguments(language), *arguments],
            unsaved_files=[*stubs.stub_files(language), (_UNIT, text)],
            options=libclang.DETAILED_RECORD | libclang.SKIP_BODIES | options,
        )
    )


def _errors(unit: Any) -> list[Any]:
    return [diagnostic for diagnostic in unit.diagnostics if diagnostic.severity >= libclang.ERROR]


def _report(error: Any, name: str, files: Files, sink: Sink) -> None:
    """One `header-syntax`. An error behind the end of the file `name` is an error at its end."""
    location = error.location
    span = location_of(location, files)
    if location.file is not None and location.file.name == _UNIT:
        source = files(name)
        span = source.span(len(source.data), len(source.data)) if source else Span(name)
    notes = [
        Note(child.spelling, location_of(child.location, files))
        for child in error.children
        if child.location.file is not None and not child.spelling.startswith("in file included from")
    ]
    sink.error("header-syntax", error.spelling, span, fix=_fix(error.spelling), notes=notes)


def location_of(location: Any, files: Files) -> Span | None:
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
