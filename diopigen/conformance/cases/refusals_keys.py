"""Calls that violate one key of a parameter and nothing else: all other arguments follow from a recipe as they would in
a legal call, and every other constraint holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from diopigen.conformance.cases.axes import Maker
from diopigen.conformance.cases.choices import Choice, primary_dtypes
from diopigen.conformance.cases.described import describe
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.cases.violations import violations
from diopigen.conformance.model import Case, Number, Operand, Value, operands_of
from diopigen.contract import evaluate as contract
from diopigen.contract.arguments import Tensor, Undefined
from diopigen.contract.shapes import ShapeError
from diopigen.ir.clauses import Key
from diopigen.ir.model import Constraint, Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.recipe import Argument, TensorRecipe
from diopigen.ir.types import INTEGERS
from diopigen.spec.expression import Call, Expression
from diopigen.spec.interval import Interval

Recipe = Mapping[str, Argument]

_WORDS = {
    "dim_of": ("dim-below", "dim-above"),
    "range": ("range-below", "range-above"),
    "length": ("length-short", "length-long"),
    "rank": ("rank-below", "rank-above"),
}
"""Prefixes of ids: for values below and above the range."""


def cases(function: Function, resolver: Resolver, recipes: Sequence[Recipe]) -> Iterator[Case]:
    """A case for each side of each key, as far as a recipe allows one."""
    keyed = [constraint for constraint in function.constraints if constraint.key is not None]
    if not keyed:
        return
    calls = _Calls(function, resolver, recipes)
    for constraint in keyed:
        assert constraint.key is not None
        for side, word in zip((-1, 1), _WORDS[constraint.key.name], strict=True):
            arguments = next(calls.violating(constraint, constraint.key, side), None)
            if arguments is not None:
                dtype = next((operand.dtype for operand in operands_of(arguments.values())), "none")
                yield Case(
                    f"{function.name}/{word}-{constraint.key.parameter}/error", function.name, function.family,
                    dtype, "error", arguments, constraint.error, f"{constraint.id}: {constraint.text}",
                    calls.blamed(constraint.key, arguments), breaks=constraint.id,
                )  # fmt: skip


class _Calls:
    """Calls of one function."""

    def __init__(self, function: Function, resolver: Resolver, recipes: Sequence[Recipe]) -> None:
        self.function = function
        self.resolver = resolver
        self.contract = resolver.calls.contract
        legal = list(self._legal(recipes))
        # A tensor of one element may be taken for whatever broadcasts.
        self.legal = sorted(legal, key=lambda call: -_fewest(call[2]))
        outputs = {param.name for param in function.params if param.direction == "out"}
        ruled = {param.name for param in function.params if isinstance(param.shape, ShapeRule)}
        self.left_out = (outputs, outputs | ruled, set[str]())
        """Tensors that follow from their rules rather than from the recipe: what is tried, in order."""

    def violating(self, constraint: Constraint, key: Key, side: int) -> Iterator[Arguments]:
        """Legal calls with one parameter changed so that they violate a key, alone of all constraints."""
        for recipe, choice, legal in self.legal:
            evaluate = partial(_value, self._described(legal))
            provided, before = recipe.get(key.parameter), legal[key.parameter]
            for new in violations(self.function, key, side, provided, before, evaluate):
                for changed in self._companions(recipe, key, new):
                    for arguments in self._resolved(changed, choice, legal, key.parameter):
                        if _is_possible(arguments) and self._broken(arguments) == [constraint.id]:
                            yield arguments

    def _legal(self, recipes: Sequence[Recipe]) -> Iterator[tuple[Recipe, Choice, Arguments]]:
        """Legal calls, in the first dtype that each recipe takes."""
        for recipe in (*recipes, *self._elementwise()):
            for dtype in ("float32", *primary_dtypes(self.function)):
                try:
                    arguments = self.resolver.resolve(recipe, Choice(dtype))
                except RecipeError:
                    continue
                yield recipe, Choice(dtype), arguments
                break

    def _elementwise(self) -> Iterator[Recipe]:
        if self.function.kernel is not None:
            try:
                yield Maker(self.function, self.resolver).recipe({}, (4, 5))
            except RecipeError:
                return

    # ---- what changes with the parameter -----------------------------------------------------------------------------

    def _companions(self, recipe: Recipe, key: Key, new: Argument) -> Iterator[Recipe]:
        """Recipes with the new value: all else as it is; then other numbers at the low ends of their ranges, which the
        new value may move; each with the sizes of inputs that are written out as the new value asks for."""
        changed = {**recipe, key.parameter: new}
        for param in self.function.params:
            # A number of tensors comes with as many tensors.
            array = recipe.get(param.name)
            if param.count == key.parameter and isinstance(array, tuple) and isinstance(new, int):
                changed[param.name] = (array * max(new, 0))[: max(new, 0)]
        low: dict[str, Argument] = {}
        for param in self.function.params:
            if param.name != key.parameter:
                lowest = next((_lowest(one) for one in param.keys if _lowest(one) is not None), None)
                before = recipe.get(param.name)
                if lowest is not None and param.type in INTEGERS:
                    low[param.name] = lowest
                elif lowest is not None and isinstance(before, tuple):
                    low[param.name] = (lowest,) * len(before)
        for one in (changed, {**changed, **low}) if low else (changed,):
            yield one
            resized = self._resized(one)
            if resized != one:
                yield resized

    def _resized(self, recipe: Recipe) -> Recipe:
        """The recipe with the sizes that formulas over other arguments give to the dimensions of inputs."""
        known = contract.Arguments(self.function, {name: _seen(one) for name, one in recipe.items()}, self.contract)
        changed = dict(recipe)
        for param in self.function.params:
            tensor = recipe.get(param.name)
            if not isinstance(tensor, TensorRecipe) or not isinstance(param.shape, ShapeList):
                continue
            entries = [entry for entry in param.shape.dimensions if entry.kind != "variadic"]
            leading = len(tensor.shape) - len(entries)
            if leading < 0 or (leading and [d.kind for d in param.shape.dimensions[:1]] != ["variadic"]):
                continue
            sizes = [_value(known, entry.formula.expression) for entry in entries]
            trailing = tuple(
                new if isinstance(new, int) and new >= 0 else old
                for new, old in zip(sizes, tensor.shape[leading:], strict=True)
            )
            shape = (*tensor.shape[:leading], *trailing)
            if shape != tensor.shape:
                values = 1 if isinstance(tensor.values, tuple) else tensor.values
                changed[param.name] = replace(tensor, shape=shape, values=values)
        return changed

    # ---- whole calls -------------------------------------------------------------------------------------------------

    def _resolved(self, recipe: Recipe, choice: Choice, legal: Arguments, name: str) -> Iterator[Arguments]:
        """The other arguments as they follow from their rules; where these give nothing, as the recipe or the legal
        call has them."""
        for left_out in self.left_out:
            retained = {one: value for one, value in recipe.items() if one == name or one not in left_out}
            try:
                arguments = self.resolver.resolve(retained, choice, checked=False)
            except RecipeError:
                continue
            yield {one: _blank(value) if one in recipe.keys() - retained and _is_written_out(recipe[one]) else value
                   for one, value in arguments.items()}  # fmt: skip
        as_before = {one: _recipe(value) for one, value in legal.items() if isinstance(value, Operand)}
        try:
            yield self.resolver.resolve({**as_before, **recipe}, choice, checked=False)
        except RecipeError:
            return

    def _described(self, arguments: Arguments) -> contract.Arguments:
        return contract.Arguments(self.function, describe(arguments, self.function.name), self.contract)

    def _broken(self, arguments: Arguments) -> list[str]:
        """The ids of the constraints that do not hold; `shapes` where a tensor does not have the shape of its rule."""
        described = self._described(arguments)
        constraints = [c for c in self.function.constraints if c.require is not None]
        broken = [c.id for c in constraints if c.require and not described.holds(c.require.expression)]
        agree = described.agree() and all(self._agrees(p, arguments, described) for p in self.function.params)
        return broken if agree else [*broken, "shapes"]

    def blamed(self, key: Key, arguments: Arguments) -> str:
        """The parameter that is at fault; none where it gives an output a negative size, which may be what is seen."""
        described = self._described(arguments)
        outputs = (param for param in self.function.params if param.direction == "out" and param.type == "tensor")
        return "" if any(size < 0 for p in outputs for one in _forms(p, described) for size in one) else key.parameter

    @staticmethod
    def _agrees(param: Parameter, arguments: Arguments, described: contract.Arguments) -> bool:
        """Returns whether an output has the shape of its rule, where that has a value."""
        value = arguments.get(param.name)
        if param.direction != "out" or not isinstance(value, Operand) or "shape" in param.free:
            return True
        forms = _forms(param, described)
        if any(size < 0 for one in forms for size in one):
            return True
        return not forms or value.shape in forms or _may_keep_dimensions(param)


def _forms(param: Parameter, described: contract.Arguments) -> list[tuple[int, ...]]:
    """The shapes that the rule of an output allows; none where it has no value."""
    try:
        return [tuple(one) for one in described.shapes.alternatives(param) if one is not None]
    except (ShapeError, LookupError, ValueError, ArithmeticError, TypeError):
        return []


def _may_keep_dimensions(param: Parameter) -> bool:
    """Returns whether the rule leaves open if reduced dimensions stay."""
    rule = param.shape.formula.expression if isinstance(param.shape, ShapeRule) else None
    return isinstance(rule, Call) and rule.function == "reduce"


def _seen(argument: Argument) -> Any:
    """An argument of a recipe as formulas over sizes see it."""
    if isinstance(argument, TensorRecipe):
        return Tensor(argument.shape, argument.dtype or "float32")
    return tuple(map(_seen, argument)) if isinstance(argument, tuple) else argument


def _is_written_out(argument: Argument) -> bool:
    return isinstance(argument, TensorRecipe) and isinstance(argument.values, tuple)


def _blank(value: Value) -> Value:
    """A tensor whose elements, written out for another shape, are zeros: random ones may be no indices."""
    return replace(value, values=0) if isinstance(value, Operand) else value


def _recipe(operand: Operand) -> TensorRecipe:
    return TensorRecipe(operand.shape, operand.dtype, operand.values)


def _value(described: contract.Arguments, expression: Expression) -> object:
    try:
        found = described.value(expression)
    except (Undefined, ArithmeticError):
        return None
    return found.value if isinstance(found, Number) else getattr(found, "value", found)


def _lowest(key: Key) -> int | None:
    """The smallest integer that a key allows; 0 where an expression says it."""
    if key.name == "dim_of":
        return 0
    if key.name != "range" or not isinstance(key.form, Interval):
        return None
    value = getattr(key.form.low, "value", 0)
    return math.ceil(value) + (0 if key.form.has_low else 1)


def _is_possible(arguments: Arguments) -> bool:
    """Returns whether there are such tensors: a rule may give a negative size."""
    return all(size >= 0 for operand in operands_of(arguments.values()) for size in operand.shape)


def _fewest(arguments: Arguments) -> int:
    """2 where every tensor has several elements, 1 where each has some, else 0."""
    return min((min(2, math.prod(operand.shape)) for operand in operands_of(arguments.values())), default=1)
