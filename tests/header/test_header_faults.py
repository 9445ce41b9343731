"""Headers that cannot be read, and a libclang that is not there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsing import BOTH, findings, write
from sampling import examples

from diopigen.diagnostics import Failure, Severity, Sink
from diopigen.header import breaking, clang, doc_drift, interface_diff, libclang, vendor_sources
from diopigen.header.clang import Language, parse_headers


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("language", BOTH)
def test_syntax_errors_are_all_reported(language: Language) -> None:
    header = write(
        "bad.h",
        """\
/* 量 */ void a(diopiTensor_t t);
struct S { what x; };
#include <no/such.h>
""",
    )
    assert findings(header, language=language) == [
        "bad.h:1:16: error header-syntax: unknown type name 'diopiTensor_t'"
        " | include the header that declares 'diopiTensor_t', or correct the name",
        "bad.h:2:12: error header-syntax: unknown type name 'what'"
        " | include the header that declares 'what', or correct the name",
        "bad.h:3:10: error header-syntax: 'no/such.h' file not found"
        " | add the folder that holds 'no/such.h' to the include directories",
    ]


def test_a_truncated_header() -> None:
    header = write("cut.h", 'extern "C" {\nint first(int a);\nint second(int a, con')
    fix = " | correct the header; nothing in it is compared until it parses"
    assert findings(header) == [
        "cut.h:3:19: error header-syntax: unknown type name 'con'"
        " | include the header that declares 'con', or correct the name",
        f"cut.h:3:22: error header-syntax: expected ')'{fix} | cut.h:3:11: to match this '('",
        f"cut.h:3:22: error header-syntax: expected '}}'{fix} | cut.h:1:12: to match this '{{'",
        f"cut.h:3:22: error header-syntax: expected function body after function declarator{fix}",
    ]


def test_what_follows_from_a_broken_header_is_held_back() -> None:
    """The open brace of the first header must not be looked for in the next, nor its types be missed there."""
    cut = write("cut.h", 'typedef int Before;\nextern "C" {\nint first(int a);\n')
    user = write("user.h", '#include "cut.h"\nint f(Before a, After b);\n')
    alone = write("alone.h", "int g(Nothing x);\n")
    assert findings(cut, user, alone) == [
        "alone.h:1:7: error header-syntax: unknown type name 'Nothing'"
        " | include the header that declares 'Nothing', or correct the name",
        "cut.h:4:1: error header-syntax: expected '}'"
        " | correct the header; nothing in it is compared until it parses | cut.h:2:12: to match this '{'",
    ]


def test_an_error_in_an_included_file_points_there() -> None:
    inner = write("inner.h", "int f(nothing x);\n").absolute()
    assert findings(write("outer.h", '#include "inner.h"\n')) == [
        f"{inner}:1:7: error header-syntax: unknown type name 'nothing'"
        " | include the header that declares 'nothing', or correct the name"
    ]


def test_conflicting_declarations_name_the_first() -> None:
    header = write("two.h", "int f(int a);\nint f(float a);\n")
    assert findings(header, language="c") == [
        "two.h:2:5: error header-syntax: conflicting types for 'f'"
        " | correct the header; nothing in it is compared until it parses"
        " | two.h:1:5: previous declaration is here"
    ]


def test_unreadable_files_are_all_reported() -> None:
    good = write("good.h", "int f(void);\n")
    Path("folder").mkdir()
    os.mkfifo("pipe.h")
    binary = write("binary.h", b"int f(void);\n\x7fELF\x00\x00")
    latin = write("latin.h", "int 名(void); // caf".encode() + b"\xe9\n")
    quote = write('q"uote.h', "int f(void);\n")
    assert findings(good, Path("no/such.h"), Path("folder"), Path("pipe.h"), binary, latin, quote) == [
        "binary.h:2:5: error header-unreadable: 'binary.h' is binary: it holds a zero byte"
        " | give the path of a C or C++ source text",
        "folder:1:1: error header-unreadable: 'folder' is a directory | give the files in it, one by one",
        "latin.h:1:20: error header-unreadable: 'latin.h' is not UTF-8: byte 0xe9 | save the file as UTF-8",
        "no/such.h:1:1: error header-unreadable: 'no/such.h' does not exist | correct the path",
        "pipe.h:1:1: error header-unreadable: 'pipe.h' is not a regular file | give the path of a text file",
        "q\"uote.h:1:1: error header-unreadable: the path of 'q\"uote.h' cannot be in an #include"
        " | rename the file or its folder",
    ]


def test_odd_paths_are_findings() -> None:
    long = Path("x" * 300 + ".h")
    under = write("file.h", "") / "below.h"
    undecodable = Path(os.fsdecode(b"bad\xff.h"))
    assert findings(long, under, undecodable) == [
        "bad\ufffd.h:1:1: error header-unreadable: the name of 'bad\ufffd.h' is not UTF-8 | rename the file",
        "file.h/below.h:1:1: error header-unreadable: 'file.h/below.h' cannot be read: Not a directory"
        " | correct the path",
        f"{long}:1:1: error header-unreadable: '{long}' cannot be read: File name too long | correct the path",
    ]


def test_a_file_without_read_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refusal is simulated: tests may run as root, whom nothing is refused."""
    header = write("locked.h", "int f(void);\n")

    def reject(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", reject)
    assert findings(header) == [
        "locked.h:1:1: error header-unreadable: 'locked.h' may not be read | give yourself read permission"
    ]


COMPLETE = """\
#ifndef A_H
#define A_H
#include <stddef.h>
typedef enum { A = 1, B } E;  // 值
typedef struct S_ { union { double f; int64_t i; }; E e; } S;
/** @param[in] s 和 diopiF */
__attribute__((weak)) int diopiF(const S* s, size_t n, int (*call)(void));
#endif
""".encode()


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cut=st.integers(0, len(COMPLETE)),
    skip=st.integers(0, 40),
    inserted=st.one_of(st.binary(max_size=4), st.sampled_from([b"{", b"}", b"(", b"#if", b'"', b"/*", b"\\\n", b"::"])),
)
def test_a_damaged_header_is_read_or_reported(cut: int, skip: int, inserted: bytes) -> None:
    header = write("damaged.h", COMPLETE[:cut] + inserted + COMPLETE[cut + skip :])
    for language in BOTH:
        sink = Sink()
        found = parse_headers([header], language=language, sink=sink)
        assert (found is None) == sink.has_errors
        for diagnostic in sink.sorted():
            assert diagnostic.code in ("header-syntax", "header-unreadable")
            assert diagnostic.span is not None
            assert diagnostic.span.file == "damaged.h"
            assert diagnostic.fix


# The library ----------------------------------------------------------------------------------------------------


@pytest.fixture
def _fresh_library() -> object:
    libclang.load.cache_clear()
    yield
    libclang.load.cache_clear()


@pytest.mark.usefixtures("_fresh_library")
def test_without_the_package_the_failure_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clang.cindex", None)
    monkeypatch.setitem(sys.modules, "clang", None)
    with pytest.raises(Failure) as caught:
        parse_headers([write("a.h", "int f(void);\n")], sink=Sink())
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("libclang-missing", Severity.ERROR)
    assert diagnostic.message == "the Python package libclang is not installed"
    assert diagnostic.fix == "pip install libclang==18.1.1"


def test_a_library_that_does_not_load_is_a_failure(tmp_path: Path) -> None:
    """In a process of its own: a library once loaded stays."""
    program = f"""
import clang.cindex
clang.cindex.Config.set_library_file({str(write("libclang.so", "no library").absolute())!r})
from diopigen.diagnostics import Failure
from diopigen.header.libclang import load
try:
    load()
except Failure as failure:
    (diagnostic,) = failure.diagnostics
    print(diagnostic.code, "|", diagnostic.message.split(":")[0], "|", diagnostic.fix)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "libclang-missing | libclang does not load | pip install libclang==18.1.1\n"


def test_importing_the_package_does_not_import_clang() -> None:
    program = (
        "import sys, pkgutil, importlib, diopigen.header as h\n"
        "[importlib.import_module('diopigen.header.' + m.name) for m in pkgutil.iter_modules(h.__path__)]\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'clang'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_no_rule_id_stands_for_two_rules() -> None:
    tables = [clang.RULES, interface_diff.RULES, breaking.RULES, doc_drift.RULES, vendor_sources.RULES]
    ids = [rule for table in tables for rule in table]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule) for rule in ids)
