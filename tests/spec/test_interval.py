"""Intervals: what they hold, how they print, and where they go wrong."""

from __future__ import annotations

import pytest

from diopigen.spec.expression import Call, ExpressionError, parse
from diopigen.spec.interval import Interval, constant, is_interval, parse_interval


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[0, 1)", Interval(parse("0"), parse("1"), True, False)),
        (" ( -inf ,inf ] ", Interval(parse("-inf"), parse("inf"), False, True)),
        ("[0, min(a, size(x, (1)))]", Interval(parse("0"), parse("min(a, size(x, (1)))"), True, True)),
        ("((a), (b))", Interval(parse("a"), parse("b"), False, False)),
    ],
)
def test_an_interval_is_read(text: str, expected: Interval) -> None:
    assert parse_interval(text) == expected
    assert is_interval(text)
    assert parse_interval(str(expected)) == expected


def test_ends_know_their_positions() -> None:
    found = parse_interval("[0, size(input, axis))")
    assert found.high.offset == 4
    assert isinstance(found.high, Call)
    assert [part.offset for part in found.high.arguments] == [9, 16]


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("[", 0),
        ("0, 1", 0),
        ("[0, 1", 4),
        ("[0]", 0),
        ("[0, 1, 2]", 0),
        ("[0, ]", 4),
        ("[, 1]", 1),
        ("[0 1, 2]", 3),
    ],
)
def test_what_is_no_interval_says_where(text: str, offset: int) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_interval(text)
    assert error.value.offset == offset


@pytest.mark.parametrize("text", ["rank(input)", "(a) * (b)", "max(a, b)", "(a + b)"])
def test_an_expression_is_no_interval(text: str) -> None:
    assert not is_interval(text)


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [("[0, 1]", False), ("[1, 1]", False), ("[1, 1)", True), ("(2, 1)", True), ("[inf, 0]", True), ("[a, 0)", False)],
)
def test_emptiness(text: str, is_empty: bool) -> None:
    assert parse_interval(text).is_empty == is_empty


def test_constants() -> None:
    assert [constant(parse(text)) for text in ("-2", "0.5", "inf", "-inf", "a", "-a", "1 + 1")] == [
        -2, 0.5, float("inf"), float("-inf"), None, None, None,
    ]  # fmt: skip
