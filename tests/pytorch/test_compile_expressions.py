"""Numbers that follow from sizes: the library evaluates them as Python does, and its arenas hold what a graph needs."""

from __future__ import annotations

import importlib
import json
import math
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def symbolic(torch_droplet: ModuleType) -> ModuleType:
    """The module of such numbers."""
    return importlib.import_module("diopi_torch.symbolic")


def evaluated(symbolic: ModuleType, table: Any, number: Any, symbols: list[int]) -> Any:
    """Value of a number that the library computes for these values of the symbols."""
    import torch

    encoder = symbolic.Encoder(table)
    index = encoder.encoded(number)["expression"]
    integers, reals = torch.ops.diopi.evaluate(json.dumps(encoder.expressions), symbols)
    return {"integer": integers, "real": reals, "boolean": [bool(one) for one in integers]}[number.kind][index]


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
}


def trees() -> Any:
    """Integers over three symbols: nested pairs of operations."""
    leaf = st.one_of(st.integers(0, 2).map(lambda k: ("symbol", k)), st.integers(-40, 40).map(lambda n: ("literal", n)))
    return st.recursive(leaf, lambda inner: st.tuples(st.sampled_from(sorted(_OPERATIONS)), inner, inner), max_leaves=9)


def computed(tree: Any, symbols: list[Any], extremes: dict[str, Callable[[Any, Any], Any]]) -> Any:
    kind, *rest = tree
    if kind == "symbol":
        return symbols[rest[0]]
    if kind == "literal":
        return rest[0]
    one, other = (computed(each, symbols, extremes) for each in rest)
    return extremes.get(kind, _OPERATIONS[kind])(one, other)


@QUICK
@given(
    tree=trees(),
    hints=st.lists(st.integers(1, 50), min_size=3, max_size=3),
    sizes=st.lists(st.integers(1, 50), min_size=3, max_size=3),
)
def test_integers_are_those_of_python(symbolic: ModuleType, tree: Any, hints: list[int], sizes: list[int]) -> None:
    """Sums, products, quotients and extremes, for other sizes than those that the expression was made with."""
    table = symbolic.Table()
    symbols = [table.symbol(k, hint, 1, math.inf) for k, hint in enumerate(hints)]
    extremes = {"min": symbolic.minimum, "max": symbolic.maximum}
    try:
        expected, hinted = (computed(tree, values, {}) for values in (sizes, hints))
        number = computed(tree, symbols, extremes)
    except ZeroDivisionError:
        assume(False)
    assert not table.conditions
    if not isinstance(number, symbolic.Symbolic):
        assert number == expected == hinted
        return
    low, high = number.bounds
    assert number.value == hinted and low <= expected <= high
    assert evaluated(symbolic, table, number, sizes) == expected


@QUICK
@given(
    one=trees(),
    other=trees(),
    comparison=st.sampled_from([operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]),
    hints=st.lists(st.integers(2, 9), min_size=3, max_size=3),
    sizes=st.lists(st.integers(2, 9), min_size=3, max_size=3),
)
def test_an_outcome_is_a_condition_where_bounds_leave_it_open(
    symbolic: ModuleType,
    one: Any,
    other: Any,
    comparison: Callable[[Any, Any], bool],
    hints: list[int],
    sizes: list[int],
) -> None:
    """Sizes for which the conditions hold have the same outcome; without a condition all do."""
    table = symbolic.Table()
    symbols = [table.symbol(k, hint, 2, math.inf) for k, hint in enumerate(hints)]
    extremes = {"min": symbolic.minimum, "max": symbolic.maximum}
    try:
        values = [computed(each, sizes, {}) for each in (one, other)]
        numbers = [computed(each, symbols, extremes) for each in (one, other)]
    except ZeroDivisionError:
        assume(False)
    outcome = comparison(*numbers)
    assert outcome == comparison(*(computed(each, hints, {}) for each in (one, other)))
    encoder = symbolic.Encoder(table)
    conditions = [each["expression"] for each in encoder.conditions()]
    import torch

    held = torch.ops.diopi.evaluate(json.dumps(encoder.expressions), sizes)[0]
    if all(held[index] for index in conditions):
        assert comparison(*values) == outcome


def test_other_operations(symbolic: ModuleType) -> None:
    """Real numbers, powers, roundings and choices."""
    table = symbolic.Table()
    s = table.symbol(0, 7, 2, math.inf)
    apply = table.apply
    for size in (2, 5, 9, 64):
        expected = [
            (s**2, size**2),
            (s**-0.5, size**-0.5),
            (s / 4, size / 4),
            (1 / s, 1 / size),
            (apply("square_root", s), math.sqrt(size)),
            (apply("floor", s / 4), math.floor(size / 4)),
            (apply("ceiling", s / 4), math.ceil(size / 4)),
            (apply("round", s / 2), round(size / 2)),
            (symbolic.truncated(-s / 4), math.trunc(-size / 4)),
            (apply("select", apply("less", s, 6), s, -s), size if size < 6 else -size),
            (apply("both", apply("less_equal", s, 5), apply("not_equal", s, 2)), size <= 5 and size != 2),
            (apply("negation", apply("either", apply("equal", s, 5), apply("equal", s, 9))), size not in (5, 9)),
            (symbolic.as_real(s) * 0.5 + s, size * 1.5),
            (symbolic.maximum(s / 2, 3.0), max(size / 2, 3.0)),
        ]
        for number, value in expected:
            found = evaluated(symbolic, table, number, [size])
            assert found == value and type(found) is type(value)


def test_numbers_that_a_plan_cannot_have(symbolic: ModuleType) -> None:
    import torch

    def run(*expressions: list[Any], symbols: tuple[int, ...] = (6,)) -> Any:
        return torch.ops.diopi.evaluate(json.dumps([["symbol", 0], *expressions]), symbols)

    large = ["literal", 1 << 62]
    for operation in ("multiply", "add"):
        with pytest.raises(RuntimeError, match="a size of a compiled graph has more than 64 bits"):
            run(large, [operation, 1, 1])
    for operation in ("floor_divide", "remainder", "divide"):
        with pytest.raises(RuntimeError, match="a size of a compiled graph is divided by 0"):
            run(["literal", 0], [operation, 0, 1])
    with pytest.raises(RuntimeError, match="a root of a negative number"):
        run(["literal", -1], ["square_root", 1])
    with pytest.raises(RuntimeError, match="has the expression 'tangent', which plans do not know"):
        run(["tangent", 0])
    with pytest.raises(RuntimeError, match="has the expression 'add' of 5, which does not come before it"):
        run(["add", 0, 5])
    with pytest.raises(RuntimeError, match="has the expression 'divide' with 1 operands"):
        run(["divide", 0])
    assert run(["literal", -(1 << 63)], ["literal", -1], ["remainder", 1, 2])[0][-1] == 0


def test_only_a_number_will_do(symbolic: ModuleType) -> None:
    """The plan is for this size then."""
    table = symbolic.Table()
    s = table.symbol(0, 7, 2, math.inf)
    assert [*range(s - 5)] == [0, 1] and len(table.conditions) == 1
    encoder = symbolic.Encoder(table)
    (condition,) = encoder.conditions()
    import torch

    holds = [torch.ops.diopi.evaluate(json.dumps(encoder.expressions), [n])[0][condition["expression"]] for n in (7, 8)]
    assert holds == [1, 0]
    with pytest.raises(symbolic.Untranslated, match="a power whose exponent follows from sizes"):
        2**s


LIFETIMES = st.lists(
    st.tuples(st.integers(0, 5000), st.integers(0, 30), st.integers(0, 8)).map(
        lambda one: (one[0], one[1], sum(one[1:]))
    ),
    min_size=1,
    max_size=40,
)


@QUICK
@given(lifetimes=LIFETIMES)
def test_tensors_that_live_at_once_do_not_overlap(
    torch_droplet: ModuleType, lifetimes: list[tuple[int, int, int]]
) -> None:
    import torch

    *offsets, total = torch.ops.diopi.plan_arena(*(list(each) for each in zip(*lifetimes, strict=True)))
    placed = [(offset, offset + size, *steps) for offset, (size, *steps) in zip(offsets, lifetimes, strict=True)]
    for k, (begin, end, first, last) in enumerate(placed):
        assert begin % 64 == 0 and begin >= 0 and end <= total
        for other_begin, other_end, other_first, other_last in placed[:k]:
            if first <= other_last and other_first <= last:
                assert end <= other_begin or other_end <= begin
    padded = [(max(64, -(-size // 64) * 64), first, last) for size, first, last in lifetimes]
    peak = max(sum(size for size, first, last in padded if first <= step <= last) for step in range(40))
    assert peak <= total <= sum(size for size, _, _ in padded)
