"""Calls that are not known before a run: legal calls of the suite with other sizes, dimensions, numbers, values and
layouts, drawn from a seed.

Such a call keeps the contract of its function, as every case of the suite does. It follows from the seed, its function
and its number alone, so that its id and the seed repeat it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diopigen.conformance.cases.choices import Choice
from diopigen.conformance.cases.layouts import suits
from diopigen.conformance.cases.legal import LegalCalls
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.cases.values import RecipeError, seed_of
from diopigen.conformance.model import NORMAL, SUCCESS, Case, Number, Operand, Value, operands_of
from diopigen.contract.comparisons import tensors_of_dims
from diopigen.contract.dtypes import kind
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe

AXIS = "held-out"
_EXCLUDED = frozenset({"large", "model", "distribution"})
"""Axes whose calls depend on their sizes."""
_ELEMENTS = 1 << 16
"""Elements of a tensor at most."""
_ENLARGED = 1 << 20
"""The same of a call with other sizes by a factor."""
_WORK = 1 << 22
"""Elements of a tensor times a number that has become a new size, at most: a number may multiply the work."""
_HALF_BITS = 7
"""Bits of a factor of halves: each dtype holds it, so that it does not matter to which one a kernel rounds it."""
_ATTEMPTS = 40
"""Draws for one call: most changes of one size alone break a contract that ties several."""
_LAYOUTS = ("strided", "transposed", "expanded", "channels-last", "distant", "offset", "odd")
_NEAR_POWERS = tuple(2**k + step for k in range(1, 9) for step in (-1, 0, 1))
FREE = frozenset({"normal", "uniform", "nonzero", "zeros", "ones", "bools"})
"""Distributions that any shape has, and whose numbers mean nothing more than their size."""

Sizes = Mapping[int, int]
"""New sizes by old ones."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A function, and calls of it that others are derived from."""

    function: Function
    resolver: Resolver
    legal: LegalCalls
    """The calls whose tensors have the shapes of the spec: others, which a parameter with a free shape may have, do
    not follow from it."""
    calls: tuple[Case, ...]


class HeldOut:
    """The held-out calls of an interface under a seed."""

    def __init__(self, interface: Interface, seed: int) -> None:
        self.interface, self.seed = interface, seed
        self._origins: dict[str, Origin] = {}

    def of(self, function: Function, count: int) -> list[Case]:
        """`count` calls of a function, fewer where the suite has no legal calls of it that can change."""
        return [case for number in range(1, count + 1) if (case := self.call(function, number)) is not None]

    def call(self, function: Function, number: int) -> Case | None:
        """One call; None where there is none."""
        origin = self._origin(function)
        draw = np.random.Generator(np.random.PCG64(seed_of(f"{function.name}/{AXIS}/{number}", self.seed)))
        for _ in range(_ATTEMPTS if origin.calls else 0):
            base = origin.calls[int(draw.integers(len(origin.calls)))]
            arguments = _Change(origin, base, draw).arguments()
            if arguments is not None:
                case_id = f"{function.name}/{base.dtype}/{AXIS}-{number}"
                return replace(base, id=case_id, axis=AXIS, arguments=arguments, about=f"as {base.id}")
        return None

    def enlarged(self, function: Function, case: Case, factor: int) -> Case | None:
        """A legal call of a function with all sizes but 1 that many times as large; None where it would be none, or
        has too many elements."""
        origin = self._origin(function)
        sizes = {size: size * factor for one in _read(function, case.arguments) for size in one.shape if size > 1}
        arguments = with_sizes(origin, case, sizes, lambda _: True, most=_ENLARGED)
        return None if arguments is None else replace(case, id=f"{case.id}-x{factor}", arguments=arguments)

    def find(self, case_id: str) -> Case | None:
        """The call of an id; None where it has another form, or the seed gives another call."""
        name, _, rest = case_id.partition("/")
        word, _, number = rest.rpartition("-")
        function = self.interface.function(name)
        if function is None or not word.endswith(f"/{AXIS}") or not number.isdecimal():
            return None
        found = self.call(function, int(number))
        return found if found is not None and found.id == case_id else None

    def smaller(self, case: Case) -> Iterator[Case]:
        """Calls that are simpler than a held-out one in one thing: a size, a layout, the values of a tensor."""
        function = self.interface.function(case.function)
        assert function is not None, case.function
        origin = self._origin(function)
        for size in sorted({s for one in _read(function, case.arguments) for s in one.shape if s > 1}, reverse=True):
            for less in dict.fromkeys((1, 2, size // 2, size - 1)):
                if 0 < less < size:
                    yield from _resolved(origin, case, {size: less}, lambda _: True)
        for name, value in case.arguments.items():
            if isinstance(value, Operand) and value.layout != "contiguous":
                yield replace(case, arguments={**case.arguments, name: replace(value, layout="contiguous")})
        for name, value in case.arguments.items():
            if isinstance(value, Operand) and isinstance(value.values, Drawn) and value.values.distribution in FREE:
                for values in (Drawn("ones"), NORMAL):
                    if value.values not in (Drawn("ones"), values, Drawn("zeros")):
                        yield replace(case, arguments={**case.arguments, name: replace(value, values=values)})

    def _origin(self, function: Function) -> Origin:
        found = self._origins.get(function.name)
        if found is None:
            legal = bound_calls(function)
            calls = tuple(
                case
                for case in cases_of(self.interface, function)
                if _is_open(function, case) and legal.admits(case.arguments)
            )
            found = Origin(function, Resolver(self.interface, function), legal, calls)
            self._origins[function.name] = found
        return found


def bound_calls(function: Function) -> LegalCalls:
    """The calls of a function whose tensors have the shapes of the spec, also where a library may take others."""
    params = tuple(_with_shape(param) for param in function.params)
    return LegalCalls(replace(function, params=params), is_strict=True)


def smallest(held_out: HeldOut, case: Case, fails: Callable[[Case], bool], checks: int = 60) -> Case:
    """A simpler call that fails as well: one thing after another becomes simpler, as long as the call still fails."""
    found, left, again = case, checks, True
    while again:
        again = False
        for candidate in held_out.smaller(found):
            if left == 0:
                return found
            left -= 1
            if fails(candidate):
                found, again = candidate, True
                break
    return found


def _is_open(function: Function, case: Case) -> bool:
    """Returns whether a case is a legal call that may be changed. Special numbers are in places where no sum or product
    of several is open, so that only calls with one element for each result are."""
    is_by_element = function.kernel is not None and all(param.type != "tensors" for param in function.params)
    return (
        case.expect == SUCCESS
        and (case.axis != "special" or is_by_element)
        and case.axis not in _EXCLUDED
        and all(
            one.alias is None and not one.on_host and math.prod(one.shape) <= _ELEMENTS
            for one in operands_of(case.arguments.values())
        )
    )


def _read(function: Function, arguments: Mapping[str, Value]) -> Iterator[Operand]:
    return operands_of(arguments.get(param.name) for param in function.params if param.is_read)


def _all_true(arguments: Arguments) -> Arguments:
    """The arguments with the largest number of true elements that drawn ones may have."""

    def largest(value: Value) -> Value:
        is_drawn = isinstance(value, Operand) and value.values == Drawn("bools")
        return replace(value, values=Drawn("ones")) if is_drawn and isinstance(value, Operand) else value

    return {name: largest(value) for name, value in arguments.items()}


def _with_shape(param: Parameter) -> Parameter:
    return replace(param, free=tuple(one for one in param.free if one != "shape"))


def _becomes_one(function: Function, before: Mapping[str, Value], after: Mapping[str, Value]) -> bool:
    """Returns whether a tensor has one element only now, which is a form of its own in some contracts."""
    pairs = zip(_read(function, before), _read(function, after), strict=True)
    return any(math.prod(two.shape) == 1 and math.prod(one.shape) != 1 for one, two in pairs)


def _resolved(origin: Origin, case: Case, sizes: Sizes, follows: Callable[[Parameter], bool]) -> Iterator[Case]:
    """The case with other sizes, where that is a legal call. `follows` chooses the numbers that are sizes too."""
    arguments = with_sizes(origin, case, sizes, follows)
    if arguments is not None:
        laid_out = {name: _as_before(value, case.arguments.get(name)) for name, value in arguments.items()}
        yield replace(case, arguments=laid_out)


def _as_before(value: Value, before: Value) -> Value:
    """An operand in the layout that it had, where that suits it."""
    if not isinstance(value, Operand) or not isinstance(before, Operand):
        return value
    keeps = len(value.shape) == len(before.shape) and not before.layout.startswith("by ")
    return replace(value, layout=before.layout) if keeps else value


def with_sizes(
    origin: Origin,
    case: Case,
    sizes: Sizes,
    follows: Callable[[Parameter], bool],
    lead: int = 0,
    most: float = math.inf,
) -> Arguments | None:
    """The arguments with other sizes, outputs as they follow; None where that is no legal call. Tensors of the highest
    rank have one more dimension of size `lead` in front, if this is not 0. A call whose operands have more elements
    than `most` is none: a predicate is not asked about them."""
    counts = {param.count for param in origin.function.params}
    rank = max((len(one.shape) for one in _read(origin.function, case.arguments)), default=0)

    def shape_of(shape: Sequence[int]) -> tuple[int, ...]:
        more = (lead,) if lead and len(shape) == rank else ()
        found = (*more, *(sizes.get(size, size) for size in shape))
        if math.prod(found) > most:
            raise RecipeError(f"a tensor has more than {most} elements")
        return found

    recipe: dict[str, Argument] = {}
    try:
        for param in origin.function.params:
            name = param.name
            if name not in case.arguments or (param.direction == "out" and _has_tensor(case.arguments[name])):
                continue
            recipe[name] = _sized(case.arguments[name], sizes, shape_of, name not in counts and follows(param))
        found = origin.resolver.resolve(recipe, Choice(case.dtype))
        return found if origin.legal.admits(found) else None
    except (RecipeError, ArithmeticError, TypeError, AssertionError, MemoryError, IndexError):
        return None


def _has_tensor(value: Value) -> bool:
    return any(True for _ in operands_of([value]))


def _sized(value: Value, sizes: Sizes, shape_of: Callable[[Sequence[int]], tuple[int, ...]], is_size: bool) -> Argument:
    if isinstance(value, Operand):
        shape = shape_of(value.shape)
        return TensorRecipe(shape, value.dtype, _values(value, shape, sizes))
    if isinstance(value, Number):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, tuple):
        return tuple(_sized(item, sizes, shape_of, is_size) for item in value)
    if is_size and type(value) is int:
        return sizes.get(value, value)
    return value


def _values(value: Operand, shape: Sequence[int], sizes: Sizes) -> Any:
    """The recipe of elements in another shape: indices stay below the size that they were below."""
    if isinstance(value.values, Drawn):
        if value.values.distribution == "integers":
            low, high = value.values.arguments
            return Drawn("integers", (low, min(high, sizes.get(int(high), high))))
        return value.values
    if isinstance(value.values, tuple) and tuple(shape) != value.shape:
        raise RecipeError("written out elements have the shape that they have")
    return value.values


class _Change:
    """One call out of another one."""

    def __init__(self, origin: Origin, base: Case, draw: np.random.Generator) -> None:
        self.origin, self.base, self.draw = origin, base, draw
        self.dims = tensors_of_dims(origin.function)

    def arguments(self) -> Arguments | None:
        """The arguments of the new call; None where the draw is no legal call."""
        sizes, lead = self._sizes(), int(self.draw.integers(1, 6)) if self._chance(6) else 0
        found = with_sizes(self.origin, self.base, sizes, lambda _: self._chance(2), lead, _ELEMENTS)
        largest = max((math.prod(one.shape) for one in operands_of(found.values())), default=0) if found else 0
        if found is None or largest > _ELEMENTS or largest * self._largest_number(found) > _WORK:
            return None
        if _becomes_one(self.origin.function, self.base.arguments, found):
            return None
        changed = {**found, **self._numbers(found)}
        changed = {name: self._operand(name, value) for name, value in changed.items()}
        return changed if all(map(self.origin.legal.admits, (changed, _all_true(changed)))) else None

    def _largest_number(self, found: Arguments) -> int:
        """The largest integer that the base does not have; 1 without one."""
        before = self.base.arguments
        return max((v for name, v in found.items() if type(v) is int and v != before.get(name)), default=1)

    def _sizes(self) -> Sizes:
        """New sizes: of all, of one, of all by one factor, or none."""
        operands = _read(self.origin.function, self.base.arguments)
        old = sorted({size for one in operands for size in one.shape if size > 1})
        way = int(self.draw.integers(8))
        if not old or way == 0:
            return {}
        if way == 1:
            factor = int(self.draw.integers(2, 5))
            return {size: size * factor for size in old}
        if way <= 4:
            one = self._one(old)
            return {one: self._size(one)}
        return {size: self._size(size) for size in old}

    def _size(self, old: int) -> int:
        if self._chance(2):
            return int(self._one(_NEAR_POWERS))
        return int(self.draw.integers(1, 3 * old + 2))

    def _numbers(self, found: Arguments) -> Arguments:
        """Dimensions from either end, and factors that are not those of the base."""
        changed: Arguments = {}
        for param in self.origin.function.params:
            value, tensor = found.get(param.name), found.get(self.dims.get(param.name, ""))
            if isinstance(tensor, Operand) and tensor.shape and type(value) is int and self._chance(2):
                changed[param.name] = value - len(tensor.shape) if value >= 0 else value + len(tensor.shape)
            elif isinstance(value, Number) and value.dtype == "float64" and math.isfinite(value.value) and value.value:
                scaled = value.value * float(self.draw.uniform(0.5, 1.5))
                if self.base.dtype in ("float16", "bfloat16"):
                    fraction, exponent = math.frexp(scaled)
                    scaled = math.ldexp(round(math.ldexp(fraction, _HALF_BITS)), exponent - _HALF_BITS)
                changed[param.name] = Number(scaled, "float64")
        return changed if changed and self.origin.legal.admits({**found, **changed}) else {}

    def _operand(self, name: str, value: Value) -> Value:
        """An operand, or each of a list, with other values and in another layout."""
        if isinstance(value, tuple):
            return tuple(self._operand(name, item) for item in value)
        param = self.origin.function.param(name)
        if not isinstance(value, Operand) or param is None or param.sparse:
            return value
        found = replace(value, values=self._other_values(value)) if param.is_read else value
        layout = self._one(_LAYOUTS)
        if self._chance(2) and (layout == "offset" or suits(param, found, layout)):
            return replace(found, layout=layout)
        return found

    def _other_values(self, value: Operand) -> Any:
        values = value.values
        if values == NORMAL and kind(value.dtype) == "float" and self._chance(2):
            largest = self._one((1e-3, 0.5, 4.0))
            return Drawn("uniform", (-largest, largest))
        if isinstance(values, Drawn) and values.distribution == "integers" and self._chance(3):
            low, high = values.arguments
            return Drawn("integers", (low, low + max(1, (high - low) // 8)))  # the same few indices over and over
        return values

    def _one(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.draw.integers(len(choices)))]

    def _chance(self, of: int) -> bool:
        return int(self.draw.integers(of)) == 0
