"""YAML as nodes that know where they are in their file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Union

from diopigen.diagnostics import Span
from diopigen.spec.plain_scalar import Scalar as Scalar

# Nodes are made and cached by the ten thousand at every start of the program, so they are plain slotted classes with
# positions as numbers, and their spans are made on demand: frozen dataclasses with ready spans took twice as long. A
# node does not change once it stands.

_COLUMNS = 1 << 32
_FIRST = _COLUMNS + 1


def position_of(mark: Any) -> int:
    """A mark of YAML's parser as a number: a node keeps two, and the cache stores them."""
    position: int = mark.line * _COLUMNS + mark.column + _FIRST
    return position


class _Placed:
    """A node with the file and the positions between which it stands."""

    __slots__ = ("_end", "_file", "_start")

    def __init__(self, file: str, start: int, end: int) -> None:
        self._file = file
        self._start = start
        self._end = end

    @property
    def span(self) -> Span:
        """Position of the node."""
        return Span(self._file, *divmod(self._start, _COLUMNS), *divmod(self._end, _COLUMNS))


def _positions(span: Span) -> tuple[int, int]:
    return span.line * _COLUMNS + span.column, span.end_line * _COLUMNS + span.end_column


class ScalarNode(_Placed):
    """A scalar with its value; `plain` where it is without quotes, `text` is what is in the file."""

    __slots__ = ("plain", "text", "value")

    def __init__(self, value: Scalar, text: str, plain: bool, file: str, start: int, end: int) -> None:
        self.value = value
        self.text = text
        self.plain = plain
        self._file = file
        self._start = start
        self._end = end

    @classmethod
    def created(cls, value: str, span: Span) -> ScalarNode:
        """A scalar that is in no file as such; `span` is the place that it comes from."""
        return cls(value, value, True, span.file, *_positions(span))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return ScalarNode, (self.value, self.text, self.plain, self._file, self._start, self._end)

    def inner(self, offset: int, length: int = 1) -> Span:
        """The place of `length` characters at `offset` inside the text; see `inside`."""
        return inside(self.span, self.text, offset, length)


class SequenceNode(_Placed):
    """A sequence."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Node, ...], file: str, start: int, end: int) -> None:
        super().__init__(file, start, end)
        self.items = items

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return SequenceNode, (self.items, self._file, self._start, self._end)

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

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return Entry, (self.key, self.key_node, self.value)

    @property
    def key_span(self) -> Span:
        """Position of the key."""
        return self.key_node.span


class MappingNode(_Placed):
    """A mapping with string keys, each once, in the order of the file."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[str, Entry], file: str, start: int, end: int) -> None:
        super().__init__(file, start, end)
        self.entries = entries

    @classmethod
    def empty(cls, span: Span) -> MappingNode:
        """A mapping without keys that stands for something at `span`."""
        return cls({}, span.file, *_positions(span))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return MappingNode, (self.entries, self._file, self._start, self._end)

    def get(self, key: str) -> Node | None:
        entry = self.entries.get(key)
        return entry.value if entry else None

    def key_span(self, key: str) -> Span:
        """Position of the key, or of the mapping itself if the key is missing."""
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
    """Kind of a node, for messages."""
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
    return f"the text '{shorten(value)}'"


def shorten(text: str) -> str:
    """A text, cut where it is too long for a message."""
    return text if len(text) <= 40 else text[:37] + "..."
