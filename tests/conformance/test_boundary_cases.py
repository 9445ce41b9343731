"""The axis `boundary`: its values follow from formulas and constraints of the spec."""

from __future__ import annotations

import pytest

from diopigen.conformance.cases import boundary
from diopigen.conformance.cases import suite as cases
from diopigen.conformance.cases.boundary import neighbours
from diopigen.conformance.cases.limits import Formula, Limit
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.model import Case, Number, Operand
from diopigen.diagnostics import Span
from diopigen.ir.clauses import Formula as Text
from diopigen.ir.model import Interface, Kernel
from diopigen.spec.expression import parse


def cases_of(interface: Interface, name: str) -> dict[str, Case]:
    function = interface.function(name)
    assert function is not None
    found = boundary.cases(function, Resolver(interface, function), cases.recipes_of(interface, function))
    return {case.id.partition("/")[2]: case for case in found}


def values(case: Case, name: str) -> tuple[object, ...]:
    operand = case.arguments[name]
    assert isinstance(operand, Operand) and isinstance(operand.values, tuple)
    return operand.values


def limits_of(text: str, **numbers: float) -> set[tuple[str, float]]:
    at = Span("a.yaml")
    kernel = Kernel((("moved", Text(parse("x * 2 + 1"), "", at)),), (("out", Text(parse(text), text, at)),), at)
    limits, _ = Formula(kernel, numbers, frozenset({"x", "y"})).limits()
    assert all(isinstance(limit, Limit) for limit in limits)
    return {(limit.operand, limit.value) for limit in limits}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where(x <= low, 0, y)", {("x", -1.5)}),
        ("min(max(x + 3, 0), 6)", {("x", -3.0), ("x", 3.0)}),
        ("where(abs(x) < 0.5, x, y)", {("x", 0.5), ("x", -0.5)}),
        ("where(2 - x / 4 > low, x, y)", {("x", 14.0)}),
        ("max(moved, 5)", {("x", 2.0)}),
        ("max(x, y)", set()),
        ("where(x * 0 > 1, x, y)", set()),
        ("exp(x)", set()),
    ],
)
def test_a_formula_says_where_it_turns(text: str, expected: set[tuple[str, float]]) -> None:
    assert limits_of(text, low=-1.5) == expected


def test_a_rounding_turns_at_integers_and_halves() -> None:
    assert {value for _, value in limits_of("round(x)")} >= {-0.5, 0.5, 2.5, 1.0}


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.0, "float32", [1 - 2.0**-24, 1.0, 1 + 2.0**-23]),
        (-6.0, "bfloat16", [-6 + 2.0**-5, -6.0, -6 - 2.0**-5]),
        (3.0, "float16", [3 - 2.0**-9, 3.0, 3 + 2.0**-9]),
        (0.0, "float64", [-(2.0**-1022), -0.0, 0.0, 2.0**-1022]),
        (0.1, "float32", []),
        (7, "int8", [6, 7, 8]),
        (0.5, "int32", []),
    ],
)
def test_neighbours_are_the_next_numbers_of_the_dtype(value: float, dtype: str, expected: list[float]) -> None:
    assert neighbours(value, dtype) == expected


def test_thresholds_are_met_exactly(interface: Interface) -> None:
    assert {-3.0, 3.0} <= set(values(cases_of(interface, "diopiHardswish")["float32/boundary-input"], "input"))
    threshold = cases_of(interface, "diopiThreshold")["float32/boundary-input"]
    limit = threshold.arguments["threshold"]
    assert isinstance(limit, Number) and limit.value in values(threshold, "input")
    compared = cases_of(interface, "diopiGe")["float64/boundary-input-other"]
    pairs = list(zip(values(compared, "input"), values(compared, "other"), strict=True))
    assert any(one == two for one, two in pairs) and any(one != two for one, two in pairs)


def test_ranges_are_met_at_both_ends(interface: Interface) -> None:
    chances = [case.arguments["p"] for case in cases_of(interface, "diopiDropout").values()]
    assert chances == [0.0, 1.0]
    top = {name.partition("/")[2]: case for name, case in cases_of(interface, "diopiTopk").items()}
    full = top["boundary-k-high"]
    operand = full.arguments["input"]
    assert isinstance(operand, Operand) and full.arguments["k"] == operand.shape[int(str(full.arguments["dim"]))]
    index = next(case for name, case in cases_of(interface, "diopiIndexSelect").items() if name.endswith("index-high"))
    assert values(index, "index")


def test_windows_end_at_the_border_and_behind_it(interface: Interface) -> None:
    found = cases_of(interface, "diopiMaxPool2d")
    sizes = []
    for name, case in found.items():
        operand = case.arguments["input"]
        if "/boundary-window-2-" in name:
            assert case.arguments["ceil_mode"] is True and isinstance(operand, Operand)
            sizes.append(operand.shape[-1])
    assert len(sizes) > 1 and sizes == list(range(sizes[0], sizes[0] + len(sizes)))


def test_many_functions_have_boundary_cases(interface: Interface) -> None:
    reached = {function.name for function in cases.tested(interface) if cases_of(interface, function.name)}
    assert len(reached) >= 130
