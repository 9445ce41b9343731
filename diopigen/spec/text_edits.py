"""Edits of a text by positions, so that comments and layout stay."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from diopigen.diagnostics import Span


@dataclass(frozen=True, slots=True, order=True)
class TextEdit:
    """Characters of a text, from `start` to `stop`, that become `text`."""

    start: int
    stop: int
    text: str


def applied(edits: Sequence[TextEdit], text: str) -> str:
    """The text with edits, which are in order and do not overlap."""
    parts, position = [], 0
    for edit in edits:
        parts += [text[position : edit.start], edit.text]
        position = edit.stop
    return "".join([*parts, text[position:]])


def moved(edits: Iterable[TextEdit], position: int) -> int:
    """Position after edits; replaced text is at the start of its replacement."""
    shift = 0
    for edit in edits:
        if edit.start >= position and edit.stop > position:
            break
        if edit.stop > position:
            return edit.start + shift
        shift += len(edit.text) - (edit.stop - edit.start)
    return position + shift


def inverse(edits: Iterable[TextEdit], text: str) -> list[TextEdit]:
    """The edits that undo edits of a text."""
    undone, shift = [], 0
    for edit in edits:
        start = edit.start + shift
        undone.append(TextEdit(start, start + len(edit.text), text[edit.start : edit.stop]))
        shift += len(edit.text) - (edit.stop - edit.start)
    return undone


def span_at(file: str, text: str, position: int, length: int) -> Span:
    """The span of characters on one line of a text."""
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    return Span(file, line, column, line, column + length)


def line_starts(lines: Iterable[str]) -> list[int]:
    """The position of each line, and that of the end."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    return starts


def unified_diff(before: Mapping[str, str], after: Mapping[str, str | None], folder: str = "") -> str:
    """The changes of files by path as a unified diff; `folder` is what paths are below, None a file that is gone."""
    return "".join(
        line
        for path, text in sorted(after.items())
        for line in difflib.unified_diff(
            before[path].splitlines(keepends=True),
            (text or "").splitlines(keepends=True),
            posixpath.join("a", folder, path.lstrip("/")),
            "/dev/null" if text is None else posixpath.join("b", folder, path.lstrip("/")),
        )
    )
