"""Positions at which an entry of the spec names its parameters: as a word, in an expression, and in texts for
people."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from diopigen.ir.lower import items_of, text_of
from diopigen.refactoring.document import Document
from diopigen.spec.nodes import Entry, MappingNode, Node, ScalarNode, SequenceNode

_WORDS = frozenset({"count", "shares", "along", "of", "dim_of", "buffer", "target", "operands"})
_EXPRESSIONS = frozenset(
    {"dtype", "shape", "range", "length", "rank", "elements", "on", "where", "offset", "require", "terms", "free"}
)
_TEXTS = frozenset({"doc", "note", "irregular_order", "untestable", "source", "deprecated"})
_RECIPES = frozenset({"case", "bind"})
_LISTS = frozenset({"operands", "shape", "variants", "constraints", "aten"})
"""Lists whose items are more than plain words."""

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?!\w)(?!\s*\()")
_QUOTED = re.compile(r"''[^']*''|'[^']*'|\\?\"[^\"]*\"")


@dataclass(slots=True)
class Uses:
    """The scalars of an entry by how they name parameters."""

    words: list[ScalarNode] = field(default_factory=list)
    """A parameter, or a name that the entry binds itself."""
    expressions: list[ScalarNode] = field(default_factory=list)
    dimensions: list[ScalarNode] = field(default_factory=list)
    """Entries of a list of dimensions that are one word: an integer parameter, or a size that it binds."""
    texts: list[ScalarNode] = field(default_factory=list)
    own_texts: dict[str, ScalarNode] = field(default_factory=dict)
    """Keys of the parameter itself: texts that seldom mean it by name."""

    def names(self) -> dict[str, ScalarNode]:
        """All names in the entry, each with a scalar that has it."""
        found = {name: node for node in self.expressions for name in names_in(node.text)}
        return found | {node.text.removeprefix("*"): node for node in (*self.dimensions, *self.words)}


def add_to_variant(document: Document, item: Node, text: str) -> None:
    """Adds `key: value` to an item of `variants`, which may be its kind alone."""
    if isinstance(item, MappingNode):
        document.add_behind(item, "kind", text)
    elif isinstance(item, ScalarNode):
        document.replace(item, f"{{kind: {item.text}, {text}}}")


def uses_of(operator: MappingNode) -> Uses:
    """The uses of parameters in an operator's entry."""
    uses = Uses()
    for key, entry in operator.entries.items():
        if key == "params":
            for param in items_of(entry.value):
                assert isinstance(param, MappingNode)
                _fields(param, uses, owns_name=True)
        elif key == "cases":
            for case in items_of(entry.value):
                _keys(case, uses)
        else:
            _value(key, entry, uses)
    return uses


def names_in(expression: str) -> list[str]:
    """The names in an expression, without its functions and its quoted texts."""
    return [expression[first:last] for first, last in name_ranges(expression)]


def name_ranges(expression: str) -> list[tuple[int, int]]:
    """Positions of the names in an expression, without its functions and its quoted texts."""
    quoted = [match.span() for match in _QUOTED.finditer(expression)]
    found = (match.span() for match in _NAME.finditer(expression))
    return [span for span in found if not any(first < span[1] and span[0] < last for first, last in quoted)]


def _fields(mapping: Node, uses: Uses, *, owns_name: bool = False) -> None:
    if not isinstance(mapping, MappingNode):
        return
    for key, entry in mapping.entries.items():
        if key == "name" and owns_name:
            _scalar(entry.value, uses.words)
        elif key == "doc" and owns_name and isinstance(entry.value, ScalarNode):
            uses.own_texts[text_of(mapping.get("name"))] = entry.value
        elif key == "cases":
            for case in items_of(entry.value):
                _keys(case, uses)
        elif key == "params":
            _keys(entry.value, uses)
            for override in _values(entry.value):
                _fields(override, uses)
        else:
            _value(key, entry, uses)


def _value(key: str, entry: Entry, uses: Uses) -> None:
    value = entry.value
    if key in _RECIPES:
        _keys(value, uses)
    elif key == "kernel":
        _kernel(value, uses)
    elif isinstance(value, MappingNode):
        _fields(value, uses)
    elif isinstance(value, SequenceNode):
        for item in value.items if key in _LISTS else ():
            if key == "operands":
                _scalar(item, uses.words)
            elif key == "shape":
                is_word = isinstance(item, ScalarNode) and re.fullmatch(r"\*?\w+", item.text) is not None
                _scalar(item, uses.dimensions if is_word else uses.expressions)
            else:
                _fields(item, uses)
    elif key in _WORDS:
        _scalar(value, uses.words)
    elif key in _EXPRESSIONS:
        _scalar(value, uses.expressions)
    elif key in _TEXTS:
        _scalar(value, uses.texts)


def _kernel(value: Node, uses: Uses) -> None:
    """An expression, or several by output, in front of which `let` names others."""
    _scalar(value, uses.expressions)
    for key, entry in value.entries.items() if isinstance(value, MappingNode) else ():
        if key == "let":
            _kernel(entry.value, uses)
            continue
        _scalar(entry.key_node, uses.words)
        _scalar(entry.value, uses.expressions)


def _keys(mapping: Node, uses: Uses) -> None:
    for entry in mapping.entries.values() if isinstance(mapping, MappingNode) else ():
        _scalar(entry.key_node, uses.words)


def _values(mapping: Node) -> list[Node]:
    return [entry.value for entry in mapping.entries.values()] if isinstance(mapping, MappingNode) else []


def _scalar(node: object, uses: list[ScalarNode]) -> None:
    if isinstance(node, ScalarNode) and isinstance(node.value, str):
        uses.append(node)
