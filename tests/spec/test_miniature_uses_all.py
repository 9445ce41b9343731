"""The miniature spec uses whatever the grammar offers, so that every test that builds on it sees all of the grammar."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from spec_helpers import MINIATURE, kind_of_file, root_of

from diopigen.check.rule import check_interface
from diopigen.contract.functions import DIMENSION_FUNCTIONS, DIMENSION_OPERATORS, DTYPE_RULES, ONE_OF, SHAPE_RULES
from diopigen.diagnostics import Sink
from diopigen.ir.kernels import CONSTANTS, KERNEL_FUNCTIONS
from diopigen.ir.load import load_interface
from diopigen.ir.model import DtypeRule, Interface, ShapeList, ShapeRule
from diopigen.ir.recipe import DISTRIBUTIONS, Drawn, RecipeReader, TensorRecipe
from diopigen.ir.types import TYPES
from diopigen.spec import expression as language
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary, walk
from diopigen.spec.grammar import FILES
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.schema import (
    AnyShape,
    BooleanShape,
    EitherShape,
    Field,
    IntegerShape,
    ListShape,
    LiteralShape,
    MapShape,
    RecordShape,
    Shape,
    TextShape,
)
from diopigen.spec.yaml_reader import parse_yaml

Feature = tuple[int, str]
"""The identity of a shape and what of it is meant: shapes that are in several places are shown once."""


def inner_shapes(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """The shapes below a shape, each with what leads there."""
    if isinstance(shape, RecordShape):
        yield from ((f"key {key}", known.shape) for key, known in shape.fields.items())
    elif isinstance(shape, ListShape):
        yield "item", shape.item
    elif isinstance(shape, MapShape):
        yield "value", shape.value
        yield from ((f"key {key}", inner) for key, inner in shape.fixed.items())
    elif isinstance(shape, EitherShape):
        yield from ((f"as {type(option).__name__}", option) for option in shape.options)


def offered(shape: Shape, path: str) -> Iterator[tuple[Feature, str]]:
    """Every key, alternative and word that a shape offers, with its path in the grammar."""
    if isinstance(shape, TextShape):
        yield from (((id(shape), f"word {word}"), f"{path}/{word}") for word in shape.choices)
    for step, inner in inner_shapes(shape):
        yield (id(shape), step), f"{path}/{step}"
        yield from offered(inner, f"{path}/{step}")


def fits(shape: Shape, node: Node) -> bool:
    """Returns whether a node is of a shape's kind; written here apart from the parser's own choice."""
    if isinstance(node, MappingNode):
        return isinstance(shape, (RecordShape, MapShape, AnyShape))
    if isinstance(node, SequenceNode):
        return isinstance(shape, (ListShape, AnyShape))
    if isinstance(shape, TextShape):
        return isinstance(node.value, str)
    if isinstance(shape, BooleanShape):
        return isinstance(node.value, bool)
    if isinstance(shape, IntegerShape):
        return type(node.value) is int
    return isinstance(shape, (LiteralShape, AnyShape))


def used(node: Node, shape: Shape) -> Iterator[Feature]:
    """Features of `offered` that a node uses."""
    if isinstance(shape, TextShape) and shape.choices and isinstance(node, ScalarNode):
        yield id(shape), f"word {node.value}"
    steps: list[tuple[str, Shape, Node]] = []
    if isinstance(shape, EitherShape):
        option = next(option for option in shape.options if fits(option, node))
        steps = [(f"as {type(option).__name__}", option, node)]
    elif isinstance(shape, ListShape) and isinstance(node, SequenceNode):
        steps = [("item", shape.item, item) for item in node]
    elif isinstance(shape, (RecordShape, MapShape)) and isinstance(node, MappingNode):
        known = dict(inner_shapes(shape))
        for key, entry in node.entries.items():
            step = f"key {key}" if f"key {key}" in known else "value"
            steps.append((step, known[step], entry.value))
    for step, inner, below in steps:
        yield id(shape), step
        yield from used(below, inner)


def test_every_key_alternative_and_word_is_used() -> None:
    found: set[Feature] = set()
    for path in sorted(MINIATURE.rglob("*.yaml")):
        found.update(used(root_of(path), FILES[kind_of_file(path)]))
    assert [path for kind in FILES for feature, path in offered(FILES[kind], kind) if feature not in found] == []


def test_a_feature_that_is_not_used_is_seen() -> None:
    shape = RecordShape(
        "invented", {"novel": Field(EitherShape((TextShape(choices=("a", "b")), BooleanShape())), "new")}
    )
    node = parse_yaml("novel: b", "x.yaml", Sink())
    assert node is not None
    found = set(used(node, shape))
    missing = [path for feature, path in offered(shape, "x") if feature not in found]
    assert missing == ["x/key novel/as TextShape/a", "x/key novel/as BooleanShape"]


@pytest.fixture(scope="module")
def interface() -> Interface:
    sink = Sink()
    loaded = load_interface(Path(MINIATURE), sink)
    check_interface(loaded.interface, sink, complete=loaded.complete)
    assert sink.sorted() == []
    assert loaded.complete
    return loaded.interface


def rules_of(interface: Interface, key: str) -> Iterator[Expression]:
    for function in interface.functions:
        for param in function.params:
            found = getattr(param, key)
            if isinstance(found, (DtypeRule, ShapeRule)):
                yield found.formula.expression


def dimensions(interface: Interface) -> Iterator[Expression]:
    """Dimensions, and the arguments of shape rules."""
    for function in interface.functions:
        for param in function.params:
            if isinstance(param.shape, ShapeList):
                yield from (dimension.formula.expression for dimension in param.shape.dimensions)
    for expression in rules_of(interface, "shape"):
        assert isinstance(expression, Call)
        if expression.function != ONE_OF:
            yield from expression.arguments


def kernels(interface: Interface) -> Iterator[Expression]:
    for function in interface.functions:
        if function.kernel is not None:
            for _, formula in (*function.kernel.lets, *function.kernel.results):
                yield from walk(formula.expression)


def calls(expressions: Iterator[Expression]) -> set[str]:
    return {part.function for whole in expressions for part in walk(whole) if isinstance(part, Call)}


def test_every_type_is_used(interface: Interface) -> None:
    types = {param.type for function in interface.functions for param in function.params}
    assert set(TYPES) - types == set()
    assert {"diopiRounding_t", "diopiDevice_t"} <= types  # an enum and a handle


def test_every_dtype_rule_is_used(interface: Interface) -> None:
    assert calls(rules_of(interface, "dtype")) == set(DTYPE_RULES)


def test_every_shape_rule_is_used(interface: Interface) -> None:
    assert {e.function for e in rules_of(interface, "shape") if isinstance(e, Call)} == set(SHAPE_RULES)


def test_every_form_of_a_dimension_is_used(interface: Interface) -> None:
    parts = [part for whole in dimensions(interface) for part in walk(whole)]
    assert {part.function for part in parts if isinstance(part, Call)} == set(DIMENSION_FUNCTIONS)
    assert {part.operator for part in parts if isinstance(part, Binary)} == set(DIMENSION_OPERATORS)
    forms = {
        dimension.kind
        for function in interface.functions
        for param in function.params
        if isinstance(param.shape, ShapeList)
        for dimension in param.shape.dimensions
    }
    assert forms == {"formula", "variadic", "unknown"}


def test_every_kernel_function_operator_and_constant_is_used(interface: Interface) -> None:
    parts = list(kernels(interface))
    assert set(KERNEL_FUNCTIONS) - calls(kernels(interface)) == set()
    assert {part.operator for part in parts if isinstance(part, Binary)} == set(language._STRENGTH)
    assert {part.operator for part in parts if isinstance(part, Unary)} == {"-", "~", "not"}
    names = {part.name for part in parts if isinstance(part, Name)}
    assert set(CONSTANTS) - names == set()
    assert "RoundingDown" in names
    assert {type(part.value) for part in parts if isinstance(part, Number)} == {int, float}
    assert any(isinstance(part, Text) for part in parts)


def test_every_variant_kind_is_used_short_and_long(interface: Interface) -> None:
    assert {function.variant for function in interface.functions} == {"base", "inplace", "scalar", "inplace_scalar"}
    # That each stands as a word and as a mapping follows from the walk over the grammar.


def test_every_way_to_draw_values_is_used(interface: Interface) -> None:
    sink = Sink()
    found: set[str] = set()
    literals = 0
    for function in interface.functions:
        reader = RecipeReader(
            function,
            frozenset(info.name for info in interface.dtypes),
            {value.name: enum.name for enum in interface.enums for value in enum.values},
            sink,
        )
        for case in function.cases:
            for value in reader.read(case).values():
                if isinstance(value, TensorRecipe) and isinstance(value.values, Drawn):
                    found.add(value.values.distribution)
                elif isinstance(value, TensorRecipe):
                    literals += 1
    assert found == set(DISTRIBUTIONS)
    assert literals
    assert len(sink) == 0
