"""The cache of scans: definitions in a vendor's file come from it while all that they follow from is as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from vendor_folder import BODY, FUNCTIONS, PRELUDE, RUNTIME, scan, write

from diopigen.diagnostics import Sink
from diopigen.header import vendor_sources
from diopigen.header.source import SourceText
from diopigen.header.vendor_file import FileScan

LONG_AGO = 1_000_000_000
SIN = "impl/camb/functions/sin.cpp"
COS = "impl/camb/functions/cos.cpp"


def put(name: str, text: str) -> None:
    """Writes a file that no scan can have read while it was written."""
    os.utime(write(name, text), (LONG_AGO, LONG_AGO))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIOPIGEN_CACHE", str(tmp_path / "cache"))
    put("include/diopi/diopirt.h", RUNTIME)
    put("include/diopi/functions.h", FUNCTIONS)
    put("impl/camb/common.h", "#define NAME diopiSin\n#include <sdk.h>\n")
    put(SIN, f'#include "../common.h"\nextern "C" diopiError_t NAME{BODY}')
    put(COS, f'#include "diopirt.h"\nextern "C" diopiError_t diopiCos{BODY}')


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that clang reads from here on."""
    files: list[str] = []

    class Counted(FileScan):
        def __init__(self, source: SourceText, *rest: Any) -> None:
            files.append(source.name)
            super().__init__(source, *rest)

    monkeypatch.setattr(vendor_sources, "FileScan", Counted)
    return files


def names() -> list[str]:
    return sorted(found.function.name for found in scan(Sink()).functions)


def test_a_second_scan_reads_nothing_and_finds_the_same(read: list[str]) -> None:
    first = scan(Sink())
    assert read == [COS, SIN]
    assert scan(Sink()) == first
    assert read == [COS, SIN]


def _header_of_the_source() -> None:
    put("impl/camb/common.h", "#define NAME diopiFill\n")


def _header_that_was_missing() -> None:
    put("impl/camb/sdk.h", "#undef NAME\n#define NAME diopiFill\n")


def _header_in_an_earlier_folder() -> None:
    put("impl/camb/functions/diopirt.h", "#define diopiCos diopiFill\n")


@pytest.mark.parametrize(
    ("change", "parsed", "found"),
    [
        (lambda: put(COS, f'extern "C" diopiError_t diopiFill{BODY}'), [COS], ["diopiFill", "diopiSin"]),
        (_header_of_the_source, [SIN], ["diopiCos", "diopiFill"]),
        (_header_that_was_missing, [SIN], ["diopiCos", "diopiFill"]),
        (_header_in_an_earlier_folder, [COS], ["diopiFill", "diopiSin"]),
        (lambda: Path(SIN).unlink(), [], ["diopiCos"]),
        (lambda: put("impl/camb/functions/fill.cpp", f'extern "C" diopiError_t diopiFill{BODY}'),
         ["impl/camb/functions/fill.cpp"], ["diopiCos", "diopiFill", "diopiSin"]),
        (lambda: put("include/diopi/diopirt.h", RUNTIME + "\n#define diopiSin diopiTan\n"), [COS, SIN],
         ["diopiCos", "diopiTan"]),
    ],
)  # fmt: skip
def test_what_changed_is_read_again(
    read: list[str], change: Callable[[], object], parsed: list[str], found: list[str]
) -> None:
    assert names() == ["diopiCos", "diopiSin"]
    read.clear()
    change()
    assert names() == found
    assert read == parsed
    read.clear()
    assert names() == found
    assert read == []


@pytest.mark.parametrize(
    "text",
    [
        f'#define HEADER "../common.h"\n#include HEADER\nextern "C" diopiError_t NAME{BODY}',
        f'#if __has_include("fast.h")\n#endif\n#include "../common.h"\nextern "C" diopiError_t NAME{BODY}',
    ],
)
def test_an_include_that_the_text_does_not_tell_is_read_each_time(read: list[str], text: str) -> None:
    put(SIN, text)
    for _ in range(2):
        read.clear()
        assert names() == ["diopiCos", "diopiSin"]
        assert SIN in read


def test_a_file_that_may_have_changed_during_the_scan_is_not_stored(read: list[str]) -> None:
    Path(SIN).touch()
    names()
    read.clear()
    names()
    assert read == [SIN]


def test_findings_of_a_scan_come_again(read: list[str]) -> None:
    put(
        COS,
        'extern "C" diopiError_t diopiCos(Unknown c) { return diopiSuccess; }\nNONSENSE(\ndiopiError_t diopiSum() {}',
    )
    sinks = [Sink(), Sink()]
    for sink in sinks:
        scan(sink)
    assert sinks[0].sorted() == sinks[1].sorted()
    assert sinks[0].sorted()
    assert read == [COS, SIN]


def test_headers_that_do_not_parse_are_reported_each_time() -> None:
    put(str(PRELUDE[0]), "int (")
    for _ in range(2):
        sink = Sink()
        scan(sink)
        assert sink.has_errors


def test_macros_and_namespaces_have_entries_of_their_own() -> None:
    put(SIN, f"#ifdef FAST\nnamespace impl {{ namespace camb {{ diopiError_t diopiSin{BODY} }} }}\n#endif\n")
    inside = scan(Sink(), ["impl::camb"])
    assert [found.function.name for found in inside.functions] == ["diopiCos", "diopiSin"]
    assert [found.function.name for found in scan(Sink(), ["impl::other"]).functions] == ["diopiCos"]


HEADERS = ["impl/camb/a.h", "impl/camb/functions/a.h", "impl/a.h", "impl/camb/include/a.h", "impl/camb/b.h"]
INCLUDES = [
    '#include "a.h"', "#include <a.h>", '#include "../b.h"', '#if 0\n#include "b.h"\n#endif',
    '#define H "a.h"\n#include H', '/*\n#include "b.h"\n*/', '#if __has_include("a.h")\n#include "b.h"\n#endif',
]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_after_any_edits_the_cache_gives_what_a_new_scan_gives(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    random = Random(seed)
    for step in range(30):
        path = random.choice([*HEADERS, SIN, COS])
        macro = f"#define NAME diopi{random.choice(['Sin', 'Cos', 'Sum', 'Fill'])}\n"
        include = random.choice(INCLUDES)
        if Path(path).exists() and random.random() < 0.25:
            Path(path).unlink()
        elif path in HEADERS:
            write(path, f'#pragma once\n#include "b.h"\n#undef NAME\n{macro}')
        else:
            write(path, f'{macro}{include}\nextern "C" diopiError_t NAME{BODY}')
        if Path(path).exists():
            os.utime(path, (LONG_AGO + step, LONG_AGO + step))
        cached = [scan(Sink()) for _ in range(2)]
        with monkeypatch.context() as without:
            without.setenv("DIOPIGEN_CACHE", "off")
            expected = scan(Sink())
        assert cached == [expected, expected]
