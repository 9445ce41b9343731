"""The file about Relax, lowered from its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diopigen.ir.lower import items_of, mappings_of, text_of
from diopigen.ir.relax_model import FusedOperators, Relax, RelaxOperator
from diopigen.spec.nodes import MappingNode, Node, ScalarNode


def lower_relax(file: MappingNode) -> Relax:
    """The file, which the grammar has accepted."""
    same, renamed = items_of(file.get("same")), file.get("renamed")
    named = {text_of(item): text_of(item).rpartition(".")[2] for item in same}
    spans = {text_of(item): item.span for item in same}
    if isinstance(renamed, MappingNode):
        for name, entry in renamed.entries.items():
            named[name], spans[name] = text_of(entry.value), entry.key_span
    return Relax(
        text_of(file.get("release")),
        _texts(file.get("views")),
        dict(sorted(named.items())),
        spans,
        tuple(_operator(node) for node in mappings_of(file.get("operators"))),
        tuple(_fused(node) for node in mappings_of(file.get("fused"))),
    )


def _operator(node: MappingNode) -> RelaxOperator:
    merged = node.get("merged")
    return RelaxOperator(
        text_of(node.get("relax")),
        f"diopi{text_of(node.get('call'))}",
        {key: _plain(value) for key, value in _entries(node.get("arguments"))},
        _conditions(node.get("where")),
        {key: _plain(value) for key, value in _entries(node.get("ranks"))},
        0 if merged is None else int(_plain(merged)),
        _texts(node.get("returned")),
        text_of(node.get("several")),
        node.span,
    )


def _fused(node: MappingNode) -> FusedOperators:
    return FusedOperators(
        text_of(node.get("doc")),
        text_of(node.get("match")),
        f"diopi{text_of(node.get('call'))}",
        text_of(node.get("operator")),
        {key: _conditions(value) for key, value in _entries(node.get("where"))},
        {key: tuple(map(_plain, items_of(value))) for key, value in _entries(node.get("shapes"))},
        node.span,
    )


def _entries(node: Node | None) -> list[tuple[str, Node]]:
    return [(key, entry.value) for key, entry in node.entries.items()] if isinstance(node, MappingNode) else []


def _conditions(node: Node | None) -> Mapping[str, tuple[Any, ...]]:
    return {key: tuple(map(_plain, items_of(value))) for key, value in _entries(node)}


def _plain(node: Node) -> Any:
    return node.value if isinstance(node, ScalarNode) else tuple(map(_plain, items_of(node)))


def _texts(node: Node | None) -> tuple[str, ...]:
    return tuple(text_of(item) for item in items_of(node))
