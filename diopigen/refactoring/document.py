"""A YAML file with the edits that are planned for it. Comments and layout stay: only what changes is replaced."""

from __future__ import annotations

import re
from collections.abc import Callable

from diopigen.diagnostics import Sink, Span
from diopigen.spec.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.text_edits import TextEdit, line_starts
from diopigen.spec.yaml_reader import parse_yaml

_QUOTES = ("'", '"')


class Document:
    """The text of a file and its nodes; `path` is what spans call it. A text that is no YAML has no `root`."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.root = parse_yaml(text, path, Sink())
        self._lines: list[str] = re.findall(r"[^\n]*\n|[^\n]+", text)
        self._starts = line_starts(self._lines)
        self._edits: set[TextEdit] = set()

    def edits(self) -> list[TextEdit]:
        """The edits in order; one that is inside another, of which all is removed, does not count."""
        selected: list[TextEdit] = []
        for edit in sorted(self._edits, key=lambda one: (one.start, -one.stop)):
            if not selected or edit.start >= selected[-1].stop:
                selected.append(edit)
        return selected

    def loses(self, position: int) -> bool:
        """Returns whether what is at a position is removed or replaced."""
        return any(edit.start <= position < edit.stop for edit in self._edits)

    def in_comments(self, node: Node, word: str) -> list[int]:
        """The positions of a word in the comments of a block, those right above it included."""
        start = first = self._line_of(self._range(node.span)[0])
        while first > 0 and self._is_comment(first - 1):
            first -= 1
        pattern = re.compile(rf"(?<!\w){word}(?!\w)")
        found = []
        for number in range(first, self._end_of(start)):
            comment = re.search(r"(?:^|\s)#", self._lines[number])
            if comment is not None:
                matches = pattern.finditer(self._lines[number], comment.end())
                found += [self._starts[number] + match.start() for match in matches]
        return found

    # ---- words ------------------------------------------------------------------------------------------------------

    def replace(self, node: ScalarNode, new: str) -> None:
        """Another value for a word; its quotes stay."""
        self.substitute(node, lambda _text, _start: [(0, len(_text), new)])

    def replace_words(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> None:
        """Replaces what a pattern matches anywhere in the file, comments included."""
        for match in pattern.finditer(self.text):
            self._edits.add(TextEdit(*match.span(), new(match)))

    def add_behind(self, mapping: MappingNode, key: str, text: str) -> None:
        """Adds `key: value` behind the scalar of a key of a mapping."""
        stop = self._range(mapping.entries[key].value.span)[1]
        is_flow = self.text.startswith("{", self._range(mapping.span)[0])
        self._edits.add(TextEdit(stop, stop, f", {text}" if is_flow else f"\n{' ' * (mapping.span.column - 1)}{text}"))

    def substitute(self, node: ScalarNode, edits: Callable[[str, int], list[tuple[int, int, str]]]) -> None:
        """Edits in the source text of a scalar, without its quotes: `edits` gets it and its position in the file, and
        returns replacements by offset in it."""
        start, stop = self._range(node.span)
        if self.text[start:stop][:1] in _QUOTES:
            start, stop = start + 1, stop - 1
        for first, last, text in edits(self.text[start:stop], start):
            self._edits.add(TextEdit(start + first, start + last, text))

    # ---- items and keys ---------------------------------------------------------------------------------------------

    def remove_items(self, sequence: SequenceNode, items: list[Node]) -> None:
        """Removes items of a list, each with its lines and the comment right above it. A list that loses all becomes
        `[]`."""
        if not items:
            return
        start, stop = self._range(sequence.span)
        is_flow = self.text[start] == "["
        if len(items) == len(sequence.items):
            if is_flow:
                self._edits.add(TextEdit(start, stop, "[]"))
                return
            above = self._line_of(self._range(items[0].span)[0]) - 1
            while not self._lines[above].split("#")[0].strip():
                above -= 1
            key = self._starts[above] + len(self._lines[above].split(" #")[0].rstrip())
            self._edits.add(TextEdit(key, key, " []"))
        for item in items:
            if is_flow:
                self._remove_between_commas(*self._range(item.span))
            else:
                self._remove_lines(self._line_of(self._range(item.span)[0]), has_comment=True)

    def remove_key(self, entry: Entry) -> None:
        """Removes a key of a mapping with its value."""
        start, stop = self._range(entry.key_span)[0], self._range(entry.value.span)[1]
        number = self._line_of(start)
        if self._lines[number][: start - self._starts[number]].strip(" -"):
            self._remove_between_commas(start, stop)
        else:
            self._remove_lines(number, has_comment=False)

    def append_items(self, key: Entry, lines: list[str]) -> None:
        """Adds items, each of which is one line, to the end of a list of lines; `[]` becomes a list of them."""
        assert isinstance(key.value, SequenceNode)
        start, stop = self._range(key.value.span)
        position = self._range(key.key_span)[0]
        indent = " " * (position - self._starts[self._line_of(position)] + 2)
        text = "".join(f"{indent}- {line}\n" for line in lines)
        if key.value.items:
            last = self._starts[self._end_of(self._line_of(self._range(key.value.items[-1].span)[0]))]
            self._edits.add(TextEdit(last, last, text))
        elif lines:
            before = len(self.text[:start].rstrip(" "))
            self._edits.add(TextEdit(before, stop, f"\n{text[:-1]}"))

    def _remove_lines(self, first: int, *, has_comment: bool) -> None:
        """The lines of what begins on a line; of blank lines around it one stays."""
        stop = self._end_of(first)
        depth = _depth(self._lines[first])
        while has_comment and first > 0 and self._is_comment(first - 1) and _depth(self._lines[first - 1]) == depth:
            first -= 1
        above = self._lines[first - 1] if first > 0 else ""
        if stop == len(self._lines):
            first -= first > 0 and not above.strip()
        elif not self._lines[stop].strip() and (not above.strip() or above.rstrip().endswith(":")):
            stop += 1
        self._edits.add(TextEdit(self._starts[first], self._starts[stop], ""))

    def _end_of(self, first: int) -> int:
        """The line behind what begins on a line: all that is indented further belongs to it."""
        depth, stop = _depth(self._lines[first]), first + 1
        for number in range(first + 1, len(self._lines)):
            if not self._lines[number].strip():
                continue
            if _depth(self._lines[number]) > depth:
                stop = number + 1
            elif not self._is_comment(number):
                break
        return stop

    def _is_comment(self, number: int) -> bool:
        return self._lines[number].lstrip().startswith("#")

    def _remove_between_commas(self, start: int, stop: int) -> None:
        after = re.compile(r"\s*,\s*").match(self.text, stop)
        before = re.compile(r",\s*\Z").search(self.text[:start])
        if before is not None:
            start = before.start()
        elif after is not None:
            stop = after.end()
        self._edits.add(TextEdit(start, stop, ""))

    def _range(self, span: Span) -> tuple[int, int]:
        first = self._starts[span.line - 1] + span.column - 1
        return first, min(
            self._starts[min(span.end_line, len(self._lines) + 1) - 1] + span.end_column - 1, len(self.text)
        )

    def _line_of(self, position: int) -> int:
        """The index of the line of a position."""
        return max(number for number, start in enumerate(self._starts[:-1]) if start <= position)


def sequence(node: Node | None, key: str) -> SequenceNode | None:
    """The list under a key of a mapping; None where there is none."""
    value = node.get(key) if isinstance(node, MappingNode) else None
    return value if isinstance(value, SequenceNode) else None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
