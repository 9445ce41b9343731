"""Single headers, good and bad."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from header_helpers import shown
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diopigen.diagnostics import Failure, Severity, Sink, Span
from diopigen.header import breaking, clang, doc_drift, interface_diff, libclang, vendor
from diopigen.header.cdecl import CEnum, CField, CFunction, CInterface, CParam, CStruct, CTypedef
from diopigen.header.clang import Language, parse_headers

BOTH: list[Language] = ["c", "c++"]


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def parse(text: str, language: Language = "c++", *, name: str = "a.h") -> CInterface:
    sink = Sink()
    found = parse_headers([write(name, text)], language=language, sink=sink)
    assert shown(sink) == []
    assert found is not None
    return found


def findings(*paths: Path, language: Language = "c++") -> list[str]:
    sink = Sink()
    assert parse_headers(paths, language=language, sink=sink) is None
    return shown(sink)


# Functions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", BOTH)
def test_linkage_and_deprecation_behind_macros(language: Language) -> None:
    found = parse(
        """\
#define DIOPI_API __attribute__((weak))
#define OLD(text) __attribute__((__deprecated__(text)))
DIOPI_API int a(void);
int b(void);
OLD("call a(int) instead; this was weak") int c(void);
extern OLD("x") DIOPI_API int d(void);
int e(void) __attribute__((__weak__));
""",
        language,
    )
    assert [(f.name, f.weak, f.deprecated) for f in found.functions] == [
        ("a", True, False),
        ("b", False, False),
        ("c", False, True),
        ("d", True, True),
        ("e", True, False),
    ]
    assert [f.returns for f in found.functions] == ["int"] * 5


@pytest.mark.parametrize("language", BOTH)
def test_parameters_of_every_form(language: Language) -> None:
    found = parse(
        """\
typedef struct T_ { int64_t n; } T;
void plain(const bool flag, const T* const* list, unsigned long n, const int64_t);
void unnamed(const bool, unsigned long, struct T_, void**, const char* const);
void arrays(const float values[3], T* list[], int64_t grid[2][3]);
void callback(int (*visit)(T*, size_t), void* data);
void variadic(const char* format, ...);
""",
        language,
    )
    assert [[(p.type, p.name) for p in f.params] for f in found.functions] == [
        [("const bool", "flag"), ("const T *const *", "list"), ("unsigned long", "n"), ("const int64_t", "")],
        [("const bool", ""), ("unsigned long", ""), ("T", ""), ("void **", ""), ("const char *const", "")],
        [("const float *", "values"), ("T **", "list"), ("int64_t[3] *", "grid")],
        [("int ( *)(T *, size_t)", "visit"), ("void *", "data")],
        [("const char *", "format"), ("...", "...")],
    ]
    plain = found.functions[0]
    assert [p.resolved for p in plain.params] == ["const bool", "const T *const *", "unsigned long", "const long"]
    assert [str(p.span) for p in plain.params] == ["a.h:2:23", "a.h:2:45", "a.h:2:65", "a.h:2:68"]
    assert [str(p.span) for p in found.functions[2].params] == ["a.h:4:25", "a.h:4:39", "a.h:4:55"]


def test_functions_that_are_no_interface_are_left_out() -> None:
    found = parse(
        """\
#include <string.h>
static inline int helper(int x) { return x; }
namespace other { void inner(); }
#ifdef NEVER
void hidden();
#endif
extern "C" { extern "C" { void nested(); } }
void nested();
template <typename T> void generic(T);
"""
    )
    assert [(f.name, str(f.span)) for f in found.functions] == [("nested", "a.h:7:32")]


def test_functions_out_of_a_macro_point_at_its_use() -> None:
    found = parse("#define OP(name) int name(const float x, int n)\n\nOP(first);\n  OP(second);\n")
    assert found.functions == (
        CFunction("first", "int", (CParam("x", "const float"), CParam("n", "int")), weak=False),
        CFunction("second", "int", (CParam("x", "const float"), CParam("n", "int")), weak=False),
    )
    assert [f.span for f in found.functions] == [Span("a.h", 3, 1, 3, 10), Span("a.h", 4, 3, 4, 13)]
    assert found.functions[0].params[1].span == Span("a.h", 3, 1, 3, 10)


def test_comments_inside_a_declaration_do_not_move_spans() -> None:
    found = parse("int f(int a /* b, c) */, // d\n      int /* a */ b);\n")
    assert [(p.name, p.span) for p in found.functions[0].params] == [
        ("a", Span("a.h", 1, 11, 1, 12)),
        ("b", Span("a.h", 2, 19, 2, 20)),
    ]


def test_columns_count_characters() -> None:
    found = parse(
        """\
/* 张量 */ /** @brief 求和。 @param[in] n 数 */ int sum(/* 数 */ int n); enum E { /* 值 */ one = 1 };
"""
    )
    function = found.functions[0]
    assert function.span == Span("a.h", 1, 47, 1, 50)
    assert function.params[0].span == Span("a.h", 1, 63, 1, 64)
    assert function.doc is not None
    assert (function.doc.brief, function.doc.span) == ("求和。", Span("a.h", 1, 10, 1, 42))
    assert [(p.name, p.text, p.span) for p in function.doc.params] == [("n", "数", Span("a.h", 1, 36, 1, 37))]
    assert found.enums[0].value_spans == (Span("a.h", 1, 84, 1, 87),)


def test_a_byte_order_mark_has_no_width() -> None:
    found = parse("\ufeffint f(int n);\r\nint g(int n);\r\n")
    assert [f.span for f in found.functions] == [Span("a.h", 1, 5, 1, 6), Span("a.h", 2, 5, 2, 6)]


# Types and macros -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", BOTH)
def test_enums_structs_and_typedefs(language: Language) -> None:
    found = parse(
        """\
typedef enum { Low = -1, High } Level;
enum Named { Big = 4294967295U };
typedef struct Size_ { const int64_t* data; int64_t len; } Size;
struct Mixed {
  char tag;
  union { double f; struct { int32_t lo, hi; }; };
  struct { bool on; } inner;
  unsigned a : 3, b : 5;
} __attribute__((packed));
struct Later;
typedef struct Opaque* Handle;
typedef const struct Opaque* ConstHandle;
struct Later { Size size; };
typedef int8_t Index;
typedef Index Alias;
""",
        language,
    )
    assert found.enums == (
        CEnum("Level", (("Low", -1), ("High", 0)), "int"),
        CEnum("Named", (("Big", 4294967295),)),
    )
    assert found.structs == (
        CStruct("Size", False, 16, 8, (CField("data", "const int64_t *", 0), CField("len", "int64_t", 8))),
        CStruct(
            "Mixed",
            False,
            11,
            1,
            (
                CField("tag", "char", 0),
                CField("f", "double", 1),
                CField("lo", "int32_t", 1),
                CField("hi", "int32_t", 5),
                CField("inner", "(unnamed)", 9),
                CField("inner.on", "bool", 9),
                CField("a", "unsigned int : 3", 10),
                CField("b", "unsigned int : 5", 10),
            ),
        ),
        CStruct("Later", False, 16, 8, (CField("size", "Size", 0),)),
        CStruct("Opaque", True),
    )
    assert found.typedefs == (
        CTypedef("Level", "Level"),
        CTypedef("Size", "Size"),
        CTypedef("Handle", "Opaque *"),
        CTypedef("ConstHandle", "const Opaque *"),
        CTypedef("Index", "int8_t"),
        CTypedef("Alias", "Index"),
    )


@pytest.mark.parametrize(
    "guard",
    [
        "#ifndef A_H\n#define A_H\n",
        "// (c)\n/* x */\n\n#  ifndef A_H /* y */\n// z\n#\tdefine A_H\n",
        "#pragma once\n#if !defined(A_H)\n#define A_H\n",
    ],
)
def test_macros_without_parameters_and_without_the_guard(guard: str) -> None:
    found = parse(
        guard
        + """\
#define ONE 1 // one
#define EMPTY
#define SUM (ONE+ /* and */ 2)
#define TWICE(x) ((x) * 2)
#undef EMPTY
#define ONE 3
#if 0
#define NEVER 1
#endif
#endif
"""
    )
    assert found.macros == (("ONE", "3"), ("EMPTY", ""), ("SUM", "( ONE + 2 )"))
    assert [name for name, _ in found.macro_spans] == ["ONE", "EMPTY", "SUM"]


def test_a_file_of_slashes_and_stars_is_read_in_linear_time() -> None:
    """A search for the guard that tried every way to split this would not end."""
    assert parse("//" * 5000 + "\n" + "/**/" * 5000 + "\nint f(int n);\n").functions[0].name == "f"


# Several files --------------------------------------------------------------------------------------------------


def test_siblings_are_found_and_only_given_files_collected() -> None:
    write("include/diopi/rt.h", "#pragma once\ntypedef struct Ctx* Handle;\nvoid inRt(Handle h);\n")
    first = write("include/diopi/a.h", '#include "rt.h"\nvoid inA(Handle h);\n')
    second = write("include/diopi/b.h", "#include <diopi/rt.h>\n#include <a/b/c.h>\nvoid inB(Handle h);\n")
    write("more/a/b/c.h", "#define FROM_C 1\nvoid inC();\n")
    sink = Sink()
    found = parse_headers([first, second, first], sink=sink, include_dirs=[Path("more")])
    assert shown(sink) == []
    assert found is not None
    assert [(f.name, f.header, str(f.span)) for f in found.functions] == [
        ("inA", "a.h", "include/diopi/a.h:2:6"),
        ("inB", "b.h", "include/diopi/b.h:3:6"),
    ]
    assert found.files == ("include/diopi/a.h", "include/diopi/b.h")
    assert found.visible == {"Ctx", "Handle", "inRt", "FROM_C", "inC"}
    assert found.macros == ()


def test_a_header_given_through_a_link_is_the_same_header() -> None:
    write("real/diopi/rt.h", "#pragma once\ntypedef int T;\n")
    functions = write("real/diopi/f.h", "#include <diopi/rt.h>\nvoid f(T t);\n")
    Path("link").symlink_to("real")
    found = parse_headers([Path("link/diopi/rt.h"), functions], sink=Sink())
    assert found is not None
    assert [str(t.span) for t in found.typedefs] == ["link/diopi/rt.h:2:13"]
    assert [str(f.span) for f in found.functions] == ["real/diopi/f.h:2:6"]


def test_an_empty_header_and_no_header_at_all() -> None:
    assert parse("") == CInterface()
    assert parse_headers([], sink=Sink()) == CInterface()


# Faults ---------------------------------------------------------------------------------------------------------


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
        "q\"uote.h:1:1: error header-unreadable: the path of 'q\"uote.h' cannot stand in an #include"
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

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert findings(header) == [
        "locked.h:1:1: error header-unreadable: 'locked.h' may not be read | give yourself read permission"
    ]


WHOLE = """\
#ifndef A_H
#define A_H
#include <stddef.h>
typedef enum { A = 1, B } E;  // 值
typedef struct S_ { union { double f; int64_t i; }; E e; } S;
/** @param[in] s 和 diopiF */
__attribute__((weak)) int diopiF(const S* s, size_t n, int (*call)(void));
#endif
""".encode()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cut=st.integers(0, len(WHOLE)),
    skip=st.integers(0, 40),
    inserted=st.one_of(st.binary(max_size=4), st.sampled_from([b"{", b"}", b"(", b"#if", b'"', b"/*", b"\\\n", b"::"])),
)
def test_a_damaged_header_is_read_or_reported(cut: int, skip: int, inserted: bytes) -> None:
    header = write("damaged.h", WHOLE[:cut] + inserted + WHOLE[cut + skip :])
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
    tables = [clang.RULES, interface_diff.RULES, breaking.RULES, doc_drift.RULES, vendor.RULES]
    ids = [rule for table in tables for rule in table]
    assert len(ids) == len(set(ids)) == 3 + 18 + 31 + 6 + 7
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", rule) for rule in ids)
