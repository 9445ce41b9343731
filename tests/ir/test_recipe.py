"""Argument recipes: what the reader makes of each form of an argument."""

from __future__ import annotations

import math

import pytest
from ir_helpers import functions_of

from diopigen.diagnostics import Sink
from diopigen.ir.lower import lower_case
from diopigen.ir.recipe import Argument, Drawn, RecipeReader, TensorRecipe
from diopigen.spec.nodes import MappingNode
from diopigen.spec.yaml_reader import parse_yaml

OPERATOR = """
name: Op
doc: It takes everything.
params:
  - {name: out, type: tensor, direction: out, dtype: number, shape: any, doc: Result.}
  - {name: t, type: tensor, direction: in, dtype: number, doc: A tensor.}
  - {name: ts, type: tensors, direction: in, dtype: number, count: n, doc: Tensors.}
  - {name: n, type: int64, range: any, doc: A number.}
  - {name: x, type: double, doc: A number.}
  - {name: s, type: scalar, dtype: number, doc: A number.}
  - {name: flag, type: bool, doc: A flag.}
  - {name: word, type: string, doc: A word.}
  - {name: sizes, type: sizes, range: any, doc: Sizes.}
  - {name: mode, type: diopiMode_t, doc: A mode.}
  - {name: state, type: generator, direction: in, doc: Numbers.}
"""
NORMAL = Drawn("normal")

READ: dict[str, Argument] = {
    "t: [2, 3]": TensorRecipe((2, 3)),
    "t: []": TensorRecipe(()),
    "t: null": None,
    "t: {shape: [0]}": TensorRecipe((0,), None, NORMAL),
    "t: {shape: [2], dtype: int64, values: 'integers(-3, 8)'}": TensorRecipe((2,), "int64", Drawn("integers", (-3, 8))),
    "t: {shape: [2], values: 'uniform(0.5, 1e3)'}": TensorRecipe((2,), None, Drawn("uniform", (0.5, 1000.0))),
    "t: {shape: [4], values: permutation}": TensorRecipe((4,), None, Drawn("permutation")),
    "t: {shape: [3, 9], values: peaks(-1e3)}": TensorRecipe((3, 9), None, Drawn("peaks", (-1000.0,))),
    "t: {shape: [4], values: distinct}": TensorRecipe((4,), None, Drawn("distinct")),
    "t: {shape: [4], values: zeros}": TensorRecipe((4,), None, Drawn("zeros")),
    "t: {shape: [4], values: ones}": TensorRecipe((4,), None, Drawn("ones")),
    "t: {shape: [4], values: bools}": TensorRecipe((4,), None, Drawn("bools")),
    "t: {shape: [4], values: normal}": TensorRecipe((4,), None, NORMAL),
    "t: {values: [[1, 2, 3], [4, 5, 6]]}": TensorRecipe((2, 3), None, ((1, 2, 3), (4, 5, 6))),
    "t: {shape: [1, 2], values: [[true, .inf]]}": TensorRecipe((1, 2), None, ((True, math.inf),)),
    "t: {values: 7, dtype: bool}": TensorRecipe((), "bool", 7),
    "t: {shape: [3, 4], values: 7}": TensorRecipe((3, 4), None, 7),
    "t: {values: []}": TensorRecipe((0,), None, ()),
    "out: [2]": TensorRecipe((2,)),
    "ts: [[2], null, {shape: [3]}]": (TensorRecipe((2,)), None, TensorRecipe((3,))),
    "ts: []": (),
    "n: -4": -4,
    "x: 2": 2,
    "x: 2.5": 2.5,
    "s: 1.5": 1.5,
    "s: true": True,
    "flag: false": False,
    "word: up": "up",
    "word: '1'": "1",
    "sizes: [1, -1]": (1, -1),
    "sizes: []": (),
    "sizes: null": None,
    "mode: ModeA": "ModeA",
    "state: null": None,
}

REJECTED = {
    "tt: [2]": "1:1 'tt' is not a parameter",
    "t: 2": "1:4 't' is a tensor: give a shape or a mapping",
    "t: [2, -1]": "1:4 the shape of 't' is a list of sizes",
    "t: [2, 1.5]": "1:4 the shape of 't' is a list of sizes",
    "t: [[2]]": "1:4 the shape of 't' is a list of sizes",
    "t: [true]": "1:4 the shape of 't' is a list of sizes",
    "t: {}": "1:4 the tensor 't' needs a shape",
    "t: {shape: 2}": "1:4 the tensor 't' needs a shape",
    "t: {values: [[1], [2, 3]]}": "1:4 the tensor 't' needs a shape",
    "t: {shape: [2], dtype: half}": "1:24 unknown dtype 'half'",
    "t: {shape: [2], values: gauss}": "1:25 'gauss' is not a way to draw values",
    "t: {shape: [2], values: uniform}": "1:25 'uniform' is not a way to draw values",
    "t: {shape: [2], values: 'zeros(1)'}": "1:25 'zeros(1)' is not a way to draw values",
    "t: {shape: [2], values: 'uniform(a, 1)'}": "1:25 'uniform(a, 1)' is not a way to draw values",
    "t: {shape: [2], values: 'uniform(1, 2'}": "1:25 'uniform(1, 2' is not a way to draw values",
    "t: {shape: [2], values: [1]}": "1:25 the values of 't' do not have the shape [2]",
    "t: {shape: [2], values: [1, a]}": "1:25 the values of 't' are numbers or bools",
    "t: {shape: [2], values: null}": "1:25 the values of 't' are numbers or bools",
    "t: {shape: [2], value: 1}": "1:17 unknown key 'value' in the tensor 't'",
    "ts: [2]": "1:6 'ts' is a tensor: give a shape or a mapping",
    "ts: {shape: [2]}": "1:5 'ts' is an array: give a list of tensors",
    "n: true": "1:4 'true' is no value of type int64 ('n')",
    "n: 1.0": "1:4 '1.0' is no value of type int64 ('n')",
    "s: one": "1:4 'one' is no value of type scalar ('s')",
    "flag: 1": "1:7 '1' is no value of type bool ('flag')",
    "word: 1": "1:7 '1' is no value of type string ('word')",
    "sizes: 1": "1:8 'sizes' is a list of integers",
    "sizes: [1, a]": "1:8 'sizes' is a list of integers",
    "mode: ModeB": "1:7 'ModeB' is no value of type diopiMode_t ('mode')",
    "mode: Elsewhere": "1:7 'Elsewhere' is no value of type diopiMode_t ('mode')",
    "mode: 0": "1:7 '0' is no value of type diopiMode_t ('mode')",
    "state: 1": "1:8 'state' is made by the suite",
}


def read(text: str) -> tuple[dict[str, Argument], list[str]]:
    (function,) = functions_of(OPERATOR)
    sink = Sink()
    node = parse_yaml(text, "case.yaml", sink)
    assert isinstance(node, MappingNode)
    values = {"ModeA": "diopiMode_t", "Elsewhere": "diopiOther_t"}
    reader = RecipeReader(function, frozenset({"int64", "float32", "bool"}), values, sink)
    found = reader.read(lower_case(node))
    for diagnostic in sink.sorted():
        assert diagnostic.code == "bad-recipe"
    return found, [
        str(d.span).removeprefix("case.yaml:") + " " + d.message.removeprefix("diopiOp: ") for d in sink.sorted()
    ]


@pytest.mark.parametrize("text", READ)
def test_an_argument_is_read_as_this(text: str) -> None:
    found, problems = read(text)
    assert problems == []
    name = text.partition(":")[0]
    assert found == {name: READ[text]}
    assert type(found[name]) is type(READ[text])


@pytest.mark.parametrize("text", REJECTED)
def test_an_argument_is_rejected_and_left_out(text: str) -> None:
    assert read(text) == ({}, [REJECTED[text]])


def test_what_is_valid_is_retained_where_something_is_not() -> None:
    assert read("n: 1\nflag: 2\nx: 3") == ({"n": 1, "x": 3}, ["2:7 '2' is no value of type bool ('flag')"])
