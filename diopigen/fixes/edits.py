"""From findings to edits of a text. Pure: comments and layout stay, since only what is wrong is replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diopigen.diagnostics import Correction, Diagnostic, Sink, Span
from diopigen.spec.text_edits import TextEdit, line_starts
from diopigen.spec.yaml_reader import parse_yaml

_TAB_WIDTHS = (2, 4, 8)


@dataclass(frozen=True, slots=True, order=True)
class Edit(TextEdit):
    """The edit that carries out the fix of a finding."""

    finding: Diagnostic


def edits_of(findings: Iterable[Diagnostic], text: str) -> list[Edit]:
    """The edits of one file that follow from findings without a choice, in order. None touches what another changes."""
    found = [edit for finding in findings for edit in _edit(finding, text)]
    selected: list[Edit] = []
    for edit in sorted(found, key=lambda one: (one.start, one.stop)):
        if not selected or edit.start >= selected[-1].stop:
            selected.append(edit)
    return selected


def _edit(finding: Diagnostic, text: str) -> list[Edit]:
    """The edit of a finding; none where its fix is no correction, or the text is not as the finding says."""
    fix, span = finding.fix, finding.span
    if not isinstance(fix, Correction) or not fix.is_certain or span is None:
        return []
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    if not 1 <= span.line <= len(lines):
        return []
    starts = line_starts(lines)
    begin = starts[span.line - 1]
    if not fix.right:
        return _removal(finding, fix.wrong, text, lines, starts)
    if fix.wrong == "\t":
        width = _tab_width(lines)
        return [
            Edit(start, start + len(_indent(line)), _indent(line).expandtabs(width), finding)
            for start, line in zip(starts, lines, strict=False)
            if width and "\t" in _indent(line)
        ]
    return _within(finding, text, begin + span.column - 1, _end(span, starts, len(text)), fix)


def _removal(finding: Diagnostic, wrong: str, text: str, lines: Sequence[str], starts: Sequence[int]) -> list[Edit]:
    """Edit that removes a line, an item of a list between commas, or for `- name:` a whole item with its content. A
    comment among the lines keeps them."""
    assert finding.span is not None
    number = finding.span.line - 1
    content = lines[number].partition(" #")[0].strip()
    if wrong.endswith(":"):
        stop = number + 1
        while stop < len(lines) and (not lines[stop].strip() or _depth(lines[stop]) > _depth(lines[number])):
            stop += 1
        while not lines[stop - 1].strip():
            stop -= 1
        is_clean = content.startswith(wrong) and not any("#" in line for line in lines[number:stop])
        return [Edit(starts[number], starts[stop], "", finding)] if is_clean else []
    if content in (wrong, f"- {wrong}"):
        return [Edit(starts[number], starts[number + 1], "", finding)]
    start = starts[number] + finding.span.column - 1
    stop = start + len(wrong)
    if text[start:stop] != wrong or not re.fullmatch(r"\w+", wrong):
        return []
    before = re.compile(r",[ ]*$").search(text, starts[number], start)
    after = re.compile(r"[ ]*,[ ]*").match(text, stop)
    if before is not None:
        return [Edit(before.start(), stop, "", finding)]
    return [Edit(start, after.end(), "", finding)] if after is not None else []


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _end(span: Span, starts: Sequence[int], length: int) -> int:
    if not span.line <= span.end_line < len(starts):
        return starts[span.line]
    return min(starts[span.end_line - 1] + span.end_column - 1, length)


def _within(finding: Diagnostic, text: str, start: int, stop: int, fix: Correction) -> list[Edit]:
    """The one occurrence of what is wrong between two positions, as a whole word."""
    word = re.compile(rf"(?<!\w){re.escape(fix.wrong)}(?!\w)")
    matches = [match.span() for match in word.finditer(text, start, stop)]
    if len(matches) != 1:
        return []
    first, last = matches[0]
    return [Edit(first, last, fix.right, finding)]


def _tab_width(lines: Sequence[str]) -> int:
    """The width of tabs with which the text is YAML; 0 where none or several widths do."""
    matching = [width for width in _TAB_WIDTHS if _is_yaml("".join(_spaced(line, width) for line in lines))]
    return matching[0] if len(matching) == 1 else 0


def _is_yaml(text: str) -> bool:
    return parse_yaml(text, "", Sink()) is not None


def _spaced(line: str, width: int) -> str:
    """The line with spaces for tabs in its indentation."""
    indent = _indent(line)
    return indent.expandtabs(width) + line[len(indent) :]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]
