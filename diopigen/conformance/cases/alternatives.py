"""Cases for rules that allow several dtypes or shapes: each alternative that the caller may select has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from diopigen.conformance.cases.choices import Choice, fixed_dtype, primary_dtypes
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Case, operands_of
from diopigen.contract.functions import ONE_OF
from diopigen.ir.model import DtypeRule, Function, Parameter, ShapeRule
from diopigen.ir.recipe import Argument
from diopigen.spec.expression import Call


def _count(rule: DtypeRule | ShapeRule) -> int:
    expression = rule.formula.expression
    is_choice = isinstance(expression, Call) and expression.function == ONE_OF
    return len(expression.arguments) if is_choice and isinstance(expression, Call) else 1


def _followed(rule: ShapeRule) -> str:
    """The parameter whose shape a rule repeats; empty for any other rule."""
    expression = rule.formula.expression
    if not (isinstance(expression, Call) and expression.function == "same"):
        return ""
    return getattr(expression.arguments[0], "name", "")


def _counts(param: Parameter) -> Iterator[int]:
    for rule in (param.dtype, param.shape):
        if isinstance(rule, (DtypeRule, ShapeRule)):
            yield _count(rule)


def cases(function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]) -> Iterator[Case]:
    """For each alternative but the first, in each dtype, the recipe with the most tensors in which it makes a
    difference. All parameters take the alternative of that number, or their last one."""
    most = max((count for param in function.params for count in _counts(param)), default=1)
    for number in range(1, most):
        for dtype in primary_dtypes(function):
            found = list(_different(function, resolver, recipes, dtype, number))
            if found:
                arguments = max(found, key=lambda one: sum(1 for _ in operands_of(one.values())))
                case_id = f"{function.name}/{dtype}/alternative-{number}"
                yield Case(case_id, function.name, function.family, dtype, "recipe", arguments)


def _different(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]], dtype: str, number: int
) -> Iterator[Arguments]:
    """The recipes in a dtype, with the alternative, where that is not what they have anyway. A shape that has
    alternatives is left to the rule."""
    ruled = {p.name for p in function.params if isinstance(p.shape, ShapeRule) and _count(p.shape) > 1}
    ruled |= {p.name for p in function.params if isinstance(p.shape, ShapeRule) and _followed(p.shape) in ruled}
    for recipe in recipes:
        if fixed_dtype(function, recipe) not in (None, dtype):
            continue
        open_recipe = {name: value for name, value in recipe.items() if name not in ruled}
        try:
            usual = resolver.resolve(open_recipe, Choice(dtype))
            other = resolver.resolve(open_recipe, Choice(dtype, alternative=number))
        except RecipeError:
            continue
        if usual != other:
            yield other
