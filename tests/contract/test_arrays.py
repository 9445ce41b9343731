"""Predicates over long lists, which NumPy evaluates, have the values that they have entry by entry."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from diopigen.conformance.cases import suite as cases
from diopigen.conformance.cases.described import described
from diopigen.conformance.cases.resolve import Resolver
from diopigen.contract import arrays, compile
from diopigen.contract.arguments import Array, Described, Tensor, Undefined
from diopigen.contract.compile import Compiler
from diopigen.contract.evaluate import Arguments
from diopigen.contract.functions import FUNCTIONS
from diopigen.ir.model import Interface
from diopigen.spec.expression import parse

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("a", "b", "c", "d")
"""Tensors; the elements of `c` are small."""
EDGES = (0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), 0.0, -0.0, 0.5, -1.5, 1e308,
         float("inf"), float("-inf"), float("nan"), 9007199254740993.0)  # fmt: skip


@pytest.fixture(autouse=True)
def short_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two elements are many."""
    for module in (arrays, compile):
        monkeypatch.setattr(module, "LEAST", 2)


def both(shape: tuple[int, ...], elements: np.ndarray[Any, Any]) -> tuple[Tensor, Tensor]:
    """A tensor whose elements are tuples, and the same with an array."""
    listed = tuple(elements.reshape(-1).tolist())
    array = arrays.listed(elements)
    return Tensor(shape, "int64", lambda: listed), Tensor(shape, "int64", lambda: array)


def outcome(evaluate: Any, values: dict[str, Any]) -> str:
    """The value with the types of its numbers, or what was raised."""
    try:
        return repr(evaluate(SimpleNamespace(values=values, dimensions={})))
    except (Undefined, ArithmeticError, TypeError, ValueError) as error:
        return type(error).__name__


class Expressions:
    """Random expressions over the tensors and numbers of `NAMES`."""

    def __init__(self, source: random.Random) -> None:
        self.source = source

    def one_of(self, *forms: str) -> str:
        return self.source.choice(forms)

    def number(self) -> str:
        edge = self.source.choice(EDGES[:-3])
        return self.one_of(str(self.source.randint(0, 4)), "n", f"({edge})")

    def numbers(self, depth: int) -> str:
        name = self.source.choice(NAMES)
        axis, index = self.source.randint(-3, 2), self.source.randint(-3, 3)
        leaf = self.one_of(
            f"elements({name})", name, f"coordinates({name}, {axis})", f"select({name}, {axis}, {index})"
        )
        if depth == 0:
            return leaf
        first, second = self.numbers(depth - 1), self.numbers(depth - 1)
        operator = self.source.choice(["+", "-", "*", "//", "%", "/"])
        return self.one_of(
            leaf, f"({first} {operator} {second})", f"({first} {operator} {self.number()})",
            f"({self.number()} {operator} {first})", f"-{first}", f"pick({first}, {second})",
            f"repeat_each({first}, elements(c))", f"differences({first})", f"abs({first})", f"head({first}, 3)",
            f"row_counts({first} == {second}, {self.source.randint(1, 3)})", f"join({first}, {second})",
        )  # fmt: skip

    def bools(self, depth: int) -> str:
        first, second = self.numbers(depth), self.numbers(depth)
        comparison = self.source.choice(["==", "!=", "<", "<=", ">", ">="])
        leaf = self.one_of(f"{first} {comparison} {second}", f"{first} {comparison} {self.number()}")
        if depth == 0:
            return f"({leaf})"
        one, other = self.bools(depth - 1), self.bools(depth - 1)
        return self.one_of(f"({leaf})", f"({one} and {other})", f"({one} or {other})", f"(not {one})",
                           f"one_of({first}, 1, 2)", f"is_finite({first})")  # fmt: skip

    def value(self) -> str:
        depth = self.source.randint(0, 2)
        bools, first, second = self.bools(depth), self.numbers(depth), self.numbers(depth)
        return self.one_of(
            f"all({bools})", f"any({bools})", f"count({bools})", f"sum({first})", f"min({first})", f"max({first})",
            f"max({first}, {second})", f"nondecreasing({first})", f"distinct({first})", f"is_permutation({first})",
            f"equal({first}, {second})", f"len({first})", f"item({first}, 0)", f"norm({self.source.choice(NAMES)}, 2)",
            f"-{first}", f"join({first}, {second})", bools,
        )  # fmt: skip


def tensor(source: random.Random, *kinds: str) -> tuple[Tensor, Tensor]:
    shape = source.choice([(6,), (2, 3), (3, 2), (1,), (2, 1, 3), (), (0,)])
    count = int(np.prod(shape))
    kind = source.choice(kinds or ("small", "small", "permutation", "bool", "float", "integers", "edges", "unsigned"))
    drawn: list[Any] = [source.randint(-2, 3) for _ in range(count)]
    if kind == "permutation":
        drawn = source.sample(range(count), count)
    elif kind == "edges":
        drawn = [source.choice([v for v in EDGES if isinstance(v, float)]) for _ in range(count)]
    elif kind == "integers":
        drawn = [source.choice([v for v in EDGES if isinstance(v, int)]) for _ in range(count)]
    dtype: Any = {"bool": bool, "float": np.float32, "edges": np.float64, "unsigned": np.uint64}.get(kind, np.int64)
    with np.errstate(all="ignore"):
        return both(
            shape, np.array(drawn, dtype=np.int64 if dtype == np.uint64 else dtype).astype(dtype).reshape(shape)
        )


def test_values_are_those_of_tuples() -> None:
    source = random.Random(0)
    function: Any = SimpleNamespace(
        params=[SimpleNamespace(name=name, shape=None) for name in (*NAMES, "n")], is_collective=False
    )
    raised = 0
    arrays_of_results: set[str] = set()
    for number in range(6000):
        text = Expressions(source).value()
        tensors = {name: tensor(source, *(("small",) if name == "c" else ())) for name in NAMES}
        n = source.choice(EDGES)
        evaluate = Compiler.of(function).value(parse(text))
        expected = outcome(evaluate, {**{name: pair[0] for name, pair in tensors.items()}, "n": n})
        actual = outcome(evaluate, {**{name: pair[1] for name, pair in tensors.items()}, "n": n})
        known = {name: pair[0].elements() for name, pair in tensors.items()}
        assert actual == expected, f"{number}: {text} of {known}, n = {n}"
        raised += expected in ("Undefined", "TypeError", "ValueError")
        if expected not in ("Undefined", "TypeError", "ValueError"):
            arrays_of_results.add(text.partition("(")[0])
    assert raised < 4500, "most expressions have no value"
    assert {"all", "sum", "equal", "distinct", "nondecreasing"} <= arrays_of_results


LONG = {
    "ints": np.arange(6), "counts": np.array([1, 0, 2, 1, 1, 0]), "floats": np.array([0.5, -1.5, 2.0, 3.0, 4.0, 0.0]),
    "bools": np.array([True, False, True, True, False, True]),
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "ints + counts", "ints - 1", "2 * floats", "ints // 2", "ints % 4", "ints < counts", "floats >= 1",
        "0 <= ints < 6", "not (ints == counts)", "ints == 1 or ints == 2", "-ints", "-floats", "elements(ints)",
        "coordinates(ints, 0)", "select(ints, 0, -1)", "pick(elements(floats), elements(ints))",
        "pick(elements(ints), coordinates(ints, 0))",
        "repeat_each(elements(floats), elements(counts))", "differences(elements(ints))", "row_counts(ints > 1, 2)",
    ],
)  # fmt: skip
def test_lists_stay_arrays(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy evaluates what is common: nothing falls back to tuples."""
    function: Any = SimpleNamespace(params=[SimpleNamespace(name=n, shape=None) for n in LONG], is_collective=False)
    values = {name: both((6,), elements)[1] for name, elements in LONG.items()}
    lists: list[Any] = []

    def unchanged(value: Any) -> Any:
        lists.append(value)
        return value

    monkeypatch.setattr(compile, "_tuple", unchanged)
    Compiler.of(function).value(parse(text))(SimpleNamespace(values=values, dimensions={}))
    assert [type(value) for value in lists] == [Array]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n == 9007199254740992.0", (False, True)),  # float64 has no 2**53 + 1
        ("m // -1", (2**63, -5)),
        ("m % -1", (0, 0)),
        ("-m", (2**63, -5)),
        ("m - 1", (-(2**63) - 1, 4)),
        ("m * m", (2**126, 25)),
        ("sum(m - 6)", -(2**63) - 7),
    ],
)
def test_integers_are_those_of_python(text: str, value: Any) -> None:
    tensors = {"n": np.array([2**53 + 1, 2**53]), "m": np.array([-(2**63), 5])}
    function: Any = SimpleNamespace(params=[SimpleNamespace(name=n, shape=None) for n in tensors], is_collective=False)
    values = {name: both((2,), elements)[1] for name, elements in tensors.items()}
    assert Compiler.of(function).value(parse(text))(SimpleNamespace(values=values, dimensions={})) == value


def test_each_function_of_arrays_is_one_of_predicates() -> None:
    assert arrays.FUNCTIONS.keys() <= FUNCTIONS.keys()


@pytest.mark.parametrize(
    "elements",
    [np.array([1, 2**64 - 1], dtype=np.uint64), np.array([1.0, np.nan]), np.array([1j, 2]), np.array([], dtype=bool)],
)
def test_other_elements_stay_tuples(elements: np.ndarray[Any, Any]) -> None:
    assert isinstance(arrays.listed(elements), tuple)


def test_predicates_of_the_spec_hold_alike(interface: Interface) -> None:
    """All that read elements, for their recipes and with each tensor's elements changed."""
    source = random.Random(1)
    seen: set[bool] = set()
    evaluated = 0
    for function in cases.tested(interface):
        predicates = [
            constraint.require.expression
            for constraint in function.constraints
            if constraint.require is not None and constraint.checked != "call"
        ]
        if not predicates:
            continue
        recipes = cases.recipe_cases(function, Resolver(interface, function), cases.recipes_of(interface, function))
        for call in map(described, islice(recipes, 6)):
            for one, other in _changed(call, source):
                for predicate in predicates:
                    expected = Arguments(function, one).holds(predicate)
                    assert Arguments(function, other).holds(predicate) == expected, (function.name, one)
                    seen.add(expected)
                    evaluated += 1
    assert evaluated > 2000 and seen == {True, False}


def _changed(call: Any, source: random.Random) -> Iterator[tuple[dict[str, Described], dict[str, Described]]]:
    """The call with tuples and with arrays: as it is, and with a number put at some elements of each tensor."""
    known = {
        name: np.array(value.elements())
        for name, value in call.items()
        if isinstance(value, Tensor) and not value.dtype.startswith("complex") and value.values is not None
    }
    for name, elements in [("", None), *known.items()]:
        numbers = dict(known)
        if elements is not None:
            changed = elements.copy()
            changed[: source.randint(0, 3)] = source.choice([0, 1, 7, 1000])
            numbers[name] = changed
        tuples, long = dict(call), dict(call)
        for key, array in numbers.items():
            tensor = call[key]
            tuples[key] = Tensor(tensor.shape, tensor.dtype, partial(tuple, array.tolist()))
            long[key] = Tensor(tensor.shape, tensor.dtype, partial(arrays.listed, array))
        yield tuples, long
