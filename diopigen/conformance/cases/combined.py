"""The axis `combined`: options that no other case uses together, and options that are always left at their default.

An option is what a call may leave out: a tensor that may be null, or a parameter with a default. Each pair of options
of two recipes has a case, in which one recipe gets an option of the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from diopigen.conformance.cases.choices import Choice, fixed_dtype, primary_dtypes
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import SUCCESS, Case, Number, Operand
from diopigen.ir.model import Function, Parameter
from diopigen.ir.recipe import Argument, Drawn, TensorRecipe

NAMES = ("combined",)

Recipes = Sequence[Mapping[str, Argument]]
Setting = tuple[str, Hashable]
"""An option and how it is set: the rank of a tensor, a text, a bool; of numbers only that they are not the default."""
_TRIES = 4
"""Pairs of recipes that are tried in each direction."""


def cases(function: Function, resolver: Resolver, recipes: Recipes, others: Iterable[Case]) -> Iterator[Case]:
    """The cases of the pairs that `others` leave out, as far as two recipes go together."""
    options = [param for param in function.params if _is_option(param)]
    # Tensors of elementwise operators are broadcast, whatever their rank.
    ranked = function.kernel is None
    calls = [_settings(options, case.arguments, ranked) for case in others if case.expect == SUCCESS]
    used = {pair for settings in calls for pair in itertools.combinations(settings, 2)}
    holders: dict[Setting, list[Mapping[str, Argument]]] = {}
    for recipe in recipes:
        for setting in _settings(options, recipe, ranked):
            holders.setdefault(setting, []).append(recipe)
    positions = {param.name: position for position, param in enumerate(options)}
    ordered = sorted(holders, key=lambda setting: (positions[setting[0]], str(setting[1])))
    tries: list[tuple[tuple[Setting, ...], Iterator[Mapping[str, Argument]]]] = []
    for pair in itertools.combinations(ordered, 2):
        if pair not in used and pair[0][0] != pair[1][0]:
            tries.append((pair, _joined(resolver, pair, holders)))
    once = {name for name, _ in holders}
    for param in options:
        if param.name not in once and param.default is not None and param.default.value is not None:
            moved = [{**recipe, param.name: _moved(param.default.value)} for recipe in recipes]
            tries += [(tuple(_settings([param], one, ranked)), iter(moved)) for one in moved[:1]]
    dtypes = primary_dtypes(function)
    for number, (settings, candidates) in enumerate(tries):
        for recipe in candidates if settings and settings not in used else ():
            dtype = fixed_dtype(function, recipe) or dtypes[number % len(dtypes)]
            with suppress(RecipeError):
                arguments = resolver.resized(recipe, Choice(dtype, number))
                own = _settings(options, arguments, ranked)
                if not set(settings) <= set(own):
                    continue
                used.update(itertools.combinations(own, 2))
                name = "-".join(name for name, _ in settings)
                case_id = f"{function.name}/{dtype}/combined-{name}"
                yield Case(case_id, function.name, function.family, dtype, "combined", arguments)
                break


def _moved(value: Argument) -> Argument:
    """Another value than a default that no recipe changes; a text as it is, for which that says nothing."""
    if isinstance(value, tuple):
        return tuple(_moved(entry) for entry in value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return 0.25 if isinstance(value, float) else value


def _joined(
    resolver: Resolver, pair: tuple[Setting, Setting], holders: Mapping[Setting, Recipes]
) -> Iterator[Mapping[str, Argument]]:
    """Recipes of one option with the other one of another recipe, the smaller ones first."""
    for of, (name, _) in zip((pair[1], pair[0]), pair, strict=True):
        donors = holders[pair[0] if name == pair[0][0] else pair[1]]
        for recipe, donor in itertools.islice(itertools.product(holders[of], donors), _TRIES):
            yield {**recipe, name: _suited(resolver, name, donor[name], recipe)}


def _suited(resolver: Resolver, name: str, value: Argument, recipe: Mapping[str, Argument]) -> Argument:
    """An option for another recipe: a tensor in the shape that follows there, where its values are drawn."""
    param = resolver.function.param(name)
    if param is None or not isinstance(value, TensorRecipe) or not isinstance(value.values, Drawn):
        return value
    shape = resolver.shape_of(param, recipe)
    return value if shape is None else replace(value, shape=tuple(shape))


def _is_option(param: Parameter) -> bool:
    if not param.is_read or param.type in ("tensors", "generator", "generators"):
        return False
    return param.nullable if param.type == "tensor" else param.default is not None


def _settings(options: Sequence[Parameter], arguments: Mapping[str, object], ranked: bool) -> list[Setting]:
    """The options of a call, or of a recipe, that are not at their default, in the order of the parameters."""
    found: list[Setting] = []
    for param in options:
        value = arguments.get(param.name)
        value = value.value if isinstance(value, Number) else value
        default = param.default.value if param.default is not None else None
        if param.name not in arguments or value is None or value == default:
            continue
        if isinstance(value, (Operand, TensorRecipe)):
            found.append((param.name, len(value.shape) if ranked else 0))
        else:
            found.append((param.name, value if isinstance(value, (str, bool)) else ""))
    return found
