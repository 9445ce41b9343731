"""The emitted headers are ABI-identical to the published interface, read as C and as C++."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from header_helpers import facts_interface

from diopigen.diagnostics import Sink
from diopigen.header.clang import Language, parse_headers
from diopigen.header.doc_drift import doc_drift
from diopigen.ir.model import Interface

ORDER = (
    "diopirt.h",
    "functions.h",
    "functions_ext.h",
    "functions_mmcv.h",
    "functions_lmdeploy.h",
    "functions_sparse.h",
)


def test_the_published_interface_is_part_of_the_spec(interface: Interface) -> None:
    """Every published function, in its header; a new operator comes on top."""
    mine = {function.name: function.header for function in interface.functions}
    published = {function.name: function.header for function in facts_interface().functions}
    assert {name: mine.get(name) for name in published} == published
    assert sum(len(header.functions) for header in interface.headers) == len(interface.functions)


@pytest.mark.parametrize("language", ["c", "c++"])
def test_emitted_headers_equal_the_facts(header_folder: Path, language: Language) -> None:
    sink = Sink()
    found = parse_headers([header_folder / "diopi" / name for name in ORDER], language=language, sink=sink)
    assert sink.sorted() == []
    assert found is not None
    expected = facts_interface()
    names = {f.name for f in expected.functions}
    published = [f for f in found.functions if f.name in names]
    assert [f.name for f in published] == [f.name for f in expected.functions]
    for mine, fact in zip(published, expected.functions, strict=True):
        assert mine == fact
        assert mine.header == fact.header
    enums = {enum.name: enum for enum in found.enums}
    for enum in expected.enums:  # values were added since
        own = enums[enum.name]
        assert replace(own, values=tuple(one for one in own.values if one in enum.values)) == enum
    assert {struct.name: struct for struct in found.structs} == {struct.name: struct for struct in expected.structs}
    assert set(found.typedefs) == set(expected.typedefs)
    macros = dict(found.macros)
    for name, body in expected.macros:
        if name == "DIOPI_VER_MINOR":
            assert int(macros[name]) >= int(body)  # functions were added since
        else:
            assert "".join(macros[name].split()) == "".join(body.split())


def test_comments_of_emitted_headers_agree_with_the_spec(header_folder: Path, interface: Interface) -> None:
    sink = Sink()
    found = parse_headers([header_folder / "diopi" / name for name in ORDER], sink=sink)
    assert found is not None
    directions = {(f.name, p.name): p.direction for f in interface.functions for p in f.params}
    doc_drift(found, sink, directions)
    assert [f"{d.span}: {d.message}" for d in sink.sorted()] == []


def test_every_function_and_parameter_is_documented(header_folder: Path, interface: Interface) -> None:
    sink = Sink()
    found = parse_headers([header_folder / "diopi" / name for name in ORDER], sink=sink)
    assert found is not None
    for function in found.functions:
        assert function.doc is not None and function.doc.brief.strip(), function.name
        named = [param.name for param in function.params if param.name]
        assert [param.name for param in function.doc.params] == named, function.name
        assert all(len(param.text) > 3 for param in function.doc.params), function.name
