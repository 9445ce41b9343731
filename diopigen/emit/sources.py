"""Names in emitted files: the files that functions come from, the headers that declare them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from diopigen.emit.c_text import wrapped
from diopigen.ir.model import Function, Interface


def spec_files(interface: Interface, functions: Iterable[Function]) -> tuple[str, ...]:
    """The spec files of functions, sorted. Functions that were made without a file have none."""
    return tuple(sorted({interface.file_of[f.name] for f in functions if f.name in interface.file_of}))


def header_files(interface: Interface, functions: Iterable[Function]) -> list[str]:
    """The headers that declare functions, in the order of the interface."""
    declaring = {function.header for function in functions}
    return [header.file for header in interface.headers if header.file in declaring]


def by_family(functions: Iterable[Function]) -> dict[str, list[Function]]:
    """Functions by family, both in the order of the interface."""
    families: dict[str, list[Function]] = {}
    for function in functions:
        families.setdefault(function.family, []).append(function)
    return families


def family_values(interface: Interface, family: str, functions: Sequence[Function]) -> dict[str, Any]:
    """Common head of the templates of a family's sources."""
    return {
        "family": family,
        "sources": wrapped(", ".join(spec_files(interface, functions)) + ".", "// ", "// "),
        "headers": header_files(interface, functions),
    }
