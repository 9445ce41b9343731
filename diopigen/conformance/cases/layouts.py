"""Layouts of operators that are not elementwise: all tensors at once, and each tensor alone among contiguous ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diopigen.conformance.cases.choices import Choice, fixed_dtype, primary_dtypes
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Case, Operand, Value, operands_of
from diopigen.ir.model import Function, Parameter
from diopigen.ir.recipe import Argument, Drawn

NAMES = ("strided", "alone", "offset")

_ALONE = ("strided", "transposed", "expanded", "channels-last", "distant", "odd")
_RANK = {"strided": 1, "transposed": 2, "expanded": 2, "channels-last": 3, "distant": 1, "odd": 1}
"""From how many dimensions on a layout differs from a contiguous one."""
_FEW = 1024
"""Elements up to which they are laid out far from each other."""
_IMAGE = 4
"""From how many dimensions on frameworks keep whole models with the channels last."""
_REPEATABLE = frozenset({"normal", "uniform", "nonzero", "zeros", "ones", "bools"})
"""Ways to draw values that keep their meaning where a dimension repeats one slice."""


def cases(function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]) -> Iterator[Case]:
    """The cases of an operator without a kernel expression; the others have theirs in `axes`."""
    if function.kernel is not None:
        return
    dtypes = primary_dtypes(function)
    good: list[tuple[str, Arguments]] = []
    for number, recipe in enumerate(recipes):
        dtype = fixed_dtype(function, recipe) or _dtype(dtypes, number)
        try:
            arguments = resolver.resolve(recipe, Choice(dtype, number))
        except RecipeError:
            continue
        good.append((dtype, arguments))
        if number < 2:
            yield _together(function, dtype, arguments, ("strided", "transposed")[number % 2])
    images = next((call for call in good if any(len(o.shape) >= _IMAGE for o in operands_of(call[1].values()))), None)
    if images is not None:
        yield _together(function, *images, "channels-last")
    yield from _alone(function, good)
    for number, (dtype, arguments) in enumerate(good[:2], 1):
        laid_out = {name: _laid_out(value, "offset") for name, value in arguments.items()}
        yield _case(function, dtype, "offset", f"offset-{number}", laid_out)


def _dtype(dtypes: Sequence[str], number: int) -> str:
    """The dtype of a recipe: float32 first, which every chip has, so that its strides are looked at in any case; then
    from the end of the list."""
    return "float32" if number == 0 and "float32" in dtypes else dtypes[-1 - number % len(dtypes)]


def _case(function: Function, dtype: str, axis: str, name: str, arguments: Mapping[str, Value]) -> Case:
    return Case(f"{function.name}/{dtype}/{name}", function.name, function.family, dtype, axis, arguments)


def _together(function: Function, dtype: str, arguments: Arguments, layout: str) -> Case:
    laid_out = {name: _laid_out(value, layout) for name, value in arguments.items()}
    return _case(function, dtype, "strided", layout, laid_out)


def _laid_out(value: Value, layout: str) -> Value:
    if isinstance(value, Operand):
        return replace(value, layout=layout)
    if isinstance(value, tuple):
        return tuple(_laid_out(item, layout) for item in value)
    return value


def _alone(function: Function, good: Sequence[tuple[str, Arguments]]) -> Iterator[Case]:
    """Each tensor laid out in every way that suits it, all others contiguous; the recipes take turns."""
    turn = 0
    for param in function.params:
        for layout in _ALONE:
            suited = [(dtype, found) for dtype, found in good if suits(param, found.get(param.name), layout)]
            # Where nothing is selected, it does not matter how that lies from which it would be.
            suited = [call for call in suited if not _has_empty(call[1])] or suited
            if not suited:
                continue
            dtype, arguments = suited[turn % len(suited)]
            turn += 1
            laid_out = {**arguments, param.name: _laid_out(arguments[param.name], layout)}
            yield _case(function, dtype, "alone", f"{param.name}-{layout}", laid_out)


def _has_empty(arguments: Arguments) -> bool:
    return any(math.prod(operand.shape) == 0 for operand in operands_of(arguments.values()))


def suits(param: Parameter, value: Value, layout: str) -> bool:
    """Returns whether a layout makes a difference to a tensor, or to one of an array, and keeps its values."""
    items = [item for item in (value if isinstance(value, tuple) else (value,)) if isinstance(item, Operand)]
    if not any(len(item.shape) >= _RANK[layout] and math.prod(item.shape) > 1 for item in items):
        return False
    if layout == "odd":
        return any(1 in item.shape and math.prod(item.shape) > 1 for item in items)
    if layout == "distant":
        return all(math.prod(item.shape) <= _FEW for item in items)
    if layout == "expanded":
        if param.is_written:
            return False
        return all(isinstance(item.values, Drawn) and item.values.distribution in _REPEATABLE for item in items)
    return True
