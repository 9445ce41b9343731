"""The cases of an interface: recipes of the spec for every dtype, automatic axes, and what must be refused.

A case has a readable, stable id: `diopiAdd/float32/broadcast-1`. The seed of its numbers follows from the id alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial

from diopigen.collection import no_collection
from diopigen.conformance.cases import (
    alternatives,
    axes,
    bool_scalars,
    boundary,
    combined,
    equal_rows,
    exhaustive,
    layouts,
    reach,
    refusals,
    variations,
)
from diopigen.conformance.cases.choices import Choice, fixed_dtype, primary_dtypes
from diopigen.conformance.cases.examples import example
from diopigen.conformance.cases.models import AXIS as MODEL_AXIS
from diopigen.conformance.cases.models import is_small, model_cases
from diopigen.conformance.cases.resolve import Resolver, read_recipe
from diopigen.conformance.cases.values import RecipeError, storable
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Case
from diopigen.contract.dtypes import category
from diopigen.diagnostics import did_you_mean, failure
from diopigen.ir.model import COLLECTIVE, Function, Interface
from diopigen.ir.models import Model
from diopigen.ir.recipe import Argument, TensorRecipe
from diopigen.spec.nodes import ScalarNode

NO_OPERATORS = frozenset({"runtime", COLLECTIVE})
"""Families whose functions the host provides, not the library under test, or that have a suite of their own."""


def tested(interface: Interface) -> list[Function]:
    """The functions that a library can be validated by: operators that are no drafts."""
    return [f for f in interface.functions if f.family not in NO_OPERATORS and f.returns == "status" and not f.draft]


def matching(interface: Interface, ops: Sequence[str], families: Sequence[str]) -> list[Function]:
    """The functions that match one of the globs and are of one of the families; an empty list admits all.

    Raises `Failure` for a name that nothing has.
    """
    functions = tested(interface)
    literal = [op for op in ops if not set("*?[") & set(op)]
    _known("function", literal, [name for f in functions for name in (f.name, f.short_name)])
    _known("family", families, [f.family for f in functions])
    found = [f for f in functions if not ops or any(_matches(f, op) for op in ops)]
    return [f for f in found if not families or f.family in families]


def narrowed(interface: Interface, ops: Sequence[str]) -> Interface:
    """The interface with the functions that match one of the globs and the others of their operators: their cases are
    the same as with all functions. Raises `Failure` for a name that nothing has."""
    operators = {function.operator for function in matching(interface, ops, ())}
    headers = tuple(
        replace(header, functions=tuple(f for f in header.functions if f.operator in operators))
        for header in interface.headers
    )
    return replace(interface, headers=headers)


def select(
    interface: Interface,
    *,
    ops: Sequence[str] = (),
    families: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    axes: Sequence[str] = (),
    tables: Sequence[Model] = (),
    models: Sequence[str] = (),
    small: Mapping[str, Sequence[Case]] | None = None,
    derived: Callable[[Function], Sequence[Case]] | None = None,
) -> list[Case]:
    """The cases whose function matches one of the globs (with or without `diopi`), and that are of one of the families,
    dtypes and axes; an empty list admits all. Raises `Failure` for a name that nothing has.

    `models` are names of `tables`: where some are given, the cases are the calls of these models, of whatever size.
    Otherwise small calls of all tables come with the cases of their function; who has them (see `small_calls`) gives
    them as `small`, and no tables. `derived` gives the cases of a function where a caller keeps them.
    """
    _known("dtype", dtypes, [*STORAGE, "none"])
    _known("axis", axes, (*AXES, *ON_REQUEST))
    found = matching(interface, ops, families)
    _known("model", models, [model.name for model in tables])
    names = frozenset(function.name for function in found)
    if models:
        cases = [case for model in tables if model.name in models for case in model_cases(interface, model, names)]
    else:
        with no_collection():
            calls = small_calls(interface, tables, names) if small is None else small
            own = derived or partial(cases_of, interface)
            cases = [case for f in found for case in (*own(f), *calls.get(f.name, ()))]
            if any(axis in ON_REQUEST for axis in axes):
                cases += [case for f in found for case in requested(interface, f)]
    return [case for case in cases if (not dtypes or case.dtype in dtypes) and (not axes or case.axis in axes)]


AXES = (
    "recipe", *axes.NAMES, *layouts.NAMES, *variations.NAMES, *boundary.NAMES, *equal_rows.NAMES, *combined.NAMES,
    "distribution", "error", MODEL_AXIS,
)  # fmt: skip
ON_REQUEST = exhaustive.NAMES
"""Axes of cases that only a run that names the axis has."""


def small_calls(
    interface: Interface, tables: Sequence[Model], functions: Set[str] | None = None
) -> Mapping[str, Sequence[Case]]:
    """The calls of models (of the named functions) that are small enough for every run, by function."""
    found: dict[str, list[Case]] = {}
    for table in tables:
        for case in model_cases(interface, table, functions):
            if is_small(case):
                found.setdefault(case.function, []).append(case)
    return found


def _matches(function: Function, glob: str) -> bool:
    return fnmatchcase(function.name, glob) or fnmatchcase(function.short_name, glob)


def _known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            fix = did_you_mean(name, known) or "list them with `diopigen conformance list`"
            code = f"unknown-case-{what}"
            raise failure(code, f"there is no {what} '{name}'", fix=fix)


def find(interface: Interface, case_id: str, tables: Sequence[Model] = ()) -> Case:
    """The case of an id, calls of the models in `tables` included. Raises `Failure` where there is none."""
    name = case_id.partition("/")[0]
    function = interface.function(name)
    if function is None or function not in tested(interface):
        fix = did_you_mean(name, [f.name for f in tested(interface)]) or "list them with `diopigen conformance list`"
        raise failure("unknown-case", f"there is no function '{name}'", fix=fix)
    calls = [case for table in tables for case in model_cases(interface, table, {function.name})]
    cases = {case.id: case for case in (*cases_of(interface, function), *requested(interface, function), *calls)}
    if case_id not in cases:
        raise failure("unknown-case", f"there is no case '{case_id}'", fix=did_you_mean(case_id, cases))
    return cases[case_id]


def recipes_of(interface: Interface, function: Function) -> list[Mapping[str, Argument]]:
    """The recipes of a function, see `each_recipe`."""
    return list(each_recipe(interface, function))


def each_recipe(interface: Interface, function: Function) -> Iterator[Mapping[str, Argument]]:
    """The recipes of a function, one by one. A variant without cases of its own has its base's; what does not fit it is
    adapted: dropped outputs are left out, operands that became scalars take a number."""
    for case in function.cases:
        recipe = read_recipe(interface, function, case)
        for param in function.params:
            node = case.arguments.get(param.name)
            if param.type == "scalar" and node is not None and not isinstance(node, ScalarNode):
                recipe[param.name] = example(param)
        yield recipe


def cases_of(interface: Interface, function: Function) -> list[Case]:
    """All cases of one function, in a stable order and with unique ids."""
    resolver = Resolver(interface, function)
    recipes = recipes_of(interface, function)
    found: dict[str, Case] = {}
    created = [*recipe_cases(function, resolver, recipes), *axes.cases(function, resolver)]
    created += _carried_over(function, resolver, recipes, {case.dtype for case in created})
    created += layouts.cases(function, resolver, recipes)
    created += variations.cases(function, resolver, recipes)
    created += boundary.cases(function, resolver, recipes)
    created += equal_rows.cases(function, resolver, recipes)
    created += bool_scalars.cases(function, resolver, recipes)
    created += _distribution_cases(function, resolver, recipes)
    created += alternatives.cases(function, resolver, recipes)
    created += list(reach.cases(function, resolver, recipes, created))
    created += list(combined.cases(function, resolver, recipes, created))
    for case in (
        *(case for case in created if resolver.calls.admits(case.arguments)),
        *refusals.cases(interface, function, resolver, recipes),
    ):
        name, number = case.id, 2
        while name in found:
            name, number = f"{case.id}-{number}", number + 1
        found[name] = case if name == case.id else replace(case, id=name)
    return list(found.values())


def requested(interface: Interface, function: Function) -> list[Case]:
    """The cases of one function on the axes of `ON_REQUEST`."""
    return list(exhaustive.cases(function, Resolver(interface, function)))


def recipe_cases(function: Function, resolver: Resolver, recipes: Iterable[Mapping[str, Argument]]) -> Iterator[Case]:
    """The cases of recipes, in each dtype that fits."""
    for number, recipe in enumerate(recipes, 1):
        fixed = fixed_dtype(function, recipe)
        for step, dtype in enumerate([fixed] if fixed else primary_dtypes(function)):
            yield from _resolved(function, resolver, recipe, Choice(dtype, step + number - 1), "recipe", number)


def _resolved(
    function: Function, resolver: Resolver, recipe: Mapping[str, Argument], choice: Choice, axis: str, number: int
) -> Iterator[Case]:
    """The case of a recipe in a dtype; none where it does not fit the dtype."""
    try:
        arguments = resolver.resolve(recipe, choice)
    except RecipeError:
        return
    case_id = f"{function.name}/{choice.dtype}/{axis}-{number}"
    yield Case(case_id, function.name, function.family, choice.dtype, axis, arguments)


def _carried_over(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]], reached: set[str]
) -> Iterator[Case]:
    """Recipes in the dtypes that nothing else reaches: a dtype that they fix is exchanged throughout, and numbers lose
    their fractions where the dtype is integral."""
    for step, dtype in enumerate(name for name in primary_dtypes(function) if name not in reached):
        for number, recipe in enumerate(recipes, 1):
            fixed = fixed_dtype(function, recipe)
            exchanged = {name: _exchanged(value, fixed, dtype) for name, value in recipe.items()}
            for param in function.params:
                value = exchanged.get(param.name)
                if param.type == "scalar" and isinstance(value, float) and category(dtype) < 2:
                    exchanged[param.name] = math.ceil(value) if math.isfinite(value) else 2
            if any(not storable(v, dtype) for v in exchanged.values() if type(v) is int and category(dtype) < 2):
                continue
            if case := next(_resolved(function, resolver, exchanged, Choice(dtype, step), "recipe", number), None):
                yield case
                break


def _exchanged(value: Argument, old: str | None, new: str) -> Argument:
    if isinstance(value, tuple):
        return tuple(_exchanged(item, old, new) for item in value)
    return replace(value, dtype=new) if isinstance(value, TensorRecipe) and value.dtype == old else value


_SAMPLE = (100, 101)
"""Shape of what random operators are asked for, where their distribution is checked."""


def _distribution_cases(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]
) -> Iterator[Case]:
    """The recipes of a random operator with enough elements to tell one distribution from another. Where each sequence
    of a batch has its own generator, those whose batch is large enough as they are."""
    if function.tolerance != "random":
        return
    batch = next((str(param.count) for param in function.params if param.type == "generators"), None)
    for number, recipe in enumerate(recipes, 1):
        count = recipe.get(batch) if batch else None
        if batch and not (isinstance(count, int) and count >= _SAMPLE[0]):
            continue
        larger = recipe if batch else {name: _enlarged(value) for name, value in recipe.items()}
        fixed = fixed_dtype(function, recipe)
        for step, dtype in enumerate([fixed] if fixed else primary_dtypes(function)):
            yield from _resolved(function, resolver, larger, Choice(dtype, step), "distribution", number)


def _enlarged(value: Argument) -> Argument:
    if isinstance(value, TensorRecipe) and not isinstance(value.values, tuple) and value.shape:
        return replace(value, shape=_SAMPLE)
    return value
