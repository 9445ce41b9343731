"""Shared by tests of the grammar: the miniature spec, and nodes as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diopigen.diagnostics import Sink
from diopigen.spec.nodes import MappingNode, Node, SequenceNode
from diopigen.spec.yaml_reader import load_yaml

MINIATURE = Path(__file__).parents[1] / "data" / "miniature"
SPECS = Path(__file__).parents[2] / "specs"


def kind_of_file(path: Path) -> str:
    """The key of `grammar.FILES` for a file of a spec folder."""
    parents = {parent.name for parent in path.parents}
    if "ops" in parents:
        return "ops"
    return {"aten": "aten", "models": "model"}.get(path.parent.name, path.stem)


def root_of(path: Path) -> Node:
    """The root of a file that must be sound YAML."""
    sink = Sink()
    node = load_yaml(path, path.name, sink)
    assert sink.sorted() == []
    assert node is not None
    return node


def plain(node: Node) -> Any:
    """A node as dicts, lists and scalars, resolved as our own reader does."""
    if isinstance(node, MappingNode):
        return {key: plain(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [plain(item) for item in node]
    return node.value
