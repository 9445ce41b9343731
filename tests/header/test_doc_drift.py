"""Comments that have drifted away from their functions, with the whole finding."""

from __future__ import annotations

from pathlib import Path

import pytest
from header_helpers import shown, synthesise

from diopigen.diagnostics import Sink
from diopigen.header.clang import parse_headers
from diopigen.header.doc_drift import RULES, doc_drift

TYPES = """\
typedef struct diopiTensor* Tensor;
typedef const struct diopiTensor* ConstTensor;
typedef struct diopiSize_t_ { const int64_t* data; int64_t len; } diopiSize_t;
typedef enum { diopiSuccess } diopiError_t;
"""

# Rule: (header behind TYPES, directions, findings).
CASES: dict[str, tuple[str, dict[tuple[str, str], str] | None, list[str]]] = {
    "doc-unknown-parameter": (
        """\
/**
 * @param[in] inptu 输入
 * @param[in] zzz no such thing
 */
void diopiF(int input);
""",
        None,
        [
            "a.h:6:15: warning doc-unknown-parameter: 'diopiF' has no parameter 'inptu' | did you mean 'input'?",
            "a.h:7:15: warning doc-unknown-parameter: 'diopiF' has no parameter 'zzz' | remove it",
            "a.h:9:17: warning doc-undocumented-parameter: 'diopiF': parameter 'input' is not documented"
            " | add '@param input' to the comment",
        ],
    ),
    "doc-undocumented-parameter": (
        """\
/** @brief Nothing about parameters. */
void diopiF(Tensor out, int);
/// @param[in] a the a
void diopiG(int a,
            int b);
/// @param[out] out the result
/// @sa Other parameters refer to diopiG(), diopiF().
void diopiH(Tensor out, int a, int b);
""",
        None,
        [
            "a.h:6:20: warning doc-undocumented-parameter: 'diopiF': parameter 'out' is not documented"
            " | add '@param out' to the comment",
            "a.h:9:17: warning doc-undocumented-parameter: 'diopiG': parameter 'b' is not documented"
            " | add '@param b' to the comment",
            "a.h:12:36: warning doc-undocumented-parameter: 'diopiH': parameter 'b' is not documented, nor by 'diopiG'"
            " | add '@param b' to the comment",
        ],
    ),
    "doc-direction": (
        """\
/**
 * @param[out] out fine: the function can write here
 * @param[in] input fine
 * @param[out] other const
 * @param[in,out] n by value
 * @param[out] size by value
 * @param[inn] list no direction
 * @param[out] text const
 * @param[out] count fine
 * @param[out] handles fine: the handles can be replaced
 * @param plain no direction
 */
void diopiF(Tensor out, ConstTensor input, ConstTensor other, int64_t n, diopiSize_t size, Tensor* list,
            const char* text, int64_t* count, ConstTensor* handles, int plain);
""",
        None,
        [
            "a.h:8:16: warning doc-direction: 'diopiF': parameter 'other' is documented as [out],"
            " but 'ConstTensor' points to what is const | write [in]",
            "a.h:9:19: warning doc-direction: 'diopiF': parameter 'n' is documented as [in,out],"
            " but 'int64_t' is passed by value | write [in]",
            "a.h:10:16: warning doc-direction: 'diopiF': parameter 'size' is documented as [out],"
            " but 'diopiSize_t' is passed by value | write [in]",
            "a.h:11:16: warning doc-direction: 'diopiF': parameter 'list' is documented as [inn],"
            " which is no direction | write [in], [out] or [in,out]",
            "a.h:12:16: warning doc-direction: 'diopiF': parameter 'text' is documented as [out],"
            " but 'const char *' points to what is const | write [in]",
            "a.h:15:11: warning doc-direction: 'diopiF': parameter 'plain' is documented without a direction"
            " | write @param[in], [out] or [in,out]",
        ],
    ),
    "doc-duplicate-parameter": (
        "/**\n * @param[in] a first\n * @param[in] a,b again\n */\nvoid diopiF(int a, int b);\n",
        None,
        [
            "a.h:7:15: warning doc-duplicate-parameter: 'diopiF': parameter 'a' is documented twice"
            " | remove one of the two | a.h:6:15: first here"
        ],
    ),
    "doc-dtypes": (
        """\
/**
 * @param[in] a Values. type = [float32, double, int8]
 * @param[in] b Values. type=[half,float,int64].
 * @param[in] c Values. type = [float32]
 * @param[in] d Values. type = [bool]
 */
void diopiF(Tensor a, Tensor b, Tensor c, Tensor d);
""",
        None,
        [
            "a.h:6:15: warning doc-dtypes: 'diopiF': dtypes of parameter 'a' differ: int8 only in the comment;"
            " float16 only in the spec | correct the list in the comment, or the dtypes in the spec",
            "a.h:8:15: note doc-dtypes: 'diopiF': dtypes of parameter 'c' differ: float16 only in the spec"
            " | correct the list in the comment, or the dtypes in the spec",
        ],
    ),
    "doc-missing": (
        "/** Something. */\nvoid diopiF(void);\nvoid diopiG(int a);\n",
        None,
        [
            "a.h:7:6: warning doc-missing: 'diopiG' has no comment"
            " | say before it what it does, and what its parameters are"
        ],
    ),
    "doc-unknown-reference": (
        """\
/** 见 diopiFoward(), diopiSuccess, diopiSize_t, diopiTensor and diopiWholly */
void diopiForward(void);
/** @ref diopiForward, diopiVERSION, @ref helper() */
void diopiBackward(void);
#define diopiVERSION 1
""",
        None,
        [
            "a.h:5:7: warning doc-unknown-reference: the comment of 'diopiForward' names 'diopiFoward',"
            " which does not exist | did you mean 'diopiForward'?",
            "a.h:5:65: warning doc-unknown-reference: the comment of 'diopiForward' names 'diopiWholly',"
            " which does not exist | correct the name, or remove it",
            "a.h:7:43: warning doc-unknown-reference: the comment of 'diopiBackward' names 'helper',"
            " which does not exist | correct the name, or remove it",
        ],
    ),
}

DIRECTIONS = """\
/**
 * @param[in] a read and written
 * @param[out] b read and written
 * @param[in, out] c read and written
 * @param[in] d partly written
 * @param[out] e partly written
 * @param[in,out] f partly written
 * @param[out] g read
 * @param[in,out] h written
 * @param[in] i written
 */
void diopiF(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, Tensor g, Tensor h, Tensor i);
"""


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def drift(text: str, directions: dict[tuple[str, str], str] | None) -> list[str]:
    Path("a.h").write_text(TYPES + text, encoding="utf-8")
    sink = Sink()
    found = parse_headers([Path("a.h")], sink=sink)
    assert shown(sink) == []
    assert found is not None
    dtypes = {
        ("diopiF", "a"): ("float16", "float32", "float64"),
        ("diopiF", "b"): ("int64", "float16", "float32"),
        ("diopiF", "c"): ("float16", "float32"),
    }
    doc_drift(found, sink, directions, dtypes)
    return shown(sink)


@pytest.mark.parametrize("rule", CASES)
def test_each_rule(rule: str) -> None:
    text, directions, findings = CASES[rule]
    assert drift(text, directions) == findings
    assert any(f" {rule}: " in line for line in findings)


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES)


def test_curated_directions() -> None:
    """The part of a partial output that is not written keeps its values, so [out] and [in,out] are both true."""
    curated = dict(zip("abcdefghi", ["inout"] * 3 + ["partial_out"] * 3 + ["in", "out", "out"], strict=True))
    directions = {("diopiF", name): direction for name, direction in curated.items()}
    assert drift(DIRECTIONS, directions) == [
        "a.h:6:15: warning doc-direction: 'diopiF': parameter 'a' is documented as [in], and is inout | write [in,out]",
        "a.h:7:16: warning doc-direction: 'diopiF': parameter 'b' is documented as [out], and is inout"
        " | write [in,out]",
        "a.h:9:15: warning doc-direction: 'diopiF': parameter 'd' is documented as [in], and is partial_out"
        " | write [in,out]",
        "a.h:12:16: warning doc-direction: 'diopiF': parameter 'g' is documented as [out], and is in | write [in]",
        "a.h:13:19: warning doc-direction: 'diopiF': parameter 'h' is documented as [in,out], and is out | write [out]",
        "a.h:14:15: warning doc-direction: 'diopiF': parameter 'i' is documented as [in], and is out | write [out]",
    ]


def test_names_of_included_headers_are_known() -> None:
    Path("rt.h").write_text("#pragma once\nenum diopiLevel { diopiLow };\nvoid diopiStart(void);\n")
    Path("a.h").write_text('#include "rt.h"\n/** diopiStart, diopiLow, diopiLevel, diopiStop */\nvoid diopiF(void);\n')
    sink = Sink()
    found = parse_headers([Path("a.h")], sink=sink)
    assert found is not None
    doc_drift(found, sink)
    assert shown(sink) == [
        "a.h:2:39: warning doc-unknown-reference: the comment of 'diopiF' names 'diopiStop', which does not exist"
        " | correct the name, or remove it"
    ]


def test_the_synthetic_interface_documents_all_its_parameters() -> None:
    """Its comments call every parameter [in], so that only directions from outside can find fault."""
    found = parse_headers(synthesise(Path("include/diopi")), sink=Sink())
    assert found is not None
    sink = Sink()
    doc_drift(found, sink)
    assert shown(sink) == []
    doc_drift(found, sink, {("diopiAdd", "out"): "out"})
    assert [line.partition(": ")[2] for line in shown(sink)] == [
        "warning doc-direction: 'diopiAdd': parameter 'out' is documented as [in], and is out | write [out]"
    ]
