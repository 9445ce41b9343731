"""Gives snippets that are C headers to the code that compares headers."""

from __future__ import annotations

import textwrap
from pathlib import Path

import small_spec

from diopigen.diagnostics import Diagnostic, Sink
from diopigen.header.cdecl import CInterface
from diopigen.header.check import Version, read_version
from diopigen.header.clang import Language, parse_headers
from diopigen.header.contract_changes import version_changes
from diopigen.header.doc_drift import doc_drift
from diopigen.header.interface_diff import compare_interfaces
from diopigen.header.version_rule import check_version
from diopigen.ir.model import Interface
from diopigen.rulebook.examples import Example

TYPES = "typedef struct diopiTensor* Tensor;\ntypedef const struct diopiTensor* ConstTensor;\n"
"""Definitions that comments refer to; above the snippets."""
ENTRIES = "family: example\nheader: functions.h\noperators:\n"
DTYPES = {("diopiRelu", "input"): ("float32", "float64")}


def _interface(path: Path, text: str) -> CInterface:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    sink = Sink()
    language: Language = "c++" if " = " in text and "(" in text else "c"  # a default argument is C++
    found = parse_headers([path], language=language, sink=sink, docs=True)
    assert found is not None
    assert sink.sorted() == []
    return found


def breaking(example: Example, snippet: str, _: Interface, folder: Path) -> tuple[list[Diagnostic], int]:
    """Breaks of the snippet, relative to the header before."""
    sink = Sink()
    old, new = Version(_interface(folder / "old/a.h", example.good)), Version(_interface(folder / "a.h", snippet))
    version_changes(old, new, sink)
    check_version(old, new, sink.sorted(), sink)
    return sink.sorted(), 0


def contracts(example: Example, snippet: str, _: Interface, folder: Path) -> tuple[list[Diagnostic], int]:
    """Changes in the contract of an entry, relative to the entry before."""
    sink = Sink()
    versions = []
    for name, text in (("old", example.good), ("new", snippet)):
        small_spec.write(folder / name, ENTRIES + textwrap.indent(text, "  "))
        version = read_version(folder / name, sink)
        assert version is not None and sink.sorted() == []
        versions.append(version)
    old, new = versions
    version_changes(old, new, sink)
    check_version(old, new, (), sink)  # both have the types, and the version, of the real spec
    return sink.sorted(), ENTRIES.count("\n")


def header(example: Example, snippet: str, _: Interface, folder: Path) -> tuple[list[Diagnostic], int]:
    """Differences of the snippet from the header of the spec."""
    sink = Sink()
    expected = _interface(folder / "spec/a.h", example.good)
    compare_interfaces(expected, _interface(folder / "a.h", snippet), sink, expected_label="the spec")
    return sink.sorted(), 0


def comments(_: Example, snippet: str, __: Interface, folder: Path) -> tuple[list[Diagnostic], int]:
    """Errors in comments."""
    sink = Sink()
    doc_drift(_interface(folder / "a.h", TYPES + snippet), sink, {}, DTYPES)
    return sink.sorted(), TYPES.count("\n")
