"""Single headers, as they should be."""

from __future__ import annotations

from pathlib import Path

import pytest
from header_helpers import shown
from parsing import BOTH, parse, write

from diopigen.diagnostics import Sink, Span
from diopigen.header.cdecl import CEnum, CField, CFunction, CInterface, CParam, CStruct, CTypedef
from diopigen.header.clang import Language, parse_headers


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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


def test_siblings_are_found_and_only_provided_files_collected() -> None:
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


def test_a_header_provided_through_a_link_is_the_same_header() -> None:
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
