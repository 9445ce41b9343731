"""Selects the dtypes that a function runs with, and the dtype of a parameter if the spec allows several."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import NORMAL
from diopigen.contract.dtypes import accumulate, category, kind, real_of, to_float
from diopigen.ir.model import DtypeList, DtypeRule, Function, Parameter, ShapeRule
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe, drawn_of


class Choice:
    """Selects a dtype of a parameter's list: `dtype` if possible, else a similar one.

    `step` rotates through lists that do not hold the dtype (indices, masks), so that all of them are reached.
    `alternative` is the number of the dtype or shape that counts where a rule allows several.
    """

    def __init__(
        self, dtype: str, step: int = 0, special: Mapping[str, str] | None = None, alternative: int = 0
    ) -> None:
        self.dtype = dtype
        self.step = step
        self.special = special or {}
        self.alternative = alternative

    def pick(self, param: Parameter, primary: str | None = None) -> str:
        """The dtype for a parameter with a dtype list; `primary` is the dtype that results follow."""
        assert isinstance(param.dtype, DtypeList)
        if param.name in self.special:
            return self.special[param.name]
        expected = primary or self.dtype
        allowed = run_with(param.dtype.dtypes)
        follow = [expected]
        if param.is_written and not param.is_read and kind(expected) in ("bool", "int") and "float32" in allowed:
            follow = [to_float(expected)]
        follow += [to_float(expected), real_of(expected), accumulate(expected)]
        for dtype in follow:
            if dtype in allowed:
                return dtype
        alike = [dtype for dtype in allowed if category(dtype) == category(expected)]
        if alike and category(expected) >= 2:
            return alike[0]
        return allowed[self.step % len(allowed)]


@cache
def run_with(dtypes: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some dtypes that the suite runs functions with."""
    return tuple(dtype for dtype in dtypes if dtype in STORAGE)


def distribution(param: Parameter) -> Drawn:
    """Distribution of the elements of a parameter without a recipe."""
    return (drawn_of(param.domain.expression) if param.domain is not None else None) or NORMAL


def primary_parameter(function: Function) -> Parameter | None:
    """The parameter whose dtype a case is named after: the first tensor that is read with several dtypes, such as
    features behind a list of indices; else the first that is read with a list of dtypes, else the first output."""
    tensors = [p for p in function.params if p.type in ("tensor", "tensors") and isinstance(p.dtype, DtypeList)]
    read = [p for p in tensors if p.is_read]
    several = (p for p in read if isinstance(p.dtype, DtypeList) and len(run_with(p.dtype.dtypes)) > 1)
    return next(several, next(iter(read), next(iter(tensors), None)))


def primary_dtypes(function: Function) -> tuple[str, ...]:
    """The dtypes that the suite runs a function with, in the spec's order."""
    primary = primary_parameter(function)
    if primary is None or not isinstance(primary.dtype, DtypeList):
        return ("none",)
    return run_with(primary.dtype.dtypes)


def fixed_dtype(function: Function, recipe: Mapping[str, Argument]) -> str | None:
    """The dtype that a recipe fixes for the primary parameter."""
    primary = primary_parameter(function)
    value = recipe.get(primary.name) if primary is not None else None
    first = value[0] if isinstance(value, tuple) and value else value
    return first.dtype if isinstance(first, TensorRecipe) else None


def follows_promotion(function: Function) -> bool:
    """Returns whether the first output is promoted from operands."""
    output = next((p for p in function.params if p.is_written), None)
    return output is not None and isinstance(output.dtype, DtypeRule) and "promote" in output.dtype.formula.text


def shape_rule(param: Parameter) -> str:
    """The function of a parameter's shape rule, or an empty text."""
    if not isinstance(param.shape, ShapeRule):
        return ""
    return param.shape.formula.text.partition("(")[0].strip()
