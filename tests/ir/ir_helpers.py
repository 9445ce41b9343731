"""Shared by tests of the IR: the miniature spec, and functions out of the text of one operator."""

from __future__ import annotations

from pathlib import Path

from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface
from diopigen.ir.lower import Lowering
from diopigen.ir.model import Function, Interface
from diopigen.ir.variants import Section, expand
from diopigen.spec.grammar_operators import OPERATOR
from diopigen.spec.nodes import MappingNode
from diopigen.spec.schema import validate
from diopigen.spec.yaml_reader import parse_yaml

MINIATURE = Path(__file__).parents[1] / "data" / "miniature"
DTYPES = ("bool", "int32", "int64", "float32")
SETS = {"number": ("int32", "int64", "float32")}


def miniature() -> Interface:
    """The miniature spec, which must load without a finding."""
    sink = Sink()
    loaded = load_interface(MINIATURE, sink)
    assert sink.sorted() == []
    assert loaded.complete
    return loaded.interface


def functions_of(operator: str, sink: Sink | None = None) -> list[Function]:
    """The functions of one operator, given as YAML; it must fit the grammar."""
    used = Sink() if sink is None else sink
    node = parse_yaml(operator, "op.yaml", used)
    assert isinstance(node, MappingNode)
    assert validate(node, OPERATOR, "the operator", used)
    functions = expand(node, Section("family", "functions.h"), Lowering(DTYPES, SETS, used), used)
    if sink is None:
        assert used.sorted() == []
    return functions
