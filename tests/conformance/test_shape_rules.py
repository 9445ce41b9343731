"""Every shape rule against shapes computed by hand; they are what the torch function of that name gives."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from diopigen.contract.arguments import Tensor, Undefined
from diopigen.contract.compile import Compiler
from diopigen.contract.functions import DIMENSION_FUNCTIONS, ONE_OF, SHAPE_RULES
from diopigen.contract.shape_evaluation import Evaluator, Shapes, value_of
from diopigen.contract.shapes import ShapeError
from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface
from diopigen.ir.model import Function
from diopigen.spec.expression import Call, Name

CASES: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    ("same", ((2, 3),), (2, 3)),
    ("broadcast", ((4, 1), (5,)), (4, 5)),
    ("broadcast", ((3,), (2, 1, 3), (2, 4, 1)), (2, 4, 3)),
    ("broadcast", ((), (2, 0)), (2, 0)),
    ("broadcast", ((1,), (0,)), (0,)),
    ("broadcastable", ((2, 3),), (2, 3)),
    ("value", ((7, 8),), (7, 8)),
    ("reduce", ((2, 3, 4), (0, -1)), (3,)),
    ("reduce", ((2, 3, 4), ()), ()),
    ("reduce", ((2, 3, 4), None), ()),
    ("reduce", ((2, 3, 4), 1), (2, 4)),
    ("reduce", ((2, 3, 4), (1,), True), (2, 1, 4)),
    ("reduce", ((2, 3), None, True), (1, 1)),
    ("reduce", ((), 0), ()),
    ("reduce", ((), -1, True), ()),
    ("without", ((2, 3, 4), -2), (2, 4)),
    ("resize", ((2, 3, 4), 1, 7), (2, 7, 4)),
    ("resize", ((2, 3), -1, 0), (2, 0)),
    ("resize", ((), 0, 1), ()),
    ("matmul", ((3,), (3,)), ()),
    ("matmul", ((2, 3), (3,)), (2,)),
    ("matmul", ((3,), (3, 4)), (4,)),
    ("matmul", ((2, 3), (3, 4)), (2, 4)),
    ("matmul", ((5, 1, 2, 3), (6, 3, 4)), (5, 6, 2, 4)),
    ("matmul", ((5, 2, 3), (3,)), (5, 2)),
    ("conv", ((1, 3, 8, 9), (6, 3, 3, 2), (2, 1), (1, 0), (1, 2)), (1, 6, 4, 7)),
    ("conv", ((2, 4, 10), (8, 4, 5), (1,), (0,), (1,)), (2, 8, 6)),
    ("conv", ((1, 1, 5, 5), (1, 1, 3, 3), (2,), (1,), (1,)), (1, 1, 3, 3)),
    ("conv_transpose", ((1, 6, 4, 7), (6, 3, 3, 2), (2, 1), (1, 0), (1, 0), 1, (1, 2)), (1, 3, 8, 9)),
    ("conv_transpose", ((1, 4, 5), (4, 2, 3), (2,), (0,), (0,), 2, (1,)), (1, 4, 11)),
    ("pool", ((1, 2, 7, 8), (3, 2), (2, 2), (1, 0), 1, False), (1, 2, 4, 4)),
    ("pool", ((1, 6), (3,), (), (0,), 1, False), (1, 2)),
    ("pool", ((1, 7), (2,), (2,), (0,), 1, True), (1, 4)),
    ("pool", ((1, 7), (3,), (2,), (1,), (2,), False), (1, 3)),
    # The fourth window would start at place 6 of 5 + 1: it does not count.
    ("pool", ((1, 5), (2,), (3,), (1,), 1, True), (1, 2)),
    ("pool", ((1, 4), (1,), (3,), (0,), 1, True), (1, 2)),
    ("adaptive_pool", ((2, 3, 9, 9), (4, 5)), (2, 3, 4, 5)),
    ("concat", (((2, 3), (4, 3)), 0), (6, 3)),
    ("concat", (((2, 3), (2, 1), (2, 0)), -1), (2, 4)),
    ("concat", (((0,), (2, 3)), 0), (2, 3)),
    ("stack", (((2, 3), (2, 3)), 1), (2, 2, 3)),
    ("stack", (((2, 3),) * 4, -1), (2, 3, 4)),
    ("split", ((2, 5), (1, 0, 4), -1), ((2, 1), (2, 0), (2, 4))),
    ("split", ((2, 5), (), 0), ()),
    ("permute", ((2, 3, 4), (2, 0, -2)), (4, 2, 3)),
    ("transpose", ((2, 3, 4), 0, -1), (4, 3, 2)),
    ("transpose", ((), 0, -1), ()),
    ("repeat", ((2, 3), (4, 1, 2)), (4, 2, 6)),
    ("pad", ((2, 3, 4), (1, 2, 3, 0)), (2, 6, 7)),
    ("pad", ((4,), (-1, -2)), (1,)),
    ("unfold", ((3, 7), 1, 3, 2), (3, 3, 3)),
    ("unfold", ((), 0, 1, 1), (1,)),
    ("slice", ((5, 6), 1, 1, 5, 2), (5, 2)),
    ("slice", ((5,), 0, -2, 9223372036854775807, 1), (2,)),
    ("slice", ((5,), 0, 4, 2, 1), (0,)),
]


def shape_of(rule: str, *arguments: Any) -> Any:
    """The value of a rule, whose first argument is a tensor, or an array of them, with this shape."""
    names = [f"a{index}" for index in range(len(arguments))]
    first = arguments[0]
    is_array = bool(first) and isinstance(first[0], tuple)
    tensors = tuple(Tensor(one, "") for one in first) if is_array else Tensor(first, "")
    values = dict(zip(names, (first if rule == "value" else tensors, *arguments[1:]), strict=True))
    expression = value_of(Call(rule, tuple(map(Name, names))))
    assert expression is not None
    return Compiler(names).value(expression)(SimpleNamespace(values=values, dimensions={}))


@pytest.mark.parametrize(("rule", "arguments", "expected"), CASES)
def test_a_rule_gives_the_shape(rule: str, arguments: tuple[Any, ...], expected: tuple[int, ...]) -> None:
    assert shape_of(rule, *arguments) == expected


def test_every_rule_of_the_grammar_is_there_and_tested() -> None:
    assert {rule for rule, _, _ in CASES} == set(SHAPE_RULES) - {"any", ONE_OF}


@pytest.mark.parametrize(
    ("rule", "arguments"),
    [
        ("broadcast", ((2, 3), (2, 4))),
        ("reduce", ((2, 3), (2,))),
        ("without", ((2, 3), -3)),
        ("matmul", ((2, 3), (4, 3))),
        ("matmul", ((), (3,))),
        ("concat", (((2, 3), (2, 4)), 0)),
        ("stack", (((2, 3), (2, 4)), 0)),
        ("split", ((2, 3), (1, 2), 2)),
        ("repeat", ((2, 3), (2,))),
    ],
)
def test_what_has_no_shape_is_rejected(rule: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(Undefined):
        shape_of(rule, *arguments)


SPEC = """
family: f
header: functions.h
doc: D.
operators:
  - name: Op
    doc: D.
    params:
      - {name: out, type: tensor, direction: out, dtype: [float32], shape: %s, doc: D.}
      - {name: x, type: tensor, direction: in, dtype: [float32], shape: [N, '*batch', K], doc: D.}
      - {name: y, type: tensor, direction: in, dtype: [float32], shape: any, nullable: true, doc: D.}
      - {name: ts, type: tensors, direction: in, dtype: [float32], shape: any, count: n, doc: D.}
      - {name: n, type: int64, doc: D.}
      - {name: dims, type: sizes, doc: D.}
      - {name: keep, type: bool, doc: D.}
      - {name: s, type: scalar, dtype: [float32], doc: D.}
"""
TYPES = """
version: {major: 1, minor: 0, patch: 0}
header: diopirt.h
enums: []
structs: []
handles: []
dtypes: [{name: float32, enum: d, bytes: 4, kind: floating}]
dtype_sets: []
"""
VALUES = {"x": (2, 5, 6, 3), "y": None, "ts": ((2, 3), (2, 4)), "n": 2, "dims": (4, 1), "keep": True, "s": 2.0}


def function_with(shape: str, folder: Path) -> Function:
    """A function whose output has the shape."""
    (folder / "ops").mkdir()
    (folder / "types.yaml").write_text(TYPES)
    (folder / "headers.yaml").write_text("headers: [{file: functions.h, doc: D., includes: [], order: []}]")
    (folder / "ops/f.yaml").write_text(SPEC % shape)
    sink = Sink()
    functions = load_interface(folder, sink).interface.functions
    assert functions, [str(found) for found in sink.sorted()]
    return functions[0]


DIMENSIONS = {
    "[N, K]": (2, 3),
    "['*batch', N]": (5, 6, 2),
    "[7, N * 2 - K, N + 1, K // 2]": (7, 1, 3, 1),
    "['size(x, 1)', 'size(x, -1)']": (5, 3),
    "['numel(x)', 'rank(x)']": (180, 4),
    "['len(dims)', 'len(ts)']": (2, 2),
    "['item(dims, 0)', 'sum(dims)', 'prod(dims)']": (4, 5, 4),
    "['min(N, K)', 'max(N, K, n)', 'ceil_div(numel(x), 7)']": (2, 3, 26),
    "[]": (),
    "same(x)": (2, 5, 6, 3),
    "'broadcast(x, y, s)'": (2, 5, 6, 3),
    "'reduce(x, dims, keep)'": None,
    "'concat(ts, 1)'": (2, 7),
    "value(dims)": (4, 1),
    "'where(keep, sizes(x), list())'": (2, 5, 6, 3),
    "'where(not keep, sizes(x), list())'": (),
    "'where(is_null(y), join(head(x, 2), list(n, K)), sizes(y))'": (2, 5, 2, 3),
    "'sizes_in(ts, 1)'": (3, 4),
    "any": None,
    "['?']": None,
}


@pytest.mark.parametrize("shape", DIMENSIONS)
def test_names_and_functions_are_found_in_the_arguments(shape: str, tmp_path: Path) -> None:
    function = function_with(shape, tmp_path)
    evaluator = Evaluator(Shapes(function), VALUES)
    expected = DIMENSIONS[shape]
    if "reduce" in shape:
        with pytest.raises(ShapeError):  # there is no dimension 4
            evaluator.shape(function.params[0])
    else:
        assert evaluator.shape(function.params[0]) == expected


def test_an_expression_without_a_value_is_no_shape(tmp_path: Path) -> None:
    function = function_with("'join(sizes(y), list(n))'", tmp_path)
    with pytest.raises(ShapeError, match="the shape of 'out' has no value"):
        Evaluator(Shapes(function), VALUES).shape(function.params[0])


def test_a_rule_with_alternatives_has_a_shape_for_each(tmp_path: Path) -> None:
    function = function_with("'one_of(reduce(x, n, true), list(N, n), same(x))'", tmp_path)
    out = function.params[0]
    expected = [(2, 5, 1, 3), (2, 2), (2, 5, 6, 3)]
    assert list(Evaluator(Shapes(function), VALUES).alternatives(out)) == expected
    by_number = [Evaluator(Shapes(function), VALUES, form=number).shape(out) for number in range(4)]
    assert by_number == [*expected, expected[-1]]


def test_every_function_of_dimensions_is_tested() -> None:
    text = " ".join(DIMENSIONS)
    assert [name for name in DIMENSION_FUNCTIONS if f"{name}(" not in text] == []
