"""Functions of predicates whose edges a case of the suite does not reach."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from diopigen.contract.arguments import Tensor, Undefined
from diopigen.contract.compile import Compiler, implementation
from diopigen.contract.functions import FUNCTIONS, Function
from diopigen.contract.kinds import Kinds
from diopigen.spec.expression import parse


def call(name: str, *arguments: Any) -> Any:
    return implementation(FUNCTIONS[name])(*arguments)


def tensor(*values: float) -> Tensor:
    return Tensor((len(values),), "float32", lambda: values)


@pytest.mark.parametrize(
    ("dtype", "value", "holds"),
    [
        ("uint8", 255, True), ("uint8", 255.9, True), ("uint8", 256, False), ("uint8", -0.5, True),
        ("uint8", -1, False),
        ("int64", 2.0**63, False), ("int64", -(2.0**63), True), ("int8", math.nan, False), ("int8", math.inf, False),
        ("float16", 65504, True), ("float16", 65505, False), ("bfloat16", 3.38e38, True), ("bfloat16", 3.4e38, False),
        ("float32", 3.4e38, True), ("float32", 1e39, False), ("float64", 1e300, True), ("float16", math.inf, True),
        ("float32", math.nan, True), ("complex64", 1e39, False),
    ],
)  # fmt: skip
def test_a_dtype_holds_what_is_in_its_range(dtype: str, value: float, holds: bool) -> None:
    assert call("can_hold", dtype, value) is holds


def test_division_rounded_up_is_exact_for_integers_and_rounds_the_quotient_of_floats() -> None:
    assert call("ceil_div", 2**63 - 1, 2) == 2**62
    assert call("ceil_div", -7, 2) == -3
    assert call("ceil_div", 1.1, 0.1) == 11  # as torch.arange(0, 1.1, 0.1); the exact quotient is above 11
    assert call("ceil_div", math.inf, 1) == math.inf


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.variadic])
def test_a_variadic_function_takes_three(name: str) -> None:
    kind = FUNCTIONS[name].arguments[-1]
    assert call(name, *[2 if kind in ("number", "operand") else (2,)] * 3) is not None


TYPES = {"number": "double", "integer": "int64", "list": "sizes", "shape": "sizes", "dtype": "tensor"}
"""A type of parameters of each kind."""
FORMULAS = [function for function in FUNCTIONS.values() if function.formula is not None]


@pytest.mark.parametrize("function", FORMULAS, ids=lambda function: function.name)
def test_a_formula_has_the_kind_of_its_result(function: Function) -> None:
    assert function.formula is not None
    types = {name: TYPES.get(kind, kind) for name, kind in zip(function.parameters, function.arguments, strict=True)}
    params = {name: SimpleNamespace(name=name, type=kind) for name, kind in types.items()}
    scope: Any = SimpleNamespace(param=params.get, params=[], is_collective=False)
    kinds = Kinds(scope, {}, frozenset())
    found = kinds.infer(function.formula)
    assert kinds.faults == []
    assert found == {"integer": "number", "sizes": "list", "shape": "list"}.get(function.result, function.result)


def test_lists_are_joined_in_order() -> None:
    assert call("join", (1, 2), (), (3,)) == (1, 2, 3)


def test_an_axis_counts_from_either_end() -> None:
    assert call("axis", (2, 3, 4), 2) == call("axis", (2, 3, 4), -1) == 2
    assert call("axis", (), -1) == 0
    for dim in (3, -4):
        with pytest.raises(Undefined):
            call("axis", (2, 3, 4), dim)


@pytest.mark.parametrize(
    ("order", "value"), [(2, 5), (1, 7), (0, 2), (math.inf, 4), (-math.inf, 0), (-1, 0), (3, 91 ** (1 / 3))]
)
def test_norms_of_all_elements(order: float, value: float) -> None:
    assert call("norm", (tensor(3, 0), tensor(-4)), order) == pytest.approx(value)


def test_norms_that_are_not_finite() -> None:
    assert call("norm", (tensor(1e200, 1e200),), 2) == math.inf
    assert math.isnan(call("norm", (tensor(1, math.nan),), math.inf))
    assert call("norm", (tensor(math.inf, 0),), 0) == 1
    assert call("norm", (), 2) == 0


def test_entries_are_counted_by_row() -> None:
    assert call("row_counts", (True, False, True, True), 2) == (1, 2)
    assert call("row_counts", (), 2) == ()
    for length in (0, 3):
        with pytest.raises(Undefined):
            call("row_counts", (True, True), length)


def test_the_first_entries_of_rows() -> None:
    assert call("row_heads", (1, 2, 3, 4, 5, 6), 3, (2, 0)) == (1, 2)
    assert call("row_heads", (1, 2, 3, 4), 2, (-1, 5)) == (3, 4)
    assert call("row_heads", (), 0, (0, 0)) == ()
    with pytest.raises(Undefined):
        call("row_heads", (1, 2, 3), 2, (1,))


def test_nan_is_unlike_any_other() -> None:
    assert call("one_of", math.nan, math.nan, 1) is False
    assert call("equal", (math.nan,), (math.nan,)) is False
    assert call("distinct", (math.nan, math.nan)) is True


@pytest.mark.parametrize(
    ("text", "value"),
    [("3 ** 4", 81), ("2 ** -1", 0.5), ("3 ** 80", 3.0**80), ("(-8) ** 0.5", None), ("0 ** -1", None)],
)
def test_powers(text: str, value: float | None) -> None:
    evaluate = Compiler(()).value(parse(text))
    scope = SimpleNamespace(values={}, dimensions={})
    if value is None:
        with pytest.raises((Undefined, ArithmeticError)):
            evaluate(scope)
    else:
        assert evaluate(scope) == value
