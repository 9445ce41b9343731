"""YAML files read into nodes.

PyYAML's own loaders keep the last of duplicate keys in silence, read `no` as False, `1e-5` as text and `1:30` as 90,
and its composer recurses without a limit. This module builds nodes from the event stream instead, which is also the
fastest way: plain scalars follow the YAML 1.2 core schema, and whatever a YAML 1.1 reader would take for something
else is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from diopigen.diagnostics import Correction, Failure, Note, Sink, Span, failure
from diopigen.spec.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode, kind_of, position_of, shorten
from diopigen.spec.plain_scalar import SUSPECT, Scalar, is_ambiguous, resolve
from diopigen.spec.text_file import read_text

RULES = {
    "yaml-syntax": "A file of the spec is YAML.",
    "yaml-empty": "A file of the spec holds a YAML document.",
    "yaml-documents": "A file of the spec holds one YAML document.",
    "yaml-too-deep": "Lists and mappings are nested at most 32 levels deep.",
    "yaml-alias": "Values are where they are used, without anchors and aliases.",
    "yaml-tag": "Types follow from the grammar, not from YAML tags.",
    "yaml-ambiguous": "A plain word or number means the same to every YAML reader.",
    "yaml-character": "A text has no characters that control its direction or its lines, or that are not seen.",
    "yaml-number": "A number can be held in double precision.",
    "yaml-key": "The key of a mapping is a word.",
    "duplicate-key": "A key is in a mapping once.",
}
"""The rules that YAML text is held to, with what each one is for; those about files are in `text_file`."""

_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
"""All control characters but tab and line feed, line separators, and marks of the direction of text."""
MAX_DEPTH = 32
_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"


def load_yaml(path: Path, display: str, sink: Sink) -> Node | None:
    """The root node of a YAML file, or None where an error was reported to `sink`."""
    try:
        return parse_yaml(read_text(path, display), display, sink)
    except Failure as fault:
        sink.extend(fault.diagnostics)
        return None


def parse_yaml(text: str, display: str, sink: Sink) -> Node | None:
    """The root node of YAML text; `display` is the file name in spans. Errors go to `sink` and give None."""
    builder = _Builder(display, sink)
    try:
        try:
            builder.run(text)
        except yaml.scanner.ScannerError as error:
            if error.problem != _TOO_DEEP_FOR_LIBYAML:
                raise
            # It looks ahead to its own limit. The parser in Python does not: the builder's limit comes first.
            builder = _Builder(display, sink)
            builder.run(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        span = Span(display, mark.line + 1, mark.column + 1) if mark else Span(display)
        problem, fix = _problem(error, text, mark)
        sink.error("yaml-syntax", problem, span, fix=fix)
        return None
    except yaml.YAMLError as error:  # a reader error: a control character, say
        position = getattr(error, "position", 0)  # counts bytes
        before = text.encode()[: position if isinstance(position, int) else 0].decode(errors="ignore")
        _report_character(before, str(getattr(error, "reason", error)), display, sink)
        return None
    except UnicodeEncodeError as error:
        _report_character(text[: error.start], "lone surrogates are not allowed", display, sink)
        return None
    except Failure as fault:
        sink.extend(fault.diagnostics)
        return None
    if builder.root is None:
        sink.error("yaml-empty", "holds no YAML document", Span(display), fix="see docs/spec.md for the grammar")
        return None
    return None if builder.failed else builder.root


def _problem(error: yaml.MarkedYAMLError, text: str, mark: Any) -> tuple[str, str]:
    """Error and fix: names a tab and a character that begins no value, which libyaml does not."""
    problem = error.problem or error.context or "is not YAML"
    lines = text.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    character = line[mark.column : mark.column + 1] if mark else ""
    if character == "\t":
        fix = Correction.of("replace the tab by spaces", "\t", " ")
        return "a tab in the indentation, where YAML has only spaces", fix
    if problem == "found character that cannot start any token" and character:
        return f"'{character}' begins no value in YAML", "put the text between quotes"
    return problem, "correct the YAML; a text with ': ' or ', ' may need quotes"


def _report_character(before: str, problem: str, display: str, sink: Sink) -> None:
    span = Span(display, before.count("\n") + 1, len(before) - before.rfind("\n"))
    sink.error("yaml-syntax", problem, span, fix="remove the character")


class _Open:
    """A collection whose end has not been seen yet."""

    __slots__ = ("entries", "is_mapping", "items", "key", "skip_value", "start")

    def __init__(self, is_mapping: bool, start: int) -> None:
        self.is_mapping = is_mapping
        self.start = start
        self.items: list[Node] = []
        self.entries: dict[str, Entry] = {}
        self.key: Node | None = None
        self.skip_value = False


class _Builder:
    """Nodes out of YAML events, with an explicit stack: the depth of the input is bounded, not trusted."""

    def __init__(self, display: str, sink: Sink) -> None:
        self.display = display
        self.sink = sink
        self.root: Node | None = None
        self.failed = False
        self.stack: list[_Open] = []
        self.handlers: dict[type, Callable[[Any], None]] = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._open,
            yaml.SequenceStartEvent: self._open,
            yaml.MappingEndEvent: self._close,
            yaml.SequenceEndEvent: self._close,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }

    def run(self, text: str, loader: Any = yaml.CSafeLoader) -> None:
        """Feeds all events of the text. Raises what the YAML parser raises, and `Failure`."""
        parser = loader(text)
        try:
            handlers = self.handlers
            event = parser.get_event()
            while event is not None:
                handler = handlers.get(type(event))
                if handler is not None:
                    handler(event)
                event = parser.get_event()
        finally:
            parser.dispose()

    def _open(self, event: Any) -> None:
        self._check_decoration(event)
        if len(self.stack) >= MAX_DEPTH:
            span = self._span(event.start_mark, event.start_mark)
            raise failure("yaml-too-deep", f"nested more than {MAX_DEPTH} levels deep", span, "flatten the structure")
        self.stack.append(_Open(type(event) is yaml.MappingStartEvent, position_of(event.start_mark)))

    def _close(self, event: Any) -> None:
        done = self.stack.pop()
        if done.is_mapping:
            self._location(MappingNode(done.entries, self.display, done.start, position_of(event.end_mark)))
        else:
            self._location(SequenceNode(tuple(done.items), self.display, done.start, position_of(event.end_mark)))

    def _alias(self, event: Any) -> None:
        fix = "write the value out; aliases hide where it stands"
        self._error("yaml-alias", f"alias '*{event.anchor}'", event, fix)
        self._location(
            ScalarNode(None, "", True, self.display, position_of(event.start_mark), position_of(event.end_mark))
        )

    def _document(self, event: Any) -> None:
        if self.root is not None:
            span = self._span(event.start_mark, event.end_mark)
            raise failure("yaml-documents", "a second YAML document starts here", span, "keep one document in a file")

    def _check_decoration(self, event: Any) -> None:
        if event.anchor is not None:
            self._error("yaml-alias", f"anchor '&{event.anchor}'", event, "write the value where it is used")
        if event.tag is not None:
            self._error("yaml-tag", f"tag '{event.tag}'", event, "remove the tag; types follow from the grammar")

    def _error(self, code: str, message: str, event: Any, fix: str) -> None:
        self.failed = True
        self.sink.error(code, message, self._span(event.start_mark, event.end_mark), fix=fix)

    def _span(self, start: Any, end: Any) -> Span:
        return Span(self.display, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def _scalar(self, event: Any) -> None:
        if event.anchor is not None or event.tag is not None:
            self._check_decoration(event)
        text: str = event.value
        if (hidden := _HIDDEN.search(text)) is not None:
            name = unicodedata.name(hidden[0], "a control character")
            message = f"the text has U+{ord(hidden[0]):04X} ({name.lower()}), which is not seen where the text is shown"
            self._error("yaml-character", message, event, "remove the character")
        start, end = position_of(event.start_mark), position_of(event.end_mark)
        if event.style:
            node = ScalarNode(text, text, False, self.display, start, end)
        else:
            first = text[:1]
            value: Scalar = text
            if first in SUSPECT:
                if is_ambiguous(text):
                    message = f"'{text}' means different things to different YAML readers"
                    fix = f'quote it ("{text}"), or write true, false, null or a number'
                    self._error("yaml-ambiguous", message, event, fix)
                try:
                    value = resolve(text)
                except OverflowError:
                    fix = "write .inf, or quote it to make it a text"
                    self._error("yaml-number", f"the number {shorten(text)} is out of range", event, fix)
            node = ScalarNode(value, text, True, self.display, start, end)
        self._location(node)

    def _location(self, node: Node) -> None:
        if not self.stack:
            self.root = node
            return
        top = self.stack[-1]
        if not top.is_mapping:
            top.items.append(node)
        elif top.key is None:
            self._start_entry(top, node)
        else:
            key_node, top.key = top.key, None
            if top.skip_value:
                top.skip_value = False
            elif isinstance(key_node, ScalarNode):
                top.entries[key_node.text] = Entry(key_node.text, key_node, node)

    def _start_entry(self, top: _Open, node: Node) -> None:
        top.key = node
        if not isinstance(node, ScalarNode):
            self.failed = True
            self.sink.error("yaml-key", f"{kind_of(node)} as a key", node.span, fix="keys are words")
            top.skip_value = True
        elif node.text in top.entries:
            self.failed = True
            top.skip_value = True
            first = Note("first given here", top.entries[node.text].key_span)
            message = f"key '{node.text}' is given twice"
            self.sink.error("duplicate-key", message, node.span, notes=[first], fix="keep one of the two")
