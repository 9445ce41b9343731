"""Edits of a text by positions, so that comments and layout stay."""

from __future__ import annotations

import difflib
import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


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
