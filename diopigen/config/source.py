"""The text of a convert_config.yaml: read, full-width punctuation put right, every place kept exact.

Columns in findings are those of the file as the vendor sees it, also where a space had to be put in to make YAML of a
full-width colon, and inside a text that runs over several lines.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from diopigen.diagnostics import Correction, Diagnostic, Failure, Note, Sink, Span
from diopigen.header.rules import NOTE, WARNING, Reporter, Rule, Rules
from diopigen.spec.nodes import Node, ScalarNode
from diopigen.spec.text_file import read_text
from diopigen.spec.yaml_reader import parse_yaml

RULES: Rules = {
    "config-full-width": Rule(NOTE, "full-width punctuation is read as its ASCII form"),
    "config-yaml-word": Rule(WARNING, "a flag is written true or false, which every YAML reader understands"),
}

_FULL_WIDTH = re.compile("[\u3000\u3001\uff01-\uff5e]")
_ASCII = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {0x3000: " ", 0x3001: ","}
# libyaml takes these for line breaks, which YAML 1.2 and editors do not: lines would be counted differently.
_NO_BREAKS = {0x85: " ", 0x2028: " ", 0x2029: " "}
_LONE_RETURN = re.compile("\r(?!\n)")
_BEFORE_QUOTE = " \t[{,"

# Words that some YAML readers take for a bool, with a form as long that is read alike by ours. `True` is the
# same in YAML 1.1 and 1.2, so that it needs no word of warning.
_TRUTH = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false", "Null": "null", "NULL": "null"}
_SWITCH = {"yes": "yEs", "no": "nO", "on": "oN", "off": "oFf"}
SWITCHES = {"yEs": True, "nO": False, "oN": True, "oFf": False}
"""Values that YAML reads for flags written as yes, no, on or off, and their meaning."""


class Source:
    """The text of one file, as it is and as it is given to the YAML reader."""

    def __init__(self, file: str, text: str, report: Reporter) -> None:
        self.file = file
        self._inserted: dict[int, list[int]] = {}
        self._known: dict[int, tuple[ScalarNode, list[tuple[int, int]] | None]] = {}
        lines = _LONE_RETURN.sub("\n", text).translate(_NO_BREAKS).split("\n")
        if _FULL_WIDTH.search(text):
            lines = self._normalised(lines, report)
        self._lines = lines

    @property
    def text(self) -> str:
        """Text passed to the YAML reader."""
        return "\n".join(self._lines)

    def locate(self, span: Span) -> Span:
        """A place in the text for the YAML reader as a place in the file."""
        if not self._inserted:
            return span
        return Span(
            span.file,
            span.line,
            self._column(span.line, span.column),
            span.end_line,
            self._column(span.end_line, span.end_column),
        )

    def inside(self, node: ScalarNode, offset: int, length: int = 1) -> Span:
        """The place of `length` characters at `offset` in the text of a scalar, which may run over several lines."""
        span = node.span
        if span.line == span.end_line and "\\" not in node.text and "'" not in node.text:
            return self.locate(node.inner(offset, length))
        if id(node) not in self._known:  # the node is kept too, so that no other one gets its id
            self._known[id(node)] = (node, self._positions(node))
        positions = self._known[id(node)][1]
        if positions is None or not 0 <= offset < len(positions):
            return self.locate(span)
        line, column = positions[offset]
        return self.locate(Span(self.file, line, column, line, column + length))

    def replace(self, line: int, column: int, old: str, new: str) -> None:
        """Puts `new` in place of `old`, which is as long, in the text for the YAML reader."""
        text = self._lines[line - 1]
        self._lines[line - 1] = text[: column - 1] + new + text[column - 1 + len(old) :]

    def _column(self, line: int, column: int) -> int:
        return column - sum(at < column for at in self._inserted.get(line, ()))

    def _positions(self, node: ScalarNode) -> list[tuple[int, int]] | None:
        """Line and column of each character of a scalar's text; None where escapes hide them.

        Folding turns line ends and indentation into single spaces, so that only the other characters are matched;
        a space takes the place of the character that follows it.
        """
        start, end = node.span, node.span
        line, column = start.line - 1, start.column - 1
        style = "" if node.plain else self._lines[line][column : column + 1]
        if style:
            column = len(self._lines[line]) if style in "|>" else column + 1
        found: list[tuple[int, int]] = []
        pending = 0
        for character in node.text:
            if character.isspace():
                pending += 1
                continue
            while line < end.end_line and self._lines[line][column : column + 1].strip() == "":
                line, column = (line, column + 1) if column < len(self._lines[line]) else (line + 1, 0)
                if line >= len(self._lines):
                    return None
            if self._lines[line][column] != character:
                return None
            found += [(line + 1, column + 1)] * (pending + 1)
            pending = 0
            column += 2 if character == style == "'" else 1
        last = found[-1] if found else (start.line, start.column)
        return found + [last] * pending

    def _normalised(self, lines: list[str], report: Reporter) -> list[str]:
        items = []
        quote = ""
        for number, line in enumerate(lines, 1):
            if not quote and not _FULL_WIDTH.search(line) and not any(mark in line for mark in "'\""):
                items.append(line)
                continue
            new, quote, seen = self._normalised_line(number, line, quote)
            items.append(new)
            if seen:
                pairs = ", ".join(f"'{old}' as '{_ASCII[ord(old)]}'" for old in dict.fromkeys(c for _, c in seen))
                column = seen[0][0]
                span = Span(self.file, number, column, number, column + 1)
                report("config-full-width", f"full-width {pairs}", span, fix="nothing; or write the ASCII form")
        return items

    def _normalised_line(self, number: int, line: str, quote: str) -> tuple[str, str, list[tuple[int, str]]]:
        """A line with ASCII punctuation, the quote that is open at its end, and (column, character) of what was not."""
        out: list[str] = []
        seen: list[tuple[int, str]] = []
        for index, character in enumerate(line):
            ascii_form = _ASCII.get(ord(character), character)
            before = out[-1] if out else " "
            if quote:
                quote = "" if character == quote else quote
            elif ascii_form == "#" and before.isspace():
                out += ["#", line[index + 1 :]]
                if character != "#":
                    seen.append((index + 1, character))
                break
            elif character in "'\"" and before in _BEFORE_QUOTE:
                quote = character
            out.append(ascii_form)
            if ascii_form == character:
                continue
            seen.append((index + 1, character))
            following = line[index + 1 : index + 2]
            marks_entry = ascii_form == "-" and not "".join(out[:-1]).strip() and following not in (">", "＞")
            if (ascii_form == ":" or marks_entry) and not quote and following.strip():
                out.append(" ")
                self._inserted.setdefault(number, []).append(len("".join(out)))
        return "".join(out), quote, seen


def read_nodes(path: Path, display: str, sink: Sink) -> tuple[Source, Node | None] | None:
    """The text and the root node of a file, the node None where it holds nothing; None where it cannot be read."""
    try:
        text = read_text(path, display)
    except Failure as fault:
        sink.extend(fault.diagnostics)
        return None
    return parse_nodes(text, display, sink)


def parse_nodes(text: str, display: str, sink: Sink) -> tuple[Source, Node | None] | None:
    """As `read_nodes`, of a text."""
    report = Reporter(RULES, sink)
    source = Source(display, text, report)
    found = Sink()
    root = parse_yaml(source.text, display, found)
    if found.has_errors and _put_words_right(source, found.sorted(), report):
        found = Sink()
        root = parse_yaml(source.text, display, found)
    others = [finding for finding in found.sorted() if finding.code != "yaml-empty"]
    sink.extend(_placed(finding, source) for finding in others)
    return None if others else (source, root)


def _placed(finding: Diagnostic, source: Source) -> Diagnostic:
    span = source.locate(finding.span) if finding.span else None
    notes = tuple(Note(note.message, source.locate(note.span) if note.span else None) for note in finding.notes)
    return replace(finding, span=span, notes=notes)


def _put_words_right(source: Source, findings: list[Diagnostic], report: Reporter) -> bool:
    """Replaces words for bools by words that are read alike everywhere; whether there was one."""
    replaced = False
    lines = source.text.split("\n")
    for finding in findings:
        span = finding.span
        if finding.code != "yaml-ambiguous" or span is None:
            continue
        word = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        new = _TRUTH.get(word) or _SWITCH.get(word.lower())
        if new is None:
            continue
        if word not in _TRUTH:
            message = f"'{word}' is text to some YAML readers and a bool to others"
            value = str(SWITCHES[new]).lower()
            report("config-yaml-word", message, source.locate(span), fix=Correction.of(f"write {value}", word, value))
        source.replace(span.line, span.column, word, new)
        replaced = True
    return replaced
