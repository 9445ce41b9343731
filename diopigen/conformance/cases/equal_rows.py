"""The axis `equal`: rows of equal large numbers along each dimension, such as scores that are masked as a whole.

The distances between the elements are 0, so results like the logarithm of softmax are small; a kernel that adds
something to the large number first loses them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from diopigen.conformance.cases.choices import Choice, primary_dtypes
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Case
from diopigen.contract.comparisons import tensors_of_dims
from diopigen.contract.dtypes import kind
from diopigen.ir.model import Function
from diopigen.ir.recipe import Argument, Literal, TensorRecipe

NAMES = ("equal",)

_SHAPE = (2, 3, 4)
_LARGE = 1e17
"""Its unit in the last place is 16 in float64, so that the logarithm of a count is lost next to it. Sums of squares do
not overflow in float32."""
_LARGE_HALF = 30_000.0


def cases(function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]) -> Iterator[Case]:
    """A case for each dimension and floating dtype of an operator that works along a dimension of its only operand."""
    dims = tensors_of_dims(function)
    read = [p.name for p in function.params if p.is_read and p.type == "tensor"]
    if list(dims) != ["dim"] or read != [dims["dim"]] or function.kernel is not None or not recipes:
        return
    is_list = any(param.name == "dim" and param.type == "sizes" for param in function.params)
    outputs = {param.name for param in function.params if param.direction == "out"}
    others = {name: value for name, value in recipes[0].items() if name not in (*read, "dim", *outputs)}
    for step, dtype in enumerate(primary_dtypes(function)):
        for dim in range(len(_SHAPE)) if kind(dtype) == "float" else ():
            operand = TensorRecipe(_SHAPE, None, _rows(dim, dtype))
            recipe = {**others, read[0]: operand, "dim": (dim,) if is_list else dim}
            try:
                arguments = resolver.resolve(recipe, Choice(dtype, step))
            except RecipeError:
                continue
            name = f"{function.name}/{dtype}/equal-{dim}"
            yield Case(name, function.name, function.family, dtype, "equal", arguments)


def _rows(dim: int, dtype: str) -> Literal:
    """Elements that are equal along a dimension, with alternating signs along the others."""
    number = _LARGE_HALF if dtype == "float16" else _LARGE
    step = [int(axis != dim) for axis in range(len(_SHAPE))]

    def along(axis: int, parity: int) -> Literal:
        if axis == len(_SHAPE):
            return -number if parity % 2 else number
        return tuple(along(axis + 1, parity + step[axis] * index) for index in range(_SHAPE[axis]))

    return along(0, 0)
