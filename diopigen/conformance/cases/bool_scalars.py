"""Scalars passed as bools, where the spec allows a bool as well as numbers: it promotes as a bool does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from diopigen.conformance.cases.axes import Maker
from diopigen.conformance.cases.choices import Choice, fixed_dtype, primary_dtypes
from diopigen.conformance.cases.examples import is_sized_by_numbers
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Case
from diopigen.ir.model import DtypeList, Function, Parameter
from diopigen.ir.recipe import Argument

_SHAPE = (2, 3)
_DTYPES = ("bool", "int32", "float32")
"""One of each category that a bool is promoted with."""


def cases(function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]) -> Iterator[Case]:
    """A case for each scalar that may be a bool, in a dtype of each category, of the axis `mixed`."""
    for param in function.params:
        if param.type != "scalar" or not isinstance(param.dtype, DtypeList) or "bool" not in param.dtype.dtypes:
            continue
        for dtype in primary_dtypes(function):
            arguments = _true(function, resolver, recipes, param, dtype) if dtype in _DTYPES else None
            if arguments is not None:
                name = f"{function.name}/{dtype}/mixed-bool-{param.name}"
                yield Case(name, function.name, function.family, dtype, "mixed", arguments)


def _true(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]], param: Parameter, dtype: str
) -> Arguments | None:
    """The arguments of the first recipe that suits the dtype, with true as a scalar; None where none does."""
    outputs = {p.name for p in function.params if p.direction == "out"}
    for recipe in (*recipes, *_created(function, resolver)):
        if fixed_dtype(function, recipe) not in (None, dtype):
            continue
        # An output follows from its rule, as a bool may promote to another dtype; some have none.
        ruled = {name: value for name, value in recipe.items() if name not in outputs}
        for provided in (ruled, recipe):
            try:
                arguments = resolver.resolve({**provided, param.name: True}, Choice(dtype))
            except RecipeError:
                continue
            if resolver.calls.admits(arguments):
                return arguments
    return None


def _created(function: Function, resolver: Resolver) -> Iterator[Mapping[str, Argument]]:
    """A recipe of an elementwise operator."""
    if function.kernel is not None and not is_sized_by_numbers(function):
        try:
            yield Maker(function, resolver).recipe({}, _SHAPE)
        except RecipeError:
            return
