"""YAML files as nodes that know where they stand.

PyYAML's own loaders keep the last of duplicate keys in silence, read `no` as False, `1e-5` as text and `1:30` as 90,
and its composer recurses without a limit. This module builds nodes from the event stream instead, which is also the
fastest way: plain scalars follow the YAML 1.2 core schema, and whatever a YAML 1.1 reader would take for something
else is an error.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Union

import yaml

from diopigen.diagnostics import Failure, Note, Sink, Span, failure
from diopigen.spec.text_file import read_text as read_text

Scalar = Union[str, int, float, bool, None]

RULES = {
    "yaml-syntax": "A file of the spec is YAML.",
    "yaml-empty": "A file of the spec holds a YAML document.",
    "yaml-documents": "A file of the spec holds one YAML document.",
    "yaml-too-deep": "Lists and mappings are nested at most 32 levels deep.",
    "yaml-alias": "Values are where they are used, without anchors and aliases.",
    "yaml-tag": "Types follow from the grammar, not from YAML tags.",
    "yaml-ambiguous": "A plain word or number means the same to every YAML reader.",
    "yaml-number": "A number can be held in double precision.",
    "yaml-key": "The key of a mapping is a word.",
    "duplicate-key": "A key is in a mapping once.",
}
"""The rules that YAML text is held to, with what each one is for; those about files are in `text_file`."""

MAX_DEPTH = 32

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
# What a plain scalar that is no text can begin with: digits, signs, and first letters of words for truth and null.
_SUSPECT = frozenset("0123456789+-.~=tTfFnNyYoO") | {""}
_CONSTANTS: dict[str, Scalar] = {"true": True, "false": False, "null": None, "~": None, "": None}
# Plain scalars that a YAML 1.1 reader turns into a boolean, a number or a date.
_YAML_1_1 = re.compile(
    r"(?:yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF|True|TRUE|False|FALSE|Null|NULL"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"
    r"|[-+]?0[0-9_]+|0o[0-7]+|[-+]?0b[01_]+|[-+]0x[0-9a-fA-F_]+|0x_[0-9a-fA-F_]*|0x[0-9a-fA-F]+_[0-9a-fA-F_]*"
    r"|[-+]?[0-9.][0-9.]*_[0-9_.]*(?:[eE][-+][0-9]+)?"
    r"|[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt \t].*)?|=)\Z"
)


# Nodes are made by the ten thousand at every start of the program, so they are plain slotted classes and their spans
# are made on demand: frozen dataclasses with ready spans took twice as long. A node does not change once it
# stands.


class _Placed:
    """A node with the file and the marks between which it stands."""

    __slots__ = ("_end", "_file", "_start")

    def __init__(self, file: str, start: Any, end: Any) -> None:
        self._file = file
        self._start = start
        self._end = end

    @property
    def span(self) -> Span:
        """Where the node stands."""
        start, end = self._start, self._end
        if isinstance(start, Span):
            return start
        return Span(self._file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


class ScalarNode(_Placed):
    """A scalar with its value; `plain` where it is without quotes, `text` is what is in the file."""

    __slots__ = ("plain", "text", "value")

    def __init__(self, value: Scalar, text: str, plain: bool, file: str, start: Any, end: Any) -> None:
        self.value = value
        self.text = text
        self.plain = plain
        self._file = file
        self._start = start
        self._end = end

    @classmethod
    def made(cls, value: str, span: Span) -> ScalarNode:
        """A scalar that is in no file as such; `span` is the place that it comes from."""
        return cls(value, value, True, span.file, span, span)

    def inner(self, offset: int, length: int = 1) -> Span:
        """The place of `length` characters at `offset` inside the text; see `inside`."""
        return inside(self.span, self.text, offset, length)


class SequenceNode(_Placed):
    """A sequence."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Node, ...], file: str, start: Any, end: Any) -> None:
        super().__init__(file, start, end)
        self.items = items

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)

    def with_items(self, items: tuple[Node, ...]) -> SequenceNode:
        """The same place with other items."""
        return SequenceNode(items, self._file, self._start, self._end)


class Entry:
    """A key of a mapping with its value."""

    __slots__ = ("key", "key_node", "value")

    def __init__(self, key: str, key_node: _Placed, value: Node) -> None:
        self.key = key
        self.key_node = key_node
        self.value = value

    @property
    def key_span(self) -> Span:
        """Where the key stands."""
        return self.key_node.span


class MappingNode(_Placed):
    """A mapping with string keys, each once, in the order of the file."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[str, Entry], file: str, start: Any, end: Any) -> None:
        super().__init__(file, start, end)
        self.entries = entries

    @classmethod
    def empty(cls, span: Span) -> MappingNode:
        """A mapping without keys that stands for something at `span`."""
        return cls({}, span.file, span, span)

    def get(self, key: str) -> Node | None:
        entry = self.entries.get(key)
        return entry.value if entry else None

    def key_span(self, key: str) -> Span:
        """Where the key stands, or the mapping itself where the key is missing."""
        entry = self.entries.get(key)
        return entry.key_span if entry else self.span

    def with_entries(self, entries: dict[str, Entry]) -> MappingNode:
        """The same place with other entries."""
        return MappingNode(entries, self._file, self._start, self._end)


def inside(span: Span, text: str, offset: int, length: int) -> Span:
    """The place of `length` characters at `offset` in `text`, which is at `span`.

    All of `span` where that cannot be told: on several lines, and between quotes with escapes.
    """
    quotes = span.end_column - span.column - len(text)
    if span.line != span.end_line or quotes not in (0, 2):
        return span
    return span.shifted(offset + quotes // 2, length)


Node = Union[ScalarNode, SequenceNode, MappingNode]


def kind_of(node: Node) -> str:
    """What a node is, in words for a message."""
    if isinstance(node, MappingNode):
        return "a mapping"
    if isinstance(node, SequenceNode):
        return "a list"
    value = node.value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {node.text}"
    return f"the text '{_shorten(value)}'"


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


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
        builder.run(text)
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
    """What is wrong and what to do: a tab and a character that begins no value are named, which libyaml does not."""
    problem = error.problem or error.context or "is not YAML"
    lines = text.split("\n")
    line = lines[mark.line] if mark and mark.line < len(lines) else ""
    character = line[mark.column : mark.column + 1] if mark else ""
    if character == "\t":
        return "a tab in the indentation, where YAML has only spaces", "replace the tab by spaces"
    if problem == "found character that cannot start any token" and character:
        return f"'{character}' begins no value in YAML", "put the text between quotes"
    return problem, "correct the YAML; a text with ': ' or ', ' may need quotes"


def _report_character(before: str, problem: str, display: str, sink: Sink) -> None:
    span = Span(display, before.count("\n") + 1, len(before) - before.rfind("\n"))
    sink.error("yaml-syntax", problem, span, fix="remove the character")


class _Open:
    """A collection whose end has not been seen yet."""

    __slots__ = ("entries", "is_mapping", "items", "key", "skip_value", "start")

    def __init__(self, is_mapping: bool, start: Any) -> None:
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

    def run(self, text: str) -> None:
        """Feeds all events of the text. Raises what the YAML parser raises, and `Failure`."""
        parser = yaml.CSafeLoader(text)
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
        self.stack.append(_Open(type(event) is yaml.MappingStartEvent, event.start_mark))

    def _close(self, event: Any) -> None:
        done = self.stack.pop()
        if done.is_mapping:
            self._place(MappingNode(done.entries, self.display, done.start, event.end_mark))
        else:
            self._place(SequenceNode(tuple(done.items), self.display, done.start, event.end_mark))

    def _alias(self, event: Any) -> None:
        fix = "write the value out; aliases hide where it stands"
        self._error("yaml-alias", f"alias '*{event.anchor}'", event, fix)
        self._place(ScalarNode(None, "", True, self.display, event.start_mark, event.end_mark))

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
        if event.style:
            node = ScalarNode(text, text, False, self.display, event.start_mark, event.end_mark)
        else:
            first = text[:1]
            value: Scalar = text
            if first in _SUSPECT:
                if _YAML_1_1.match(text):
                    message = f"'{text}' means different things to different YAML readers"
                    fix = f'quote it ("{text}"), or write true, false, null or a number'
                    self._error("yaml-ambiguous", message, event, fix)
                try:
                    value = _resolve(text)
                except OverflowError:
                    fix = "write .inf, or quote it to make it a text"
                    self._error("yaml-number", f"the number {_shorten(text)} is out of range", event, fix)
            node = ScalarNode(value, text, True, self.display, event.start_mark, event.end_mark)
        self._place(node)

    def _place(self, node: Node) -> None:
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


def _resolve(text: str) -> Scalar:
    """The value of a plain scalar under the YAML 1.2 core schema. Raises `OverflowError` beyond double precision."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    first = text[0]
    if first.isdigit() or first in "+-.":
        if _FLOAT.match(text):
            number = float(text)
            if math.isinf(number):
                raise OverflowError
            return int(text) if _INTEGER.match(text) else number
        if _HEX.match(text):
            whole = int(text, 16)
            float(whole)
            return whole
        if text.lower() in _SPECIAL:
            return _SPECIAL[text.lower()]
    return text
