"""The axis `boundary`: numbers, sizes and counts exactly at a limit that the spec states, and next to it.

The formula of an elementwise operator says what it compares its operands with, a constraint which numbers and indices
are the first and the last that are allowed, and a window with `ceil_mode` where the last one begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from diopigen.conformance.cases.axes import Maker, tensors
from diopigen.conformance.cases.choices import Choice, fixed_dtype, primary_dtypes
from diopigen.conformance.cases.described import describe
from diopigen.conformance.cases.limits import Formula
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError, storable
from diopigen.conformance.dtypes import Array, decode, encode
from diopigen.conformance.model import Case, Number, Operand, Value
from diopigen.contract import evaluate as contract
from diopigen.contract.arguments import Undefined
from diopigen.contract.comparisons import limits, tensors_of_dims
from diopigen.contract.dtypes import MANTISSA, SMALLEST_NORMAL, kind
from diopigen.ir.model import Function
from diopigen.ir.recipe import Argument, Drawn, Literal, TensorRecipe
from diopigen.ir.types import INTEGERS
from diopigen.spec.expression import Binary, Expression, Name
from diopigen.spec.expression import Number as Figure

NAMES = ("boundary",)
Recipes = Sequence[Mapping[str, Argument]]


def cases(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """The cases of a function at the limits that the spec states of it."""
    if function.kernel is not None:
        yield from _formula(function, resolver)
    yield from _ranges(function, resolver, recipes)
    yield from _windows(function, resolver, recipes)


def _case(function: Function, dtype: str, name: str, arguments: Mapping[str, Value]) -> Case:
    case_id = f"{function.name}/{dtype}/boundary-{name}"
    return Case(case_id, function.name, function.family, dtype, "boundary", arguments)


# ---- the formula of an elementwise operator -----------------------------------------------------------------------


def neighbours(value: float, dtype: str) -> list[float]:
    """A number and those just below and above it in a dtype; around zero the smallest normal ones, as a chip may take
    what is smaller for zero. Nothing where the dtype does not hold the number."""
    if kind(dtype) == "int":
        return [value - 1, value, value + 1] if float(value).is_integer() else []
    if float(decode(encode(np.array(value), dtype), dtype)) != value:
        return []
    if value == 0:
        return [-SMALLEST_NORMAL[dtype], -0.0, 0.0, SMALLEST_NORMAL[dtype]]
    fraction, exponent = math.frexp(abs(value))
    unit = 2.0 ** (exponent - MANTISSA[dtype])
    inward = unit / 2 if fraction == 0.5 else unit
    sign = math.copysign(1, value)
    return [value - sign * inward, value, value + sign * unit]


_BASES = (1.0, -2.0, 0.0, 3.0)
"""Common dtype and shape of two operands that are compared with each other."""


def _formula(function: Function, resolver: Resolver) -> Iterator[Case]:
    maker = Maker(function, resolver)
    if function.kernel is None or not tensors(function):
        return
    operands = frozenset(p.name for p in maker.operands)
    for step, dtype in enumerate(primary_dtypes(function)):
        if kind(dtype) not in ("float", "int"):
            continue
        try:
            arguments = maker.resolved({}, (1,), Choice(dtype, step))
        except RecipeError:
            continue
        numbers = {name: number for name, value in arguments.items() if (number := _number(value)) is not None}
        limits, pairs = Formula(function.kernel, numbers, operands).limits()
        values: dict[str, list[float]] = {}
        for limit in limits:
            one = arguments.get(limit.operand)
            if isinstance(one, Operand):
                values.setdefault(limit.operand, []).extend(neighbours(limit.value, one.dtype))
        for name, found in values.items():
            yield from _placed(function, maker, Choice(dtype, step), name, {name: found})
        for pair in pairs:
            one, two = arguments.get(pair.one), arguments.get(pair.two)
            if isinstance(one, Operand) and isinstance(two, Operand) and one.dtype == two.dtype:
                both = [(base, neighbour) for base in _BASES for neighbour in neighbours(base, one.dtype)]
                selected = {pair.one: [base for base, _ in both], pair.two: [neighbour for _, neighbour in both]}
                yield from _placed(function, maker, Choice(dtype, step), f"{pair.one}-{pair.two}", selected)


def _number(value: Value) -> float | None:
    number = value.value if isinstance(value, Number) else value
    return float(number) if isinstance(number, (int, float)) and not isinstance(number, bool) else None


def _placed(
    function: Function, maker: Maker, choice: Choice, name: str, values: Mapping[str, list[float]]
) -> Iterator[Case]:
    """A case in which operands hold these numbers, as far as their dtype does."""
    count = len(next(iter(values.values())))
    if count == 0:
        return
    try:
        arguments = maker.resolved({}, (count,), choice)
    except RecipeError:
        return
    for operand, numbers in values.items():
        value = arguments[operand]
        if not isinstance(value, Operand) or len(value.shape) != 1:
            return
        literal = tuple(int(n) if kind(value.dtype) == "int" else n for n in numbers)
        if kind(value.dtype) == "int":
            # What an unsigned dtype does not hold is replaced by the limit above it.
            literal = tuple(n if storable(n, value.dtype) else 0 for n in literal)
        arguments[operand] = replace(value, values=literal)
    yield _case(function, choice.dtype, name, arguments)


# ---- the ranges that constraints state ----------------------------------------------------------------------------


def _ranges(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    dtypes = primary_dtypes(function)
    for position, (name, bound) in enumerate(_bounds(function)):
        for number, recipe in enumerate(recipes):
            dtype = fixed_dtype(function, recipe) or dtypes[(position + number) % len(dtypes)]
            arguments = _at(function, resolver, recipe, Choice(dtype, number), name, bound)
            if arguments is not None:
                yield _case(function, dtype, f"{name}-{bound.kind}", arguments)
                break


class _Bound:
    """An end of a range: an expression over the arguments, and whether it is the low or the high one."""

    def __init__(self, expression: Expression, kind: str, *, of_values: bool = False) -> None:
        self.expression, self.kind, self.of_values = expression, kind, of_values


def _bounds(function: Function) -> Iterator[tuple[str, _Bound]]:
    """The parameters that constraints bound, with each end that is allowed itself. Dimensions are the axis
    `negative-dim`."""
    counted = tensors_of_dims(function)
    for limit in limits(function):
        param = function.param(limit.parameter)
        if param is None or limit.parameter in counted or not math.isfinite(_constant(limit.end)):
            continue
        if limit.of_entries and param.type == "tensor" and "indices" in function.unspecified:
            continue
        end = limit.end
        if limit.operator in ("<", ">"):
            # Of integers the one next to the end is the last that is allowed.
            if not (limit.of_entries or param.type in INTEGERS):
                continue
            end = Binary("-" if limit.operator == "<" else "+", end, Figure(1))
        yield limit.parameter, _Bound(end, "high" if limit.operator[0] == "<" else "low", of_values=limit.of_entries)


def _constant(expression: Expression) -> float:
    """The number that an end is; 0 for an expression."""
    return math.inf if expression == Name("inf") else 0.0


def _at(
    function: Function, resolver: Resolver, recipe: Mapping[str, Argument], choice: Choice, name: str, bound: _Bound
) -> Arguments | None:
    """The arguments of a recipe with a parameter at the end of its range; None where they cannot be had."""
    param = function.param(name)
    if param is None or param.is_written or any(other.count == name for other in function.params):
        return None
    try:
        before = resolver.resolve(recipe, choice)
        end = _evaluated(function, bound.expression, before)
        if end is None:
            return None
        if bound.of_values:
            value = before.get(name)
            if not isinstance(value, Operand) or not value.shape or kind(value.dtype) != "int":
                return None
            arguments = {**before, name: replace(value, values=_all(value.shape, end))}
        else:
            if _number(before.get(name)) is None:
                return None
            argument: Argument = end if isinstance(_plain(before[name]), int) else float(end)
            arguments = resolver.resized({**recipe, name: argument}, choice)
    except RecipeError:
        return None
    return arguments if resolver.calls.admits(arguments) else None


def _plain(value: Value) -> object:
    return value.value if isinstance(value, Number) else value


def _evaluated(function: Function, expression: Expression, arguments: Arguments) -> int | float | None:
    """The number that an end of a range stands for; None where it has no value or follows from elements."""
    try:
        value = contract.Arguments(function, describe(arguments, function.name)).value(expression)
    except (Undefined, ArithmeticError):
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _all(shape: tuple[int, ...], value: int | float) -> Literal:
    filled: Array = np.full(shape, value)
    return _tuples(filled.tolist())


def _tuples(values: object) -> Literal:
    if isinstance(values, list):
        return tuple(_tuples(item) for item in values)
    assert isinstance(values, int)
    return values


# ---- windows ------------------------------------------------------------------------------------------------------


def _windows(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """With `ceil_mode`: inputs in which the last window ends at the border, and one, two ... elements behind it."""
    names = {p.name for p in function.params}
    window = next((name for name in ("kernel_size", "ksize") if name in names), None)
    if window is None or not {"ceil_mode", "input", "stride"} <= names or "grad_input" in names:
        return
    outputs = {p.name for p in function.params if p.direction == "out"}
    dtypes = primary_dtypes(function)
    for number, recipe in enumerate(recipes, 1):
        image, strides = recipe.get("input"), recipe.get("stride")
        if not isinstance(image, TensorRecipe) or not isinstance(image.values, Drawn) or not recipe.get(window):
            continue
        steps = strides if isinstance(strides, tuple) and strides else recipe[window]
        step = steps[-1] if isinstance(steps, tuple) else steps
        for more in range(step if isinstance(step, int) and not recipe.get("adaptive") else 0):
            dtype = fixed_dtype(function, recipe) or dtypes[(number + more) % len(dtypes)]
            retained = {name: value for name, value in recipe.items() if name not in outputs}
            sizes = (*image.shape[:-1], image.shape[-1] + more)
            retained.update(input=replace(image, shape=sizes), ceil_mode=True)
            try:
                arguments = resolver.resolve(retained, Choice(dtype, number))
            except RecipeError:
                continue
            # A recipe may leave an output out, which is null then: its results stay asked for.
            if outputs - {"indices"} <= {name for name, value in arguments.items() if value is not None}:
                yield _case(function, dtype, f"window-{number}-{more}", arguments)
