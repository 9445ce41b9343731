"""Cases for the dtypes that no other case passes: one parameter takes the dtype, all else follows from a recipe."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from diopigen.conformance.cases.choices import Choice, primary_dtypes, primary_parameter, run_with
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError, fits
from diopigen.conformance.model import SUCCESS, Case, operands_of
from diopigen.contract.dtypes import category
from diopigen.ir.model import DtypeList, Function, Parameter
from diopigen.ir.recipe import Argument, TensorRecipe


def unreached(function: Function, cases: Iterable[Case]) -> dict[str, list[str]]:
    """The dtypes of lists that no call which has to succeed passes, by parameter."""
    missing: dict[str, list[str]] = {}
    calls = [case.arguments for case in cases if case.expect == SUCCESS]
    for param in function.params:
        if param.type in ("tensor", "tensors") and isinstance(param.dtype, DtypeList):
            reached = {operand.dtype for call in calls for operand in operands_of([call.get(param.name)])}
            left = [dtype for dtype in run_with(param.dtype.dtypes) if dtype not in reached]
            if left:
                missing[param.name] = left
    return missing


def cases(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]], others: Iterable[Case]
) -> Iterator[Case]:
    """One case for each dtype that `others` leave out, as far as a recipe suits it."""
    for name, dtypes in unreached(function, others).items():
        param = function.param(name)
        assert param is not None
        for dtype in dtypes:
            found = next(_tries(function, resolver, recipes, param, dtype), None)
            if found is not None:
                primary, arguments = found
                case_id = f"{function.name}/{primary}/{name}-{dtype}"
                yield Case(case_id, function.name, function.family, primary, "recipe", arguments)


def _tries(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]], param: Parameter, dtype: str
) -> Iterator[tuple[str, Arguments]]:
    """Arguments in which a parameter has the dtype, and what their case is named after: recipes as they stand, then
    those of which numbers are made whole and other dtypes exchanged as well.

    A uint8 where there may be a bool is a mask: it takes the place of one.
    """
    primary = primary_parameter(function)
    follows = primary is not None and primary.name == param.name
    assert isinstance(param.dtype, DtypeList)
    masks = dtype == "uint8" and "bool" in param.dtype.dtypes
    masked = [recipe for recipe in recipes if masks and _fixes(recipe.get(param.name), "bool")]
    for thorough in (False, True):
        for recipe in masked or recipes:
            changed = dict(recipe)
            if param.name in recipe:
                changed[param.name] = _typed(recipe[param.name], dtype, "bool" if masked else None)
            if thorough:
                changed = {name: _suited(value, dtype) for name, value in changed.items()}
            for other in [dtype] if follows or thorough else [*primary_dtypes(function), dtype]:
                try:
                    arguments = resolver.resolve(changed, Choice(other, 0, {param.name: dtype}))
                except RecipeError:
                    continue
                if _has(arguments, param.name, dtype):
                    yield (dtype if follows else other), arguments


def _has(arguments: Arguments, name: str, dtype: str) -> bool:
    return any(operand.dtype == dtype for operand in operands_of([arguments[name]]))


def _fixes(value: Argument | None, dtype: str) -> bool:
    if isinstance(value, tuple):
        return any(_fixes(item, dtype) for item in value)
    return isinstance(value, TensorRecipe) and value.dtype == dtype


def _typed(value: Argument, dtype: str, instead_of: str | None) -> Argument:
    """A tensor of a recipe, or those of its array, in another dtype; values that it does not have become ones."""
    if isinstance(value, tuple):
        return tuple(_typed(item, dtype, instead_of) for item in value)
    if not isinstance(value, TensorRecipe) or instead_of not in (None, value.dtype):
        return value
    return replace(value, dtype=dtype, values=value.values if fits(value.values, dtype) else 1)


def _suited(value: Argument, dtype: str) -> Argument:
    """Values that a recipe fixes, in one dtype; numbers lose their fractions if it is integral."""
    if isinstance(value, tuple):
        return tuple(_suited(item, dtype) for item in value)
    if isinstance(value, TensorRecipe) and value.dtype is not None:
        return replace(value, dtype=dtype)
    if isinstance(value, float) and category(dtype) < 2:
        return math.ceil(value) if math.isfinite(value) else 2
    return value
