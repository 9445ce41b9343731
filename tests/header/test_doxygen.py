"""Documentation comments, with exact places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diopigen.diagnostics import Span
from diopigen.header.cdecl import CDoc
from diopigen.header.doxygen import parse_comment


def parse(raw: str, line: int = 10, column: int = 1) -> CDoc:
    return parse_comment(raw, Span("a.h", line, column))


def params(doc: CDoc) -> list[tuple[str, str, str]]:
    return [(p.name, p.direction, p.text) for p in doc.params]


def test_a_block_comment_with_exact_spans() -> None:
    doc = parse(
        """\
/**
 * @brief Adds 两 tensors.
 *        Second line.
 *
 * Details, see diopiSub() and @ref diopiMul.
 * @param[in]     ctx    context
 * @param[in,out] input  the 输入, as in diopiAddInp
 *                       goes on here
 * @param[ out ] out     result
 *
 * No longer part of it.
 * @return status
 */""",
        column=5,
    )
    assert doc.brief == "Adds 两 tensors. Second line."
    assert params(doc) == [
        ("ctx", "in", "context"),
        ("input", "in,out", "the 输入, as in diopiAddInp goes on here"),
        ("out", "out", "result"),
    ]
    assert [p.span for p in doc.params] == [
        Span("a.h", 15, 19, 15, 22),
        Span("a.h", 16, 19, 16, 24),
        Span("a.h", 18, 18, 18, 21),
    ]
    assert doc.references == (
        ("diopiSub", Span("a.h", 14, 17, 14, 25)),
        ("diopiMul", Span("a.h", 14, 37, 14, 45)),
        ("diopiAddInp", Span("a.h", 16, 40, 16, 51)),
    )
    assert doc.span == Span("a.h", 10, 5, 22, 4)


@pytest.mark.parametrize(
    ("raw", "name_at"),
    [
        ("/** @param[in] x the x */", (10, 16)),
        ("/*! \\param[in] x the x */", (10, 16)),
        ("/// @param[in] x the x", (10, 16)),
        ("//! \\param[in] x the x", (10, 16)),
        ("/**< @param[in] x the x */", (10, 17)),
        ("/**\n@param[in] x the x\n*/", (11, 12)),
        ("/**\r\n * @param[in] x the x\r\n */", (11, 15)),
        ("///\n  /// @param[in] x the\n  /// x", (11, 18)),
        ("/*****\n ** @param[in]x the x\n *****/", (11, 15)),
        ("/** @param [in] x, the x */", (10, 17)),
        ("/** @param[in]\tx : the x */", (10, 16)),
        ("/**\n *@param[in] x the x */", (11, 14)),
    ],
)
def test_every_style_of_comment(raw: str, name_at: tuple[int, int]) -> None:
    doc = parse(raw)
    assert params(doc) == [("x", "in", "the x")]
    line, column = name_at
    assert doc.params[0].span == Span("a.h", line, column, line, column + 1)


def test_the_first_line_counts_from_the_comments_column() -> None:
    assert parse("/** @param x a\n * @param y b */", column=7).params[0].span == Span("a.h", 10, 18, 10, 19)
    assert parse("/** @param x a\n * @param y b */", column=7).params[1].span == Span("a.h", 11, 11, 11, 12)


def test_one_command_for_several_parameters() -> None:
    doc = parse("/// @param[out] grad_a,grad_b gradients")
    assert params(doc) == [("grad_a", "out", "gradients"), ("grad_b", "out", "gradients")]
    assert [p.span for p in doc.params] == [Span("a.h", 10, 17, 10, 23), Span("a.h", 10, 24, 10, 30)]


def test_commands_in_the_middle_of_a_line_and_without_text() -> None:
    doc = parse("/** @brief Sums up. @param x @param[in] y the y @return status @param[in] */")
    assert doc.brief == "Sums up."
    assert params(doc) == [("x", "", ""), ("y", "in", "the y")]


def test_what_only_looks_like_a_command() -> None:
    doc = parse("/** mail@param.org \\\\param x and @@param y @params z @paramx */")
    assert params(doc) == []
    assert doc.brief == "mail@param.org \\\\param x and @@param y @params z @paramx"


@pytest.mark.parametrize(
    ("raw", "brief"),
    [
        ("/** First paragraph\n *  goes on.\n *\n * Second. */", "First paragraph goes on."),
        ("/** Intro. @brief The brief. */", "The brief."),
        ("/** \\short The @c brief \\p text. */", "The brief text."),
        ("/**\n *\n * Late start.\n *\n * Rest. */", "Late start."),
        ("/** @note A note.\n\n No brief. */", ""),
        ("/** @brief */", ""),
        ("/***/", ""),
        ("/**/", ""),
        ("/** 概要 */", "概要"),
    ],
)
def test_the_brief_text(raw: str, brief: str) -> None:
    assert parse(raw).brief == brief


def test_references() -> None:
    doc = parse("/** 见diopiA、#diopiB ::diopiC, xdiopiD diopi_dtype diopi diopilow diopi5D @ref other @ref other() */")
    assert [(name, span.column) for name, span in doc.references] == [
        ("diopiA", 6),
        ("diopiB", 14),
        ("diopiC", 23),
        ("diopi5D", 66),
        ("other", 90),
    ]


def test_literal_text_is_left_out() -> None:
    doc = parse("/**\n * @code\n * diopiAdd(ctx); // @param x\n * @endcode\n * @param y a y, see diopiSub\n */")
    assert params(doc) == [("y", "", "a y, see diopiSub")]
    assert doc.references == (("diopiSub", Span("a.h", 14, 22, 14, 30)),)
    assert parse("/** @verbatim diopiAdd never ends */").references == ()


@given(st.text(alphabet="/*! \n\r@\\param[in]code,x量diopA()<", max_size=80))
def test_any_text_is_read_and_every_span_is_true(raw: str) -> None:
    lines = raw.split("\n")
    doc = parse(raw, line=1)
    for name, span in [*((p.name, p.span) for p in doc.params), *doc.references]:
        assert span is not None
        assert lines[span.line - 1][span.column - 1 : span.end_column - 1] == name
