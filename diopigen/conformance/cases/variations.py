"""Variations of the recipes of operators that are not elementwise: dimensions counted from the end, edge values, empty
tensors, optional tensors that are null."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diopigen.conformance.cases.choices import Choice, fixed_dtype, primary_dtypes
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import NORMAL, Case, Operand, Value
from diopigen.contract.comparisons import tensors_of_dims
from diopigen.contract.dtypes import kind
from diopigen.ir.model import Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe
from diopigen.spec.expression import Call, Name

NAMES = ("negative-dim", "large", "null")

Recipes = Sequence[Mapping[str, Argument]]


def cases(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """The cases of an operator without a kernel expression."""
    if function.kernel is not None:
        return
    yield from _negative_dims(function, resolver, recipes)
    yield from _large(function, resolver, recipes)
    yield from _specials(function, resolver, recipes)
    yield from _empty(function, resolver, recipes)
    yield from _null(function, resolver, recipes)


def _case(function: Function, dtype: str, axis: str, name: str, arguments: Mapping[str, Value]) -> Case:
    return Case(f"{function.name}/{dtype}/{name}", function.name, function.family, dtype, axis, arguments)


# ---- dimensions counted from the end --------------------------------------------------------------------------------


def _negative_dims(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """The same dimensions, counted from the other end."""
    dims = tensors_of_dims(function)
    dtypes = primary_dtypes(function)
    for number, recipe in enumerate(recipes if dims else ()):
        dtype = fixed_dtype(function, recipe) or dtypes[-1 - number % len(dtypes)]
        try:
            before = resolver.resolve(recipe, Choice(dtype, number))
        except RecipeError:
            continue
        transposed: dict[str, Value] = {}
        for name, of in dims.items():
            tensor, value = before[of], before[name]
            if isinstance(tensor, Operand) and tensor.shape and value is not None and value != ():
                transposed[name] = _transposed(value, len(tensor.shape))
        if transposed:
            # The outputs are those of the case before: counting from the other end changes nothing.
            yield _case(function, dtype, "negative-dim", f"negative-dim-{number + 1}", {**before, **transposed})


def _transposed(value: Value, rank: int) -> Value:
    if isinstance(value, tuple):
        return tuple(_transposed(item, rank) for item in value)
    assert isinstance(value, int)
    return value - rank if value >= 0 else value + rank


# ---- long dimensions ------------------------------------------------------------------------------------------------

_LARGE = (3, 70_001)
"""Longer than a block of any kernel that sums in blocks, and a multiple of none."""
_WIDE = (5, 40_001)
"""More columns than a kernel takes at a time, with rows enough to divide them as well."""
_NO_COLUMNS = (3, 0)
"""No results, although there are terms."""


def _large(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """One long dimension of an operator that works along one: of many terms an error in a few shows no more, but a
    block that is left out does. And many columns, whose elements are not adjacent."""
    dims = tensors_of_dims(function)
    read = [p.name for p in function.params if p.is_read and p.type == "tensor"]
    if list(dims) != ["dim"] or read != [dims["dim"]] or not recipes:
        return
    name = read[0]
    is_list = any(param.name == "dim" and param.type == "sizes" for param in function.params)
    outputs = {param.name for param in function.params if param.direction == "out"}
    others = {key: value for key, value in recipes[0].items() if key not in (name, "dim", *outputs)}
    dtypes = primary_dtypes(function)

    def created(axis: str, case: str, shape: tuple[int, ...], dim: int, step: int) -> Iterator[Case]:
        dtype = dtypes[step]
        values = Drawn("uniform", (-1, 1)) if kind(dtype) == "float" else NORMAL
        recipe = {**others, name: TensorRecipe(shape, None, values), "dim": (dim,) if is_list else dim}
        try:
            arguments = resolver.resolve(recipe, Choice(dtype, step))
        except RecipeError:
            return
        yield _case(function, dtype, axis, case, arguments)

    for step, dtype in enumerate(dtypes):
        if kind(dtype) == "float" or dtype == "int32":
            yield from created("large", "large", _LARGE, 1, step)
    common = dtypes.index("float32") if "float32" in dtypes else 0
    yield from created("large", "large-columns", _WIDE, 0, common)
    yield from created("empty", "empty-columns", _NO_COLUMNS, 0, common)


# ---- edge values ----------------------------------------------------------------------------------------------------


def _specials(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """NaN, infinities, zeros of both signs, denormals and the ends of integers in every tensor that is drawn.

    Where results are not exact the largest numbers stay out: sums of them may overflow half-way in any order. Random
    operators are compared by their distributions, which these numbers have none of.
    """
    if "special_values" in function.unspecified or function.tolerance == "random":
        return
    exact = function.tolerance == "exact"
    for step, dtype in enumerate(primary_dtypes(function)):
        for number, recipe in enumerate(recipes, 1):
            if kind(dtype) in ("complex", "bool", "none") or fixed_dtype(function, recipe) not in (None, dtype):
                continue
            try:
                arguments = resolver.resolve(recipe, Choice(dtype, step))
            except RecipeError:
                continue
            drawn = Drawn("special" if exact else "small-special", (1, 0))
            read = [p.name for p in function.params if p.is_read]
            special = {name: _special(arguments[name], dtype, drawn) for name in read}
            changed = {name: value for name, value in special.items() if value is not None}
            if changed:
                yield _case(function, dtype, "special", f"special-{number}", {**arguments, **changed})
                break


def _special(value: Value, dtype: str, drawn: Drawn) -> Value:
    """The operand with edge values, or None where it has values of its own."""
    if isinstance(value, tuple):
        items = [_special(item, dtype, drawn) for item in value]
        return tuple(items) if items and all(item is not None for item in items) else None
    if not isinstance(value, Operand) or value.values != NORMAL or value.dtype != dtype or not value.shape:
        return None
    return replace(value, values=drawn)


# ---- empty tensors --------------------------------------------------------------------------------------------------


def _empty(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """No samples: the dimension that the spec calls N, or that all tensors of a free shape begin with, has size 0."""
    if "empty" in function.unspecified:
        return
    dtypes = primary_dtypes(function)
    for number, recipe in enumerate(recipes):
        dtype = fixed_dtype(function, recipe) or dtypes[number % len(dtypes)]
        emptied = _emptied(function, recipe)
        if emptied is None:
            continue
        try:
            arguments = resolver.resolve(emptied, Choice(dtype, number))
        except RecipeError:
            continue
        yield _case(function, dtype, "empty", f"empty-{number + 1}", arguments)
        return


def _emptied(function: Function, recipe: Mapping[str, Argument]) -> Mapping[str, Argument] | None:
    """The recipe with no samples; None where the spec does not name that dimension, or values are written out."""
    changed: dict[str, Argument] = {}
    for param in function.params:
        value = recipe.get(param.name)
        if not isinstance(value, TensorRecipe) or not (_has_samples(param) or _is_alike(param, changed)):
            continue
        if not isinstance(value.values, Drawn):
            return None
        changed[param.name] = replace(value, shape=(0, *value.shape[1:]))
    # A gradient may be before the tensor whose shape it has.
    for param in function.params:
        value = recipe.get(param.name)
        if isinstance(value, TensorRecipe) and param.name not in changed and _is_alike(param, changed):
            changed[param.name] = replace(value, shape=(0, *value.shape[1:]))
    return {**recipe, **changed} if changed else None


def _has_samples(param: Parameter) -> bool:
    """Returns whether the first dimension is called N."""
    if not isinstance(param.shape, ShapeList) or not param.shape.dimensions:
        return False
    first = param.shape.dimensions[0]
    return first.kind == "formula" and first.formula.expression == Name("N")


def _is_alike(param: Parameter, changed: Mapping[str, Argument]) -> bool:
    """Returns whether the shape is that of a tensor that was emptied."""
    if not isinstance(param.shape, ShapeRule):
        return False
    rule = param.shape.formula.expression
    if not isinstance(rule, Call) or rule.function != "same":
        return False
    return isinstance(rule.arguments[0], Name) and rule.arguments[0].name in changed


# ---- optional tensors -----------------------------------------------------------------------------------------------


def _null(function: Function, resolver: Resolver, recipes: Recipes) -> Iterator[Case]:
    """Each optional tensor null, in the first recipe that gives it."""
    dtypes = primary_dtypes(function)
    for position, param in enumerate(function.params):
        if not param.nullable or param.type != "tensor":
            continue
        for number, recipe in enumerate(recipes):
            dtype = fixed_dtype(function, recipe) or dtypes[(position + number) % len(dtypes)]
            try:
                provided = resolver.resolve(recipe, Choice(dtype, number))
                if not isinstance(provided.get(param.name), Operand):
                    continue
                arguments = resolver.resolve({**recipe, param.name: None}, Choice(dtype, number))
            except RecipeError:
                continue
            yield _case(function, dtype, "null", f"null-{param.name}", arguments)
            break
