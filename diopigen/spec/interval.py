"""Intervals of numbers as the spec writes them: `[0, 1)`, `(0, inf)`, `[0, size(input, dim)]`.

A bracket says that the end is in the interval, a parenthesis that it is not. The ends are expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from diopigen.spec.expression import Expression, ExpressionError, Name, Number, Unary, parse, to_text

INFINITY = Name("inf")


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of an interval, and whether each is in it."""

    low: Expression
    high: Expression
    has_low: bool
    has_high: bool

    @property
    def is_open_below(self) -> bool:
        """Returns whether there is no smallest end: minus infinity."""
        return self.low == Unary("-", INFINITY)

    @property
    def is_open_above(self) -> bool:
        """Returns whether there is no largest end: infinity."""
        return self.high == INFINITY

    @property
    def is_empty(self) -> bool:
        """Returns whether no number is in it, as far as its ends are numbers."""
        low, high = constant(self.low), constant(self.high)
        if low is None or high is None:
            return False
        return low > high or (low == high and not (self.has_low and self.has_high))

    def __str__(self) -> str:
        low, high = "[" if self.has_low else "(", "]" if self.has_high else ")"
        return f"{low}{to_text(self.low)}, {to_text(self.high)}{high}"


def constant(expression: Expression) -> Union[int, float, None]:
    """The number that an end is, or None for an expression."""
    if expression == INFINITY:
        return float("inf")
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, Unary) and expression.operator == "-":
        value = constant(expression.operand)
        return None if value is None else -value
    return None


def is_interval(text: str) -> bool:
    """Returns whether a text has the form of an interval: two parts in brackets."""
    whole = text.strip()
    return len(whole) > 1 and whole[0] in "[(" and whole[-1] in "])" and len(_commas(text)) == 1


def parse_interval(text: str) -> Interval:
    """The interval that `text` holds. Raises `ExpressionError`."""
    first = len(text) - len(text.lstrip())
    last = len(text.rstrip()) - 1
    if last <= first or text[first] not in "[(":
        raise ExpressionError("expected '[' or '('", min(first, max(len(text) - 1, 0)))
    if text[last] not in "])":
        raise ExpressionError("expected ']' or ')'", last)
    commas = _commas(text)
    if len(commas) != 1:
        raise ExpressionError("expected two ends with a comma between them", first, last - first + 1)
    # Blanks in place of what comes before keep the offsets of an end those of the whole text.
    low = parse(" " * (first + 1) + text[first + 1 : commas[0]])
    high = parse(" " * (commas[0] + 1) + text[commas[0] + 1 : last])
    return Interval(low, high, text[first] == "[", text[last] == "]")


def _commas(text: str) -> list[int]:
    """The offsets of the commas that separate the ends: those inside one pair of brackets."""
    depth, found = 0, []
    for offset, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 1:
            found.append(offset)
    return found
