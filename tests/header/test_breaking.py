"""One pair of versions for each rule of what breaks, with the whole finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from header_helpers import facts_interface, shown

from diopigen.diagnostics import Severity, Sink
from diopigen.header.breaking import RULES, breaking_changes
from diopigen.header.cdecl import CInterface
from diopigen.header.clang import parse_headers

KEEP = "until the next major version"

# Rule: (old header, new header, findings).
CASES: dict[str, tuple[str, str, list[str]]] = {
    "function-removed": (
        "void diopiA(void);\nvoid diopiRelu(int a);\nvoid diopiZ(void);\n",
        "void diopiA(void);\nvoid diopiArgmax(int a);\n",
        [
            "new/a.h:0:0: error function-removed: 'diopiRelu' was removed"
            f" | keep 'diopiRelu', marked deprecated, {KEEP} | old/a.h:2:6: it was here",
            "new/a.h:2:6: note function-added: 'diopiArgmax' is new",
            "new/a.h:0:0: error function-removed: 'diopiZ' was removed"
            f" | keep 'diopiZ', marked deprecated, {KEEP} | old/a.h:3:6: it was here",
        ],
    ),
    "function-renamed": (
        "void diopiA(int a);\n/** Rectifies. */\nvoid diopiRelu(int a);\nvoid diopiSoftmax(int n);\n"
        "void diopiLog(int a);\n",
        "/** Rectifies. */\nvoid diopiPositivePart(int a);\nvoid diopiA(int a);\nvoid diopiSoftMax(int n);\n"
        "void diopiLogg(int b);\n",
        [
            "new/a.h:2:6: error function-renamed: 'diopiRelu' was renamed to 'diopiPositivePart'"
            f" | keep 'diopiRelu' too, marked deprecated, {KEEP} | old/a.h:3:6: it was here",
            "new/a.h:4:6: error function-renamed: 'diopiSoftmax' was renamed to 'diopiSoftMax'"
            f" | keep 'diopiSoftmax' too, marked deprecated, {KEEP} | old/a.h:4:6: it was here",
            # Nearly the same name, but another parameter.
            "new/a.h:0:0: error function-removed: 'diopiLog' was removed"
            f" | keep 'diopiLog', marked deprecated, {KEEP} | old/a.h:5:6: it was here",
            "new/a.h:5:6: note function-added: 'diopiLogg' is new",
        ],
    ),
    "parameter-removed": (
        "void f(int a, float b, bool c);\nvoid g(int, int);\n",
        "void f(int a, bool c);\nvoid g(int);\n",
        [
            "new/a.h:1:6: error parameter-removed: 'f' lost its parameter 'b' (float)"
            " | restore 'f', and add the new form as a function of another name | old/a.h:1:21: it was here",
            "new/a.h:2:6: error parameter-removed: 'g' took 2 parameters and takes 1 now"
            " | restore 'g', and add the new form as a function of another name | old/a.h:2:6: it was here",
        ],
    ),
    "parameter-added": (
        "void f(int a, bool c);\nvoid g(int a, int b);\n",
        "void f(int a, float b, int c);\nvoid g(int b, int c);\n",
        [
            "new/a.h:1:21: error parameter-added: 'f' gained the parameter 'b' (float)"
            " | restore 'f', and add the new form as a function of another name | old/a.h:1:6: it was here",
            "new/a.h:1:28: error parameter-type-changed: 'f': parameter 'c' was 'bool' and is 'int' now"
            " | restore 'f', and add the new form as a function of another name | old/a.h:1:20: it was here",
            # Every type is as it was, and yet b means another argument.
            "new/a.h:2:6: error parameter-removed: 'g' lost its parameter 'a' (int)"
            " | restore 'g', and add the new form as a function of another name | old/a.h:2:12: it was here",
            "new/a.h:2:19: error parameter-added: 'g' gained the parameter 'c' (int)"
            " | restore 'g', and add the new form as a function of another name | old/a.h:2:6: it was here",
        ],
    ),
    "parameters-reordered": (
        "void f(float a, float b, int c);\n",
        "void f(float b, float a, int c);\n",
        [
            "new/a.h:1:6: error parameters-reordered: 'f' takes 'b', 'a' and 'c' in this order,"
            " and took 'a', 'b' and 'c' | restore the order of the parameters | old/a.h:1:6: it was here"
        ],
    ),
    "parameter-type-changed": (
        "void f(int64_t c);\n",
        "void f(int32_t c);\n",
        [
            "new/a.h:1:16: error parameter-type-changed: 'f': parameter 'c' was 'int64_t' and is 'int32_t' now"
            " | restore 'f', and add the new form as a function of another name | old/a.h:1:16: it was here",
        ],
    ),
    "parameter-const-added": (
        "typedef struct T* H;\ntypedef const struct T* C;\nvoid f(H a, int* b, int** c);\n",
        "typedef struct T* H;\ntypedef const struct T* C;\nvoid f(C a, const int* b, int* const* c);\n",
        [
            "new/a.h:3:10: warning parameter-const-added: 'f': parameter 'a' was 'H' and is 'C' now"
            " | nothing for callers; `diopigen sync` gives definitions the new type | old/a.h:3:10: it was here",
            "new/a.h:3:24: warning parameter-const-added: 'f': parameter 'b' was 'int *' and is 'const int *' now"
            " | nothing for callers; `diopigen sync` gives definitions the new type | old/a.h:3:18: it was here",
            "new/a.h:3:39: warning parameter-const-added: 'f': parameter 'c' was 'int **' and is 'int *const *' now"
            " | nothing for callers; `diopigen sync` gives definitions the new type | old/a.h:3:27: it was here",
        ],
    ),
    "parameter-const-removed": (
        "typedef struct T* H;\ntypedef const struct T* C;\nvoid f(C a, int** b);\n",
        "typedef struct T* H;\ntypedef const struct T* C;\nvoid f(H a, const int** b);\n",
        [
            "new/a.h:3:10: warning parameter-const-removed: 'f': parameter 'a' was 'C' and is 'H' now"
            " | restore const where nothing is written, so that callers with const data compile"
            " | old/a.h:3:10: it was here",
            # Callers with an `int**` do not compile either.
            "new/a.h:3:25: warning parameter-const-moved: 'f': parameter 'b' was 'int **' and is 'const int **' now"
            " | say in the release notes which level is const | old/a.h:3:19: it was here",
        ],
    ),
    "parameter-const-moved": (
        "void f(const int** a);\n",
        "void f(int** a);\n",
        [
            "new/a.h:1:14: warning parameter-const-moved: 'f': parameter 'a' was 'const int **' and is 'int **' now"
            " | say in the release notes which level is const | old/a.h:1:20: it was here",
        ],
    ),
    "parameter-reference-changed": (
        'extern "C" void f(unsigned long& a, long b);\n',
        "void f(unsigned long* a, long* b);\n",
        [
            "new/a.h:1:23: warning parameter-reference-changed: 'f': parameter 'a' was 'unsigned long &' and is"
            " 'unsigned long *' now | nothing in binaries: both are an address; callers and definitions are written"
            " otherwise | old/a.h:1:34: it was here",
            "new/a.h:1:32: error parameter-type-changed: 'f': parameter 'b' was 'long' and is 'long *' now"
            " | restore 'f', and add the new form as a function of another name | old/a.h:1:42: it was here",
        ],
    ),
    "return-const-changed": (
        "char* f(void);\n",
        "const char* f(void);\n",
        [
            "new/a.h:1:13: warning return-const-changed: 'f' returned 'char *' and now returns 'const char *'"
            " | say in the release notes what callers keep the result in | old/a.h:1:7: it was here"
        ],
    ),
    "return-type-changed": (
        "int f(void);\nint64_t g(void);\n",
        "void f(void);\nlong g(void);\n",
        [
            "new/a.h:1:6: error return-type-changed: 'f' returned 'int' and now returns 'void'"
            " | restore 'f', and add the new form as a function of another name | old/a.h:1:5: it was here"
        ],
    ),
    "function-became-strong": (
        "__attribute__((weak)) void f(void);\n",
        "void f(void);\n",
        [
            "new/a.h:1:6: error function-became-strong: 'f' was weak and is strong now"
            " | restore the weak attribute, so that libraries without the function load"
            " | old/a.h:1:28: it was here"
        ],
    ),
    "function-became-weak": (
        "void f(void);\n",
        "__attribute__((weak)) void f(void);\n",
        [
            "new/a.h:1:28: warning function-became-weak: 'f' was strong and is weak now"
            " | restore its strong linkage | old/a.h:1:6: it was here"
        ],
    ),
    "enum-removed": (
        "enum E { A };\n",
        "",
        ["new/a.h:1:1: error enum-removed: the enum 'E' was removed | keep the enum | old/a.h:1:6: it was here"],
    ),
    "enum-value-removed": (
        "enum E { A, B };\n",
        "enum E { A };\n",
        [
            "new/a.h:1:6: error enum-value-removed: 'B' (1) was removed from 'E' | keep 'B = 1'"
            " | old/a.h:1:13: it was here"
        ],
    ),
    "enum-value-changed": (
        "enum E { A, END };\n",
        "enum E { A, B, END };\n",
        [
            "new/a.h:1:13: note enum-value-added: 'B' (1) is new in 'E'",
            "new/a.h:1:16: error enum-value-changed: 'END' of 'E' was 1 and is 2 now"
            " | write 'END = 1', and give new names new values | old/a.h:1:13: it was here",
        ],
    ),
    "enum-sign-changed": (
        "enum E { A };\n",
        "enum E { A, B = -1 };\n",
        [
            "new/a.h:1:6: warning enum-sign-changed: the enum 'E' was of type 'unsigned int' and is 'int' now"
            " | keep its values within the old type | old/a.h:1:6: it was here",
            "new/a.h:1:13: note enum-value-added: 'B' (-1) is new in 'E'",
        ],
    ),
    "enum-type-changed": (
        "enum E { A };\n",
        "enum E { A, B = 0x100000000 };\n",
        [
            "new/a.h:1:6: error enum-type-changed: the enum 'E' was of type 'unsigned int' and is 'unsigned long' now"
            " | keep its values within the old type | old/a.h:1:6: it was here",
            "new/a.h:1:13: note enum-value-added: 'B' (4294967296) is new in 'E'",
        ],
    ),
    "struct-removed": (
        "struct S { int a; };\n",
        "",
        ["new/a.h:1:1: error struct-removed: the struct 'S' was removed | keep the struct | old/a.h:1:8: it was here"],
    ),
    "struct-layout-changed": (
        "struct S { int a; char gone; };\nstruct T { char a; };\nstruct H { int a; };\nstruct U { long a; };\n",
        "struct S { char a; double more; };\nstruct T { char a; } __attribute__((aligned(2)));\n"
        "struct H;\nstruct U { int64_t a; };\n",
        [
            "new/a.h:1:8: error struct-layout-changed: the layout of 'S' changed: 8 bytes became 16,"
            " alignment 4 became 8, 'a' changed its type or place, 'gone' is gone, 'more' is new"
            " | keep the struct, and pass what is new in another one | old/a.h:1:8: it was here",
            "new/a.h:2:8: error struct-layout-changed: the layout of 'T' changed: 1 bytes became 2,"
            " alignment 1 became 2 | keep the struct, and pass what is new in another one"
            " | old/a.h:2:8: it was here",
            "new/a.h:3:8: error struct-layout-changed: the layout of 'H' changed: its members are hidden"
            " | keep the struct, and pass what is new in another one | old/a.h:3:8: it was here",
        ],
    ),
    "typedef-changed": (
        "typedef int8_t Index;\nIndex f(Index i);\ntypedef int64_t Same;\n",
        "typedef int16_t Index;\nIndex f(Index i);\ntypedef long Same;\n",
        [
            "new/a.h:1:17: error typedef-changed: 'Index' stood for 'int8_t' and stands for 'int16_t' now"
            " | restore 'typedef int8_t Index' | old/a.h:1:16: it was here",
        ],
    ),
    "parameter-renamed": (
        "void f(int a, int b);\n",
        "void f(int a, int beta);\n",
        [
            "new/a.h:1:19: note parameter-renamed: 'f': parameter 'b' is named 'beta' now"
            " | restore the name where bindings pass arguments by name | old/a.h:1:19: it was here"
        ],
    ),
    "parameter-const-changed": (
        "void f(const bool a, int* b);\n",
        "void f(bool a, int* const b);\n",
        [
            "new/a.h:1:13: note parameter-const-changed: 'f': parameter 'a' was 'const bool' and is 'bool' now"
            " | nothing: const on a value is no part of a function's type | old/a.h:1:19: it was here",
            "new/a.h:1:27: note parameter-const-changed: 'f': parameter 'b' was 'int *' and is 'int *const' now"
            " | nothing: const on a value is no part of a function's type | old/a.h:1:27: it was here",
        ],
    ),
    "struct-member-renamed": (
        "struct S { int a; int b; };\n",
        "struct S { int a; int c; };\n",
        [
            "new/a.h:1:23: warning struct-member-renamed: 'b' of 'S' is named 'c' now"
            " | restore the name, or say it in the release notes | old/a.h:1:23: it was here"
        ],
    ),
    "typedef-removed": (
        "typedef void* Stream;\n",
        "",
        [
            "new/a.h:1:1: warning typedef-removed: the typedef 'Stream' was removed"
            " | keep 'typedef void *Stream' | old/a.h:1:15: it was here"
        ],
    ),
    "macro-removed": (
        "#define ONE 1\n",
        "",
        ["new/a.h:1:1: warning macro-removed: the macro 'ONE' was removed | keep the macro | old/a.h:1:9: it was here"],
    ),
    "function-deprecated": (
        "void f(void);\n",
        "__attribute__((deprecated)) void f(void);\n",
        [
            "new/a.h:1:34: warning function-deprecated: 'f' is deprecated now"
            " | say in its comment what to call instead | old/a.h:1:6: it was here"
        ],
    ),
    "function-added": ("", "void f(void);\n", ["new/a.h:1:6: note function-added: 'f' is new"]),
    "function-restored": (
        "__attribute__((deprecated)) void f(void);\n",
        "void f(void);\n",
        ["new/a.h:1:6: note function-restored: 'f' is no longer deprecated | old/a.h:1:34: it was here"],
    ),
    "parameter-type-respelled": (
        "void f(int64_t a, int* b);\n",
        "void f(long a, int b[]);\n",
        [
            "new/a.h:1:13: note parameter-type-respelled: 'f': parameter 'a' was 'int64_t' and is 'long' now"
            " | old/a.h:1:16: it was here"
        ],
    ),
    "enum-added": ("", "enum E { A };\n", ["new/a.h:1:6: note enum-added: the enum 'E' is new"]),
    "enum-value-added": (
        "enum E { A };\n",
        "enum E { A, B };\n",
        ["new/a.h:1:13: note enum-value-added: 'B' (1) is new in 'E'"],
    ),
    "struct-added": ("", "struct S;\n", ["new/a.h:1:8: note struct-added: the struct 'S' is new"]),
    "struct-defined": (
        "struct S;\nstruct T;\n",
        "struct S { int a; };\nstruct T;\n",
        ["new/a.h:1:8: note struct-defined: 'S' was opaque and shows its members now | old/a.h:1:8: it was here"],
    ),
    "typedef-added": ("", "typedef int T;\n", ["new/a.h:1:13: note typedef-added: the typedef 'T' is new"]),
    "macro-added": ("", "#define ONE\n", ["new/a.h:1:9: note macro-added: the macro 'ONE' is new"]),
    "macro-changed": (
        "#define ONE 1\n#define SUM (1+1)\n",
        "#define ONE 2\n#define SUM (1 + 1)\n",
        ["new/a.h:1:9: note macro-changed: the macro 'ONE' was '1' and is '2' now | old/a.h:1:9: it was here"],
    ),
}


def read(path: Path, text: str) -> CInterface:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    sink = Sink()
    found = parse_headers([path], language="c++" if "&" in text else "c", sink=sink)
    assert shown(sink) == []
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("rule", CASES)
def test_each_rule(rule: str) -> None:
    old_text, new_text, findings = CASES[rule]
    sink = Sink()
    breaking_changes(read(Path("old/a.h"), old_text), read(Path("new/a.h"), new_text), sink)
    assert sorted(shown(sink)) == sorted(findings)
    assert rule in {diagnostic.code for diagnostic in sink.sorted()}


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES)


def test_nothing_changed() -> None:
    for old_text, new_text, _ in CASES.values():
        for text in (old_text, new_text):
            sink = Sink()
            breaking_changes(read(Path("old/a.h"), text), read(Path("new/a.h"), text), sink)
            assert shown(sink) == []


def test_the_whole_interface_breaks_nothing_against_itself() -> None:
    sink = Sink()
    breaking_changes(facts_interface(), facts_interface(), sink)
    assert shown(sink) == []


def test_everything_removed_is_an_error_or_a_warning_each() -> None:
    facts = facts_interface()
    sink = Sink()
    breaking_changes(facts, CInterface(), sink)
    assert sink.count(Severity.ERROR) == len(facts.functions) + len(facts.enums) + len(facts.structs)
    assert sink.count(Severity.WARNING) == len(facts.typedefs) + len(facts.macros)


def test_another_order_of_functions_breaks_nothing() -> None:
    old = read(Path("old/a.h"), "void f(void);\nvoid g(void);\n")
    new = read(Path("new/a.h"), "void g(void);\nvoid f(void);\n")
    sink = Sink()
    breaking_changes(old, new, sink)
    assert shown(sink) == []
