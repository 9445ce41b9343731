"""Single values of the spec to the IR: dtypes, shapes, defaults, kernels and their places."""

from __future__ import annotations

import pytest
from ir_helpers import functions_of

from diopigen.diagnostics import Span
from diopigen.ir.model import DtypeList, DtypeRule, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Binary, Call, Name, Number


def param(text: str) -> Parameter:
    """A parameter out of its keys in flow form."""
    (function,) = functions_of(f"name: Op\ndoc: It works.\nparams:\n  - {{name: p, doc: It is., {text}}}\n")
    return function.params[0]


DTYPES = {
    "float32": (("float32",), ("float32",)),
    "[float32]": (("float32",), ("float32",)),
    "number": (("number",), ("int32", "int64", "float32")),
    "[number, bool, int32]": (("number", "bool", "int32"), ("bool", "int32", "int64", "float32")),
    "[float32, bool]": (("float32", "bool"), ("bool", "float32")),
}


@pytest.mark.parametrize("text", DTYPES)
def test_a_list_of_dtypes_is_expanded_in_the_order_of_the_spec(text: str) -> None:
    dtype = param(f"type: tensor, dtype: {text}").dtype
    assert isinstance(dtype, DtypeList)
    assert (dtype.names, dtype.dtypes) == DTYPES[text]


def test_a_dtype_rule_is_an_expression() -> None:
    dtype = param("type: tensor, dtype: to_float(q)").dtype
    assert isinstance(dtype, DtypeRule)
    assert dtype.formula.expression == Call("to_float", (Name("q"),))
    assert dtype.formula.at(9, 1) == Span("op.yaml", 4, 58, 4, 59)


def test_a_shape_rule_and_the_word_any() -> None:
    rule, free = (param(f"type: tensor, shape: {text}").shape for text in ("same(q)", "any"))
    assert isinstance(rule, ShapeRule) and isinstance(free, ShapeRule)
    assert rule.formula.expression == Call("same", (Name("q"),))
    assert free.formula.expression == Call("any", ())


def test_the_forms_of_a_dimension() -> None:
    shape = param("type: tensor, shape: ['*batch', N, 3, 'N * 2', '?']").shape
    assert isinstance(shape, ShapeList)
    assert [(d.kind, d.name, d.formula.expression) for d in shape.dimensions] == [
        ("variadic", "batch", Name("batch")),
        ("formula", "N", Name("N")),
        ("formula", "", Number(3)),
        ("formula", "", Binary("*", Name("N"), Number(2))),
        ("unknown", "", Name("?")),
    ]


def test_an_empty_shape_is_0_d_and_none_is_none() -> None:
    assert param("type: tensor, shape: []").shape == ShapeList((), Span("op.yaml", 4, 49, 4, 51))
    assert param("type: tensor").shape is None
    assert param("type: tensor").dtype is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.5", 1.5), ("true", True), ("null", None), ("word", "word"), ("[1, 2]", (1, 2)), ("[]", ())],
)
def test_a_default_keeps_its_kind(text: str, value: object) -> None:
    default = param(f"type: int, default: {text}").default
    assert default is not None
    assert (default.value, type(default.value)) == (value, type(value))


def test_no_default_is_not_a_default_of_null() -> None:
    assert param("type: int").default is None


@pytest.mark.parametrize(("type_", "direction"), [("int64", "in"), ("sizes", "in"), ("tensor", ""), ("generator", "")])
def test_only_types_with_one_natural_direction_get_one(type_: str, direction: str) -> None:
    assert param(f"type: {type_}").direction == direction


@pytest.mark.parametrize(
    ("direction", "read", "written"),
    [("in", True, False), ("out", False, True), ("inout", True, True), ("partial_out", True, True)],
)
def test_what_a_direction_means(direction: str, read: bool, written: bool) -> None:
    found = param(f"type: tensor, direction: {direction}")
    assert (found.is_read, found.is_written) == (read, written)


@pytest.mark.parametrize(("text", "count"), [("num", "num"), ("3", 3)])
def test_a_count_is_a_name_or_a_number(text: str, count: object) -> None:
    assert param(f"type: tensors, count: {text}").count == count


def test_what_an_operator_leaves_out() -> None:
    (function,) = functions_of("name: Op\ndoc: It works.\nparams: []\n")
    assert (function.since, function.weak, function.returns, function.context) == ("1.0", True, "status", True)
    assert (function.kernel, function.tolerance, function.deprecated, function.backward_of) == (None, None, None, None)
    assert (function.params, function.cases, function.constraints, function.aten) == ((), (), (), ())
