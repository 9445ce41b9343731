"""The whole interface, written as headers in the style of the wild, comes back as the facts it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from header_helpers import facts_interface, load_facts, shown, synthesise

from diopigen.diagnostics import Sink
from diopigen.header import clang
from diopigen.header.clang import Language, parse_headers
from diopigen.header.interface_diff import compare_interfaces


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return synthesise(tmp_path_factory.mktemp("wild") / "include" / "diopi")


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_whole_interface_comes_back(headers: list[Path], language: Language) -> None:
    sink = Sink()
    found = parse_headers(headers, language=language, sink=sink)
    assert shown(sink) == []
    assert found is not None
    expected = facts_interface()
    assert found.functions == expected.functions
    assert found.enums == expected.enums
    assert found.structs == expected.structs
    assert found.typedefs == expected.typedefs
    assert found.macros == expected.macros
    assert [f.header for f in found.functions] == [f.header for f in expected.functions]


@pytest.mark.parametrize("language", ["c", "c++"])
def test_the_whole_interface_has_no_differences_from_its_facts(headers: list[Path], language: Language) -> None:
    sink = Sink()
    found = parse_headers(headers, language=language, sink=sink)
    assert found is not None
    compare_interfaces(facts_interface(), found, sink, expected_label="the facts")
    assert shown(sink) == []


def test_every_name_stands_where_its_span_says(headers: list[Path]) -> None:
    lines = {str(path): path.read_text(encoding="utf-8").split("\n") for path in headers}
    found = parse_headers(headers, sink=Sink())
    assert found is not None
    seen = 0
    unnamed = 0
    for function in found.functions:
        named = [(function.name, function.span), *((p.name or p.type, p.span) for p in function.params)]
        assert function.doc is not None
        named += [(p.name, p.span) for p in function.doc.params]
        unnamed += sum(not p.name for p in function.params)
        for name, span in named:
            assert span is not None
            assert span.line == span.end_line
            assert lines[span.file][span.line - 1][span.column - 1 : span.end_column - 1] == name
            seen += 1
    params = sum(len(function.params) for function in found.functions)
    assert unnamed == 2  # and so no documentation
    assert seen == len(found.functions) + params + params - unnamed


@pytest.mark.parametrize("header", ["functions.h", "functions_ext.h", "functions_mmcv.h", "functions_sparse.h"])
def test_a_header_parses_alone(headers: list[Path], header: str) -> None:
    sink = Sink()
    path = next(path for path in headers if path.name == header)
    found = parse_headers([path], language="c", sink=sink)
    assert shown(sink) == []
    assert found is not None
    assert [f.name for f in found.functions] == [f["name"] for f in load_facts()[header]["functions"]]
    assert (found.enums, found.structs, found.typedefs, found.macros) == ((), (), (), ())
    assert {"diopiTensorHandle_t", "diopi_dtype_float32", "diopiGetTensorData"} <= found.visible


def test_resolved_types_look_behind_typedefs(headers: list[Path]) -> None:
    found = parse_headers(headers, sink=Sink(), docs=False)
    assert found is not None
    add = next(f for f in found.functions if f.name == "diopiAdd")
    assert [(p.name, p.resolved) for p in add.params] == [
        ("ctx", "diopiContext *"),
        ("out", "diopiTensor *"),
        ("input", "const diopiTensor *"),
        ("other", "const diopiTensor *"),
        ("alpha", "const diopiScalar_t *"),
    ]
    assert add.doc is None


def test_the_whole_interface_is_one_unit_without_system_headers(
    headers: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reasons for a fast parse: system headers, or a unit for each header, take ten times as long."""
    units = []
    parse = clang._parse

    def counted(*words: Any) -> Any:
        units.append(parse(*words))
        return units[-1]

    monkeypatch.setattr(clang, "_parse", counted)
    parse_headers(headers, sink=Sink(), docs=False)
    (unit,) = units
    included = [Path(inclusion.include.name) for inclusion in unit.get_includes()]
    assert {path for path in included if path in set(headers)} == set(headers)
    assert [path for path in included if path.is_relative_to("/usr")] == []
