"""One pair of headers for each rule of the comparison, with the whole finding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from header_helpers import shown

from diopigen.diagnostics import Severity, Sink
from diopigen.header.cdecl import CFunction, CInterface, CParam
from diopigen.header.clang import Language, parse_headers
from diopigen.header.compare import count, moved, quoted
from diopigen.header.interface_diff import RULES, compare_functions, compare_interfaces

COMMON = """\
typedef struct Tensor* TensorHandle;
typedef const struct Tensor* ConstTensorHandle;
"""

# Rule: (the header as it should be, the header as it is, findings).
CASES: dict[str, tuple[str, str, list[str]]] = {
    "missing-function": (
        "void diopiA(int n);\nint diopiAdd(const char* name, bool flag);\nvoid diopiC(void);\n",
        "void diopiA(int n);\nvoid diopiC(void);\nvoid diopiAddd(void);\n",
        [
            "a.h:1:6: error missing-function: 'diopiAdd' is missing"
            " | declare 'int diopiAdd(const char *name, bool flag)' | a.h:3:6: 'diopiAddd' is only here",
            "a.h:3:6: error extra-function: 'diopiAddd' is not in the spec | rename it to 'diopiAdd', or remove it",
        ],
    ),
    "extra-function": (
        "void diopiA(void);\n",
        "void diopiA(void);\nvoid diopiZebra(void);\n",
        ["a.h:2:6: error extra-function: 'diopiZebra' is not in the spec | remove it, or add it to the spec"],
    ),
    "function-order": (
        "void a(void);\nvoid b(void);\nvoid c(void);\nvoid d(void);\n",
        "void d(void);\nvoid a(void);\nvoid c(void);\nvoid b(void);\n",
        [
            "a.h:1:6: warning function-order: 'd' comes first, the spec has it after 'c' | move it after 'c'",
            "a.h:3:6: warning function-order: 'c' comes after 'a', the spec has it after 'b' | move it after 'b'",
        ],
    ),
    "arity": (
        "void f(int n, float alpha, bool keep);\nvoid g(int n);\nvoid h(int, int);\n",
        "void f(int n, bool keep);\nvoid g(int n, int m, int k);\nvoid h(int);\n",
        [
            "a.h:1:6: error arity: 'f' has 2 parameters, the spec has 3: without 'alpha' (float)"
            " | write 'void f(int n, float alpha, bool keep)'",
            "a.h:2:19: error arity: 'g' has 3 parameters, the spec has 1: with 'm' and 'k' | write 'void g(int n)'",
            "a.h:3:6: error arity: 'h' has 1 parameter, the spec has 2 | write 'void h(int, int)'",
        ],
    ),
    "parameter-order": (
        "void f(float a, float b, int n);\n",
        "void f(float b, float a, int n);\n",
        [
            "a.h:1:6: error parameter-order: 'f' has its parameters in the order 'b', 'a' and 'n',"
            " the spec has 'a', 'b' and 'n' | write 'void f(float a, float b, int n)'"
        ],
    ),
    "parameter-type": (
        "void f(int64_t n, const char* s);\nvoid g(int64_t);\nvoid h(int64_t n);\n",
        "void f(int32_t n, const char s[]);\nvoid g(double);\nvoid h(long n);\n",
        [
            "a.h:1:16: error parameter-type: 'f': parameter 'n' is 'int32_t', the spec has 'int64_t'"
            " | write 'int64_t n'",
            "a.h:2:8: error parameter-type: 'g': parameter 1 is 'double', the spec has 'int64_t' | write 'int64_t'",
            "a.h:3:13: warning parameter-type: 'h': parameter 'n' is 'long', the spec has 'int64_t' (the same type)"
            " | write 'int64_t n'",
        ],
    ),
    "parameter-const": (
        COMMON + "void f(TensorHandle out, const bool flag, const float* data);\n",
        COMMON + "void f(ConstTensorHandle out, bool flag, float* data);\n",
        [
            "a.h:3:26: error parameter-const: 'f': parameter 'out' is 'ConstTensorHandle',"
            " the spec has 'TensorHandle' | write 'TensorHandle out'",
            "a.h:3:36: error parameter-const: 'f': parameter 'flag' is 'bool', the spec has 'const bool'"
            " | write 'const bool flag'",
            "a.h:3:49: error parameter-const: 'f': parameter 'data' is 'float *', the spec has 'const float *'"
            " | write 'const float *data'",
        ],
    ),
    "parameter-default": (
        "void f(int n, float x);\n",
        "void f(int n, float x = 2 * 3);\n",
        [
            "a.h:1:21: error parameter-default: 'f': 'x' has a default argument, which C does not have"
            " | let callers pass it"
        ],
    ),
    "parameter-name": (
        "void f(int n, int size);\nvoid g(int n);\n",
        "void f(int n, int 尺寸);\nvoid g(int);\n",
        ["a.h:1:19: warning parameter-name: 'f': parameter 2 is named '尺寸', the spec has 'size' | write 'int size'"],
    ),
    "return-type": (
        "int f(int n);\nconst char* g(void);\n",
        "void f(int n);\nchar* g(void);\n",
        [
            "a.h:1:6: error return-type: 'f' returns 'void', the spec has 'int' | write 'int f(int n)'",
            "a.h:2:7: error return-type: 'g' returns 'char *', the spec has 'const char *' | write 'const char *g()'",
        ],
    ),
    "linkage": (
        "__attribute__((weak)) void f(void);\nvoid g(void);\n",
        "void f(void);\n__attribute__((weak)) void g(void);\n",
        [
            "a.h:1:6: error linkage: 'f' is strong, the spec has it weak | add the weak attribute",
            "a.h:2:28: error linkage: 'g' is weak, the spec has it strong | remove the weak attribute",
        ],
    ),
    "deprecated": (
        "__attribute__((deprecated)) void f(void);\nvoid g(void);\n",
        "void f(void);\n__attribute__((deprecated)) void g(void);\n",
        [
            "a.h:1:6: warning deprecated: 'f' is not deprecated, the spec has it deprecated | add the attribute",
            "a.h:2:34: warning deprecated: 'g' is deprecated, the spec has it not deprecated | remove the attribute",
        ],
    ),
    "enum-value": (
        "typedef enum { A, B, C } E;\nenum F { X = -1 };\n",
        "typedef enum { A, B = 5, C } E;\nenum F { X = 1 };\n",
        [
            "a.h:1:19: error enum-value: 'B' of 'E' is 5, the spec has 1 | write 'B = 1'",
            "a.h:1:26: error enum-value: 'C' of 'E' is 6, the spec has 2 | write 'C = 2'",
            "a.h:2:6: error enum-value: the enum 'F' is of type 'unsigned int', the spec has 'int'"
            " | make 'int' its type",
            "a.h:2:10: error enum-value: 'X' of 'F' is 1, the spec has -1 | write 'X = -1'",
        ],
    ),
    "enum-missing": (
        "enum E { A, B, C };\nenum Gone { D };\n",
        "\nenum E { A, C = 2 };\n",
        [
            "a.h:1:1: error enum-missing: the enum 'Gone' is missing | declare it with 1 value",
            "a.h:2:10: error enum-missing: 'E' lacks 'B', which is 1 | add 'B = 1'",
        ],
    ),
    "enum-extra": (
        "enum E { A };\n",
        "enum E { A, B };\nenum New { D };\n",
        [
            "a.h:1:13: error enum-extra: 'B' of 'E' is not in the spec | remove it, or add it to the spec",
            "a.h:2:6: error enum-extra: the enum 'New' is not in the spec | remove it, or add it to the spec",
        ],
    ),
    "struct-layout": (
        """\
struct Moved { int a; int b; };
struct Packed { char a; };
struct Fields { int a; int gone; };
struct Hidden { int a; };
struct Shown;
struct Missing { int a; };
""",
        """\
struct Moved { int b; int a; };
struct Packed { char a; } __attribute__((aligned(8)));
struct Fields { float a; int more; };
struct Hidden;
struct Shown { int a; };
struct Extra { int a; };
""",
        [
            "a.h:1:1: error struct-layout: the struct 'Missing' is missing | declare 'Missing'",
            "a.h:1:20: error struct-layout: the struct 'Moved': 'b' is at byte 0, the spec has it at 4"
            " | restore the order of the members",
            "a.h:1:27: error struct-layout: the struct 'Moved': 'a' is at byte 4, the spec has it at 0"
            " | restore the order of the members",
            "a.h:2:8: error struct-layout: the struct 'Packed' has 8 bytes, aligned to 8;"
            " the spec has 1, aligned to 1 | remove what packs or aligns it",
            "a.h:3:8: error struct-layout: the struct 'Fields' lacks 'gone' | add 'int gone'",
            "a.h:3:23: error struct-layout: the struct 'Fields': 'a' is 'float', the spec has 'int' | make it 'int'",
            "a.h:3:30: error struct-layout: the struct 'Fields': 'more' is not in the spec | remove it",
            "a.h:4:8: error struct-layout: the struct 'Hidden' is opaque, in the spec it has members"
            " | declare its members",
            "a.h:5:8: error struct-layout: the struct 'Shown' has members, in the spec it is opaque"
            " | leave only its declaration",
            "a.h:6:8: error struct-layout: the struct 'Extra' is not in the spec | remove it, or add it to the spec",
        ],
    ),
    "typedef": (
        "typedef int8_t Index;\ntypedef void* Stream;\n",
        "typedef int16_t Index;\ntypedef int Extra;\n",
        [
            "a.h:1:1: error typedef: the typedef 'Stream' is missing | write 'typedef void *Stream'",
            "a.h:1:17: error typedef: 'Index' stands for 'int16_t', the spec has 'int8_t'"
            " | write 'typedef int8_t Index'",
            "a.h:2:13: warning typedef: the typedef 'Extra' is not in the spec | remove it, or add it to the spec",
        ],
    ),
    "macro-value": (
        "#define ONE 1\n#define SUM (1+2)\n#define EMPTY\n#define GONE\n",
        "#define ONE 2\n#define SUM ( 1 + 2 )\n#define EMPTY\n#define MORE 1\n",
        [
            "a.h:1:1: warning macro-value: the macro 'GONE' is missing | write '#define GONE'",
            "a.h:1:9: warning macro-value: the macro 'ONE' is '2', the spec has '1' | write '#define ONE 1'",
        ],
    ),
}


def read(path: Path, text: str) -> CInterface:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    sink = Sink()
    language: Language = "c++" if " = " in text and "(" in text else "c"  # a default argument is C++
    found = parse_headers([path], language=language, sink=sink, docs=False)
    assert shown(sink) == []
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("rule", CASES)
def test_each_rule(rule: str) -> None:
    expected_text, actual_text, findings = CASES[rule]
    expected = read(Path("spec/a.h"), expected_text)
    actual = read(Path("a.h"), actual_text)
    sink = Sink()
    compare_interfaces(expected, actual, sink, expected_label="the spec")
    assert shown(sink) == findings
    assert rule in {diagnostic.code for diagnostic in sink.sorted()}


def test_every_rule_has_a_case() -> None:
    assert {*CASES, "function-header"} == set(RULES)


def test_equal_headers_have_no_differences() -> None:
    for expected_text, _, _ in CASES.values():
        expected = read(Path("spec/a.h"), expected_text)
        sink = Sink()
        compare_interfaces(expected, read(Path("a.h"), expected_text), sink, expected_label="the spec")
        assert shown(sink) == []


def test_a_function_in_another_header() -> None:
    for folder in ("spec", "."):
        Path(folder).mkdir(exist_ok=True)
    Path("spec/a.h").write_text("void f(void);\nvoid g(void);\n")
    Path("spec/b.h").write_text("void h(void);\nvoid gone(void);\nvoid i(void);\n")
    Path("a.h").write_text("void f(void);\n")
    Path("b.h").write_text("void h(void);\nvoid g(void);\nvoid i(void);\n")
    expected = parse_headers([Path("spec/a.h"), Path("spec/b.h")], sink=Sink())
    # In which order the headers are given means nothing.
    actual = parse_headers([Path("b.h"), Path("a.h")], sink=Sink())
    assert expected is not None
    assert actual is not None
    sink = Sink()
    compare_functions(expected, actual, sink, expected_label="the spec")
    assert shown(sink) == [
        "b.h:1:6: error missing-function: 'gone' is missing | declare 'void gone()'",
        "b.h:2:6: warning function-header: 'g' is in b.h, the spec has it in a.h | move it to a.h",
    ]


def test_an_expected_side_without_spans_or_headers() -> None:
    """Declarations of the spec have no header, and their spans are in YAML."""
    actual = read(Path("a.h"), "void b(int n);\n")
    expected = CInterface(
        functions=(
            CFunction("a", "void", (), weak=False),
            CFunction("b", "void", (CParam("n", "int64_t"),), weak=False),
        )
    )
    sink = Sink()
    compare_functions(expected, actual, sink, expected_label="the spec")
    assert shown(sink) == [
        "a.h:1:1: error missing-function: 'a' is missing | declare 'void a()'",
        "a.h:1:12: error parameter-type: 'b': parameter 'n' is 'int', the spec has 'int64_t' | write 'int64_t n'",
    ]


def test_an_actual_side_without_files() -> None:
    function = CFunction("diopiA", "void", ())
    sink = Sink()
    compare_interfaces(CInterface((function,)), CInterface(), sink, expected_label="the spec")
    assert shown(sink) == ["-: error missing-function: 'diopiA' is missing | declare 'void diopiA()'"]


def test_functions_alone_leave_types_out() -> None:
    expected = read(Path("spec/a.h"), "enum E { A };\n#define X 1\ntypedef int T;\nstruct S;\n")
    sink = Sink()
    compare_functions(expected, CInterface(), sink, expected_label="the spec")
    assert shown(sink) == []


def test_severities_follow_the_table() -> None:
    """Only what keeps a binary or a source from working is an error."""
    warnings = {rule for rule, entry in RULES.items() if entry.severity is Severity.WARNING}
    assert warnings == {"function-header", "function-order", "parameter-name", "deprecated", "macro-value"}
    assert all(entry.purpose for entry in RULES.values())


@pytest.mark.parametrize(
    ("expected", "actual", "names"),
    [
        ("abcd", "abcd", ""),
        ("abcd", "bcda", "a"),
        ("abcd", "dabc", "d"),
        ("abcdef", "acbdfe", "cf"),
        ("abc", "xaybz", ""),
        ("", "ab", ""),
    ],
)
def test_the_fewest_moves(expected: str, actual: str, names: str) -> None:
    found = moved(list(expected), list(actual))
    assert len(found) == len(names)
    # Removing the moved ones must leave both in one order.
    gone = {move.name for move in found}
    retained = [name for name in actual if name not in gone and name in expected]
    assert retained == [name for name in expected if name in retained]
    assert "".join(move.name for move in found) == names


def test_words() -> None:
    assert [count(n, "value") for n in range(3)] == ["no values", "1 value", "2 values"]
    assert [quoted(list("abc")[:n]) for n in (1, 2, 3)] == ["'a'", "'a' and 'b'", "'a', 'b' and 'c'"]


def test_defaults_of_a_function_compare_without_positions() -> None:
    plain = CFunction("f", "void", (CParam("n", "int"),))
    assert replace(plain, header="a.h", resolved_returns="void") == plain
