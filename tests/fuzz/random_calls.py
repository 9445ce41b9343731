"""Random calls of the C functions: a legal call of the suite with some of its arguments at their extremes.

Sizes, ranks, strides, dtypes, nulls, integers and numbers change, one to three at a time; in half of the calls outputs
follow from the new arguments, so that more than the first check sees them. What a call is follows from the seed, its
function and its number alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from diopigen.conformance.cases.choices import Choice
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.cases.values import RecipeError, fits, seed_of
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import ANY_STATUS, FAR, LAYOUTS, SUCCESS, Case, Number, Operand, Value, operands_of
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.ir.recipe import Argument, Drawn, Literal, TensorRecipe

INTEGRAL = (
    *range(-9, 10), 16, 31, 32, 64, 127, 255, 256, 1000, 2**15, 2**16, 2**20, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
    2**40, 2**53, 2**62, 2**63 - 1, -(2**15), -(2**31), -(2**31) - 1, -(2**40), -(2**62), -(2**63) + 1, -(2**63),
)  # fmt: skip
REAL = (
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.5, 1e-45, 1e-320, 1e30, -1e30, 1e308, -1e308, 2.0**31, 2.0**63, -(2.0**63),
    math.inf, -math.inf, math.nan,
)  # fmt: skip
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
_ELEMENTS = 1 << 14
"""Elements of a tensor at most, but for what an operator allocates."""
_SHAPED = frozenset({"peaks", "definite", "permutation", "boxes", "regions", "points"})
"""Distributions that not every shape has."""
_SPACE = frozenset({"large", "model", "distribution"})
"""Axes whose calls are too large to be made by the thousand."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The legal calls of a function, and what completes the arguments of another one."""

    function: Function
    resolver: Resolver
    calls: tuple[Case, ...]


class Calls:
    """The random calls of an interface under a seed."""

    def __init__(self, interface: Interface, seed: int, functions: Sequence[str] = ()) -> None:
        self.interface, self.seed = interface, seed
        self.names = tuple(
            function.name
            for function in interface.functions
            if function.family not in ("runtime", "collective")
            and function.context
            and (not functions or function.name in functions)
        )
        self.origin = cache(self._origin)

    def __iter__(self) -> Iterator[Case]:
        """All calls without an end: call number n of each function, then n + 1."""
        number = 0
        while True:
            for name in self.names:
                call = self.call(name, number)
                if call is not None:
                    yield call
            number += 1

    def call(self, name: str, number: int) -> Case | None:
        """One call; None for a function that the suite has no legal calls of."""
        origin = self.origin(name)
        if not origin.calls:
            return None
        case_id = f"{name}/fuzz/{number}"
        draw = np.random.Generator(np.random.PCG64(seed_of(case_id, self.seed)))
        base = origin.calls[int(draw.integers(len(origin.calls)))]
        arguments = _Change(origin, base, draw).arguments()
        return replace(base, id=case_id, axis="fuzz", arguments=arguments, expect=ANY_STATUS, about=f"as {base.id}")

    def _origin(self, name: str) -> Origin:
        function = self.interface.function(name)
        assert function is not None
        calls = tuple(
            case
            for case in cases_of(self.interface, function)
            if case.expect == SUCCESS
            and case.axis not in _SPACE
            and all(
                math.prod(one.shape) <= _ELEMENTS and one.alias is None and not one.on_host
                for one in operands_of(case.arguments.values())
            )
        )
        return Origin(function, Resolver(self.interface, function), calls)


class _Change:
    """One random call out of a legal one."""

    def __init__(self, origin: Origin, base: Case, draw: np.random.Generator) -> None:
        self.origin, self.base, self.draw = origin, base, draw

    def arguments(self) -> Arguments:
        function = self.origin.function
        found: Arguments = dict(self.base.arguments)
        follows = bool(self.draw.integers(2))
        params = [param for param in function.params if param.name in found and self._may_change(param, follows)]
        if not params:
            return found
        for _ in range(int(self.draw.integers(1, 4))):
            param = params[int(self.draw.integers(len(params)))]
            found[param.name] = self._changed(param, found[param.name])
        found = self._counted(found)
        return self._completed(found) if follows else found

    def _may_change(self, param: Parameter, follows: bool) -> bool:
        if param.sparse:
            return False
        return param.direction != "out" or (param.type in ("tensor", "tensors") and not follows)

    def _completed(self, arguments: Arguments) -> Arguments:
        """The arguments with the outputs that follow from them; as they are where these have no shape or too large a
        one."""
        outputs = {param.name for param in self.origin.function.params if param.direction == "out"}
        recipe = {name: _recipe(value) for name, value in arguments.items() if name not in outputs}
        try:
            completed = self.origin.resolver.resolve(recipe, Choice(self.base.dtype), checked=False)
        except (RecipeError, ArithmeticError, TypeError, AssertionError, MemoryError):
            return arguments
        created = [completed[name] for name in outputs if name in completed]
        for one in operands_of(created):
            if not all(0 <= size <= _ELEMENTS for size in one.shape) or math.prod(one.shape) > _ELEMENTS:
                return arguments
        return {**arguments, **{name: completed[name] for name in outputs if name in completed}}

    def _counted(self, arguments: Arguments) -> Arguments:
        """Arrays hold as many handles as their counts say: C has no way to see that they do not."""
        for param in self.origin.function.params:
            counter = param.count if isinstance(param.count, str) else ""
            count = arguments.get(counter)
            if isinstance(count, int) and not isinstance(count, bool):
                array = arguments.get(param.name)
                length = len(array) if isinstance(array, tuple) else 0
                if param.type in ("new_tensors", "generators"):
                    arguments[counter] = self.base.arguments[counter]
                elif count > length:
                    arguments[counter] = length
        return arguments

    # ---- one argument ------------------------------------------------------------------------------------------------

    def _changed(self, param: Parameter, value: Value) -> Value:
        kinds: Mapping[type, Callable[[Value], Value]] = {
            bool: lambda one: not one,
            int: lambda _: self._integer(param),
            float: lambda _: self._one(REAL),
            str: lambda one: self._word(param, str(one)),
            Number: lambda _: self._number(),
            Operand: lambda one: self._tensor(one, param),
            tuple: lambda one: self._list(param, one),
        }
        change = kinds.get(type(value))
        if change is None:
            return value
        return None if param.nullable and self._chance(8) else change(value)

    def _integer(self, param: Parameter) -> int:
        number: int = self._one(INTEGRAL)
        bits = {"int": 32, "int32": 32}.get(param.type, 64)
        if param.type in ("uint64", "size_t"):
            return int(abs(number) % 2**64)
        return int((number + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))

    def _number(self) -> Number:
        if self._chance(2):
            return Number(self._one(REAL), "float64")
        return Number((self._one(INTEGRAL) + 2**63) % 2**64 - 2**63, "int64")

    def _word(self, param: Parameter, word: str) -> Value:
        if param.type == "string":
            text: str = self._one((*param.values, "", "x" * 300, word))
            return text
        return int(self._one((-1, 0, 1, 2, 3, 99, 2**31 - 1)))  # the value of an enum

    def _list(self, param: Parameter, value: Value) -> Value:
        """A list with an entry more or fewer, or with another one."""
        assert isinstance(value, tuple)
        at = int(self.draw.integers(len(value) + 1))
        if at == len(value):
            return (*value, value[-1] if value else int(self._one(SIZES))) if param.type == "sizes" else value
        if self._chance(3):
            return value[:at]
        one = value[at]
        if param.type == "sizes":
            changed: Value = int(self._one(INTEGRAL))
        else:
            changed = self._tensor(one, param) if isinstance(one, Operand) else one
        return (*value[:at], changed, *value[at + 1 :])

    def _tensor(self, value: Value, param: Parameter) -> Operand:
        assert isinstance(value, Operand)
        shape, dtype, layout = value.shape, value.dtype, value.layout
        action = int(self.draw.integers(8))
        if action <= 1 and shape:
            at = int(self.draw.integers(len(shape)))
            shape = (*shape[:at], int(self._one(SIZES)), *shape[at + 1 :])
        elif action == 2 and shape:
            at = int(self.draw.integers(len(shape)))
            shape = shape[:at] + shape[at + 1 :]
        elif action == 3:
            at = int(self.draw.integers(len(shape) + 1))
            shape = (*shape[:at], int(self._one((1, 2))), *shape[at:])
        elif action == 4:
            shape = () if self._chance(2) else (0,) * int(self.draw.integers(1, 4))
        elif action == 5:
            dtype = self._one(tuple(STORAGE))
        else:
            layout = self._one((*LAYOUTS, FAR))
        if math.prod(shape) > _ELEMENTS:
            shape = value.shape
        if param.is_written and layout == "expanded":
            layout = "strided"  # elements that share memory are no output
        values = _values(value, shape, dtype)
        if layout == "expanded" and isinstance(values, tuple):
            values = 0
        return replace(value, shape=shape, dtype=dtype, layout=layout, values=values)

    def _one(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.draw.integers(len(choices)))]

    def _chance(self, of: int) -> bool:
        return int(self.draw.integers(of)) == 0


def _values(value: Operand, shape: tuple[int, ...], dtype: str) -> Drawn | Literal:
    """Distribution of elements in another shape or dtype: as before if possible, else zeros."""
    sampled = value.values
    depends_on_shape = sampled.distribution in _SHAPED if isinstance(sampled, Drawn) else isinstance(sampled, tuple)
    if not fits(value.values, dtype) or (depends_on_shape and shape != value.shape):
        return 0
    return value.values


def _recipe(value: Value) -> Argument:
    if isinstance(value, Operand):
        return TensorRecipe(value.shape, value.dtype, value.values)
    if isinstance(value, Number):
        return value.value
    if isinstance(value, tuple):
        return tuple(_recipe(item) for item in value)
    return value
