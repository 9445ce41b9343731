"""Shapes of YAML as data: one table serves the parser's checks and the published JSON Schema.

A `Shape` says what a node may be. `validate` reports every place where a node differs, and `to_json_schema` prints the
same table as draft-07 for editors; a test shows that both accept and refuse the same files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode, kind_of

RULES = {
    "wrong-kind": "A value is of the kind that the grammar asks for: text, number, boolean, list or mapping.",
    "unknown-key": "A mapping has only keys that the grammar knows.",
    "missing-key": "A mapping has every key that the grammar requires.",
    "unknown-word": "A word from a closed list is one of that list.",
    "bad-name": "A name has the form that its use in C, in ATen or in the spec needs.",
    "out-of-range": "A number is not smaller than the grammar allows.",
    "empty-list": "A list that means nothing when empty has an entry.",
}
"""The rules of the grammar, with what each one is for."""


@dataclass(frozen=True, slots=True)
class TextShape:
    """A text; `pattern` is anchored at both ends, `choices` a closed list.

    `vocabulary` names a list of words that a spec declares itself, and `calls` one of functions that may stand for a
    word. The reader looks them up when the spec is loaded; only a JSON Schema for one interface holds them.
    """

    pattern: str | None = None
    choices: tuple[str, ...] = ()
    what: str = "a text"
    vocabulary: str = ""
    calls: str = ""


@dataclass(frozen=True, slots=True)
class IntegerShape:
    """An integer, at least `minimum` where one is given, and at most `maximum`."""

    minimum: int | None = None
    maximum: int = 2**63 - 1


@dataclass(frozen=True, slots=True)
class BooleanShape:
    """true or false."""


@dataclass(frozen=True, slots=True)
class LiteralShape:
    """Any scalar: text, number, boolean or null."""


@dataclass(frozen=True, slots=True)
class AnyShape:
    """Any node: argument recipes are checked against the operator, not by the grammar."""


@dataclass(frozen=True, slots=True)
class NullShape:
    """null."""


@dataclass(frozen=True, slots=True)
class ListShape:
    """A list of items of one shape."""

    item: Shape
    non_empty: bool = False


@dataclass(frozen=True, slots=True)
class MapShape:
    """A mapping with free keys and values of one shape; keys in `fixed` have values of a shape of their own."""

    value: Shape
    key_pattern: str = r"[A-Za-z_][A-Za-z0-9_]*"
    fixed: Mapping[str, Shape] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Field:
    """A key of a record."""

    shape: Shape
    doc: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class RecordShape:
    """A mapping with known keys."""

    name: str
    fields: Mapping[str, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EitherShape:
    """One of several shapes that differ in kind (text, number, boolean, null, list, mapping)."""

    options: tuple[Shape, ...]


Shape = Union[
    TextShape,
    IntegerShape,
    BooleanShape,
    LiteralShape,
    AnyShape,
    NullShape,
    ListShape,
    MapShape,
    RecordShape,
    EitherShape,
]


def describe(shape: Shape) -> str:
    """Expected shape, for messages."""
    if isinstance(shape, TextShape):
        return f"one of {', '.join(shape.choices)}" if shape.choices else shape.what
    if isinstance(shape, EitherShape):
        return " or ".join(dict.fromkeys(describe(option) for option in shape.options))
    if isinstance(shape, IntegerShape):
        return "an integer" if shape.minimum is None else f"an integer of at least {shape.minimum}"
    if isinstance(shape, RecordShape):
        return f"a mapping ({shape.name})"
    words = {
        BooleanShape: "true or false",
        LiteralShape: "a single value",
        AnyShape: "anything",
        NullShape: "null",
        ListShape: "a list",
        MapShape: "a mapping",
    }
    return words[type(shape)]


def _accepts_kind(shape: Shape, node: Node) -> bool:
    """Returns whether a node is of the kind that a shape asks for, whatever is inside it."""
    if isinstance(shape, AnyShape):
        return True
    if isinstance(shape, EitherShape):
        return any(_accepts_kind(option, node) for option in shape.options)
    if isinstance(shape, (MapShape, RecordShape)):
        return isinstance(node, MappingNode)
    if isinstance(shape, ListShape):
        return isinstance(node, SequenceNode)
    if not isinstance(node, ScalarNode):
        return False
    value = node.value
    if isinstance(shape, TextShape):
        return isinstance(value, str)
    if isinstance(shape, BooleanShape):
        return isinstance(value, bool)
    if isinstance(shape, IntegerShape):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(shape, NullShape):
        return value is None
    return True


def validate(node: Node, shape: Shape, what: str, sink: Sink) -> bool:
    """Returns whether `node` has the shape; every difference is reported. `what` names the node in messages."""
    if isinstance(shape, EitherShape):
        for option in shape.options:
            if _accepts_kind(option, node):
                return validate(node, option, what, sink)
        return _wrong_kind(node, shape, what, sink)
    if not _accepts_kind(shape, node):
        return _wrong_kind(node, shape, what, sink)
    if isinstance(shape, RecordShape) and isinstance(node, MappingNode):
        return _validate_record(node, shape, what, sink)
    if isinstance(shape, MapShape) and isinstance(node, MappingNode):
        good = True
        for key, entry in node.entries.items():
            if not re.fullmatch(shape.key_pattern, key):
                sink.error(
                    "bad-name", f"'{key}' cannot be a key of {what}", entry.key_span, fix="use letters, digits and _"
                )
                good = False
            good = validate(entry.value, shape.fixed.get(key, shape.value), f"'{key}'", sink) and good
        return good
    if isinstance(shape, ListShape) and isinstance(node, SequenceNode):
        if shape.non_empty and not node.items:
            sink.error("empty-list", f"{what} is empty", node.span, fix="give at least one entry, or leave the key out")
            return False
        return all([validate(item, shape.item, f"an entry of {what}", sink) for item in node])
    if isinstance(node, ScalarNode):
        return _validate_scalar(node, shape, what, sink)
    return True


def _wrong_kind(node: Node, shape: Shape, what: str, sink: Sink) -> bool:
    message = f"{what} must be {describe(shape)}, not {kind_of(node)}"
    fix = "quote it to make it a text" if isinstance(shape, TextShape) and isinstance(node, ScalarNode) else None
    sink.error("wrong-kind", message, node.span, fix=fix or "see docs/spec.md")
    return False


def _validate_scalar(node: ScalarNode, shape: Shape, what: str, sink: Sink) -> bool:
    if isinstance(shape, TextShape):
        text = str(node.value)
        if shape.choices and text not in shape.choices:
            fix = did_you_mean(text, shape.choices) or f"use one of: {', '.join(shape.choices)}"
            sink.error("unknown-word", f"{what} cannot be '{text}'", node.span, fix=fix)
            return False
        if shape.pattern and not re.fullmatch(shape.pattern, text):
            sink.error("bad-name", f"{what} must be {shape.what}, not '{text}'", node.span, fix=f"write {shape.what}")
            return False
    if isinstance(shape, IntegerShape) and isinstance(node.value, int):
        if shape.minimum is not None and node.value < shape.minimum:
            message = f"{what} must be at least {shape.minimum}"
            sink.error("out-of-range", message, node.span, fix="give a larger number")
            return False
        if node.value > shape.maximum:
            message = f"{what} must be at most {shape.maximum}"
            sink.error("out-of-range", message, node.span, fix="give a smaller number")
            return False
    return True


def _validate_record(node: MappingNode, shape: RecordShape, what: str, sink: Sink) -> bool:
    good = True
    for key, entry in node.entries.items():
        known = shape.fields.get(key)
        if known is None:
            fix = did_you_mean(key, shape.fields) or f"known keys: {', '.join(shape.fields)}"
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
                fix = "a comma inside { } ends a text: put the whole text in quotes"
            sink.error("unknown-key", f"unknown key '{key}' in {what}", entry.key_span, fix=fix)
            good = False
            continue
        good = validate(entry.value, known.shape, f"'{key}'", sink) and good
    missing = [key for key, known in shape.fields.items() if known.required and key not in node.entries]
    for key in missing:
        span = Span(node.span.file, node.span.line, node.span.column)
        sink.error("missing-key", f"{what} has no '{key}'", span, fix=f"add '{key}': {shape.fields[key].doc}")
        good = False
    return good


Words = Mapping[str, Sequence[str]]
"""The words of each vocabulary, for the JSON Schema of one interface."""


def to_json_schema(shape: Shape, title: str, words: Words | None = None) -> dict[str, Any]:
    """The shape as a draft-07 JSON Schema. With `words` it knows the vocabularies, so that editors complete them."""
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": title, **_json(shape, words or {})}


def _vocabulary(shape: TextShape, words: Words) -> dict[str, Any]:
    """A word of a vocabulary, or a call of one of its functions."""
    known: dict[str, Any] = {"type": "string", "enum": list(words[shape.vocabulary])}
    if not shape.calls:
        return known
    call = {"type": "string", "pattern": rf"^\s*(?:{'|'.join(words[shape.calls])})\s*\("}
    return {"anyOf": [known, call]}


def _json(shape: Shape, words: Words) -> dict[str, Any]:
    if isinstance(shape, TextShape):
        if shape.vocabulary in words:
            return _vocabulary(shape, words)
        found: dict[str, Any] = {"type": "string"}
        if shape.choices:
            found["enum"] = list(shape.choices)
        if shape.pattern:
            found["pattern"] = f"^(?:{shape.pattern})$"
        return found
    if isinstance(shape, IntegerShape):
        least = {} if shape.minimum is None else {"minimum": shape.minimum}
        return {"type": "integer", **least, "maximum": shape.maximum}
    if isinstance(shape, BooleanShape):
        return {"type": "boolean"}
    if isinstance(shape, NullShape):
        return {"type": "null"}
    if isinstance(shape, LiteralShape):
        return {"type": ["string", "number", "boolean", "null"]}
    if isinstance(shape, ListShape):
        items: dict[str, Any] = {"type": "array", "items": _json(shape.item, words)}
        return {**items, "minItems": 1} if shape.non_empty else items
    if isinstance(shape, MapShape):
        free: dict[str, Any] = {
            "type": "object",
            "propertyNames": {"pattern": f"^(?:{shape.key_pattern})$"},
            "additionalProperties": _json(shape.value, words),
        }
        fixed = {key: _json(inner, words) for key, inner in shape.fixed.items()}
        return {**free, "properties": fixed} if fixed else free
    if isinstance(shape, EitherShape):
        return {"anyOf": [_json(option, words) for option in shape.options]}
    if isinstance(shape, RecordShape):
        record: dict[str, Any] = {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                key: {"description": known.doc, **_json(known.shape, words)} for key, known in shape.fields.items()
            },
        }
        required = [key for key, known in shape.fields.items() if known.required]
        return {**record, "required": required} if required else record
    return {}
