"""The line of a file that a finding points at, as a terminal shows it: tabs, wide characters, long lines cut. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from diopigen.diagnostics import Span

WIDTH = 120
"""So many characters of a line are shown."""
REPLACEMENT = "\ufffd"
SURROGATE = re.compile("[\ud800-\udfff]")

# All control characters but tab and line feed, and those that turn the direction of text: neither a message
# nor a source line may steer the terminal or show itself in another order than it has.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ELLIPSIS = "..."
_TAB_STOP = 4


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A line as it is shown, and the carets below it: columns of the terminal before them, and how many."""

    text: str
    left: int
    width: int


def excerpt(span: Span, lines: Sequence[str]) -> Excerpt | None:
    """The line that a span starts on, of a long one what is around the beginning of the span; carets under the span as
    far as the line goes. None where the file has no such line."""
    if not 1 <= span.line <= len(lines) or span.column < 1:
        return None
    line = lines[span.line - 1].removesuffix("\r")
    start = min(span.column - 1, len(line))
    stop = len(line)
    if span.end_line == span.line:
        stop = min(span.end_column - 1, len(line))
    elif span.end_line < span.line:
        stop = start + 1  # the end is not known
    line, start, stop = _cut(line, start, max(stop, start))
    cells, shown = _cells(line)
    return Excerpt(shown, cells[start], max(1, cells[stop] - cells[start]))


def printable(text: str) -> str:
    """A text that steers no terminal and can be encoded."""
    return _CONTROL.sub(REPLACEMENT, SURROGATE.sub(REPLACEMENT, text))


def _cut(line: str, start: int, stop: int) -> tuple[str, int, int]:
    """At most `WIDTH` characters of a line around `start`, with an ellipsis where something is left out, and where in
    them the span from `start` to `stop` begins and ends."""
    if len(line) <= WIDTH:
        return line, start, min(stop, len(line))
    first = min(max(0, start - WIDTH // 3), len(line) - WIDTH)
    last = first + WIDTH
    head, tail = _ELLIPSIS if first else "", _ELLIPSIS if last < len(line) else ""
    retained = head + line[first + len(head) : last - len(tail)] + tail
    return retained, start - first, min(stop - first, WIDTH)


def _cells(line: str) -> tuple[list[int], str]:
    """The terminal column (from 0) of every character of a line and of its end, and the line as it is shown.

    Tabs become spaces up to the next tab stop, control characters one replacement character each.
    """
    cells, shown, column = [], [], 0
    for character in line:
        cells.append(column)
        if character == "\t":
            character = " " * (_TAB_STOP - column % _TAB_STOP)
            column += len(character)
        else:
            character = printable(character)
            column += _width(character)
        shown.append(character)
    cells.append(column)
    return cells, "".join(shown)


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
