"""The file about dlinfer, lowered from its nodes."""

from __future__ import annotations

from diopigen.ir.dlinfer_model import Dlinfer, DlinferOperator
from diopigen.ir.lower import items_of, mappings_of, text_of
from diopigen.spec.nodes import MappingNode


def lower_dlinfer(file: MappingNode) -> Dlinfer:
    """The file, which the grammar has accepted."""
    operators = tuple(_operator(node) for node in mappings_of(file.get("operators")))
    return Dlinfer(text_of(file.get("release")), operators)


def _operator(node: MappingNode) -> DlinferOperator:
    call = text_of(node.get("call"))
    return DlinferOperator(
        text_of(node.get("dlinfer")),
        tuple(map(text_of, items_of(node.get("parameters")))),
        _texts(node, "require"),
        _texts(node, "before"),
        f"diopi{call}" if call else "",
        _texts(node, "arguments"),
        text_of(node.get("returns")),
        node.span,
    )


def _texts(node: MappingNode, key: str) -> dict[str, str]:
    found = node.get(key)
    entries = found.entries if isinstance(found, MappingNode) else {}
    return {name: text_of(entry.value) for name, entry in entries.items()}
