"""Definitions of a vendor whose signatures the interface has changed, with the text that they should have."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import Diagnostic, Span
from diopigen.emit.c_text import call_lines
from diopigen.header.cdecl import CFunction
from diopigen.vendor.parameters import plain, updated_params, written_params


@dataclass(frozen=True, slots=True)
class Change:
    """A file with the signatures updated; bodies are left as they are."""

    path: Path
    functions: tuple[str, ...]
    before: str
    after: str

    def diff(self) -> str:
        """The change as a unified diff, in the form that `git apply` and `patch -p1` take."""
        name = self.path.as_posix().lstrip("/")
        return "".join(
            difflib.unified_diff(
                self.before.splitlines(keepends=True), self.after.splitlines(keepends=True), f"a/{name}", f"b/{name}"
            )
        )


def changes(findings: Iterable[Diagnostic], declared: Mapping[str, CFunction]) -> tuple[Change, ...]:
    """The files that have definitions with a wrong signature (`impl-signature`), by path."""
    wrong: dict[str, list[tuple[int, str]]] = {}
    texts: dict[str, str] = {}
    for finding in findings:
        span = finding.span
        if finding.code != "impl-signature" or span is None:
            continue
        if span.file not in texts:
            texts[span.file] = Path(span.file).read_text(encoding="utf-8")
        found = re.match(r"'(\w+)'", finding.message)
        if found and found[1] in declared:
            wrong.setdefault(span.file, []).append((_offset(texts[span.file], span), found[1]))
    edits = []
    for file, positions in sorted(wrong.items()):
        text = texts[file]
        for offset, name in sorted(positions, reverse=True):
            text = _updated(text, offset, declared[name])
        names = tuple(name for _, name in sorted(positions))
        if text != texts[file]:
            edits.append(Change(Path(file), names, texts[file], text))
    return tuple(edits)


def _offset(text: str, span: Span) -> int:
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: span.line - 1]) + span.column - 1


def _updated(text: str, offset: int, function: CFunction) -> str:
    """The text with the parameters of one definition replaced; unchanged where they cannot be found."""
    bare = plain(text)  # parentheses in comments and strings do not count
    start = bare.find(function.name, max(0, offset - 1))
    opening = bare.find("(", start)
    if start < 0 or opening < 0:
        return text
    depth = 0
    for closing in range(opening, len(bare)):
        depth += {"(": 1, ")": -1}.get(bare[closing], 0)
        if depth == 0:
            break
    else:
        return text
    line = text.rfind("\n", 0, start) + 1
    rest = text[closing + 1 : text.find("\n", closing)] if "\n" in text[closing:] else text[closing + 1 :]
    params = updated_params(written_params(text[opening + 1 : closing]), function.params)
    head = call_lines(text[line:opening], params, rest)
    return text[:line] + head + text[closing + 1 + len(rest) :]
