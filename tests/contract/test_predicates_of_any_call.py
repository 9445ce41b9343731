"""A predicate has a value, or none, for whatever a caller passes: it never fails.

Arguments of the suite's recipes are changed at random: other shapes, dtypes and lists, nulls, numbers out of range.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diopigen.conformance.cases import suite as cases
from diopigen.conformance.cases.choices import Choice, primary_dtypes
from diopigen.conformance.cases.described import described
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Case
from diopigen.contract.arguments import Described, Scalar, Tensor
from diopigen.contract.evaluate import Arguments
from diopigen.ir.model import Function, Interface

ROOT = Path(__file__).resolve().parents[2]
CHANGES = 12
DTYPES = ("bool", "uint8", "int64", "float16", "float32", "complex64")


def test_no_predicate_fails(interface: Interface) -> None:
    source = random.Random(0)
    evaluated = 0
    faults = []
    for function in cases.tested(interface):
        for values in _calls(interface, function):
            for _ in range(CHANGES):
                changed = dict(values)
                for name in source.sample(sorted(changed), min(2, len(changed))):
                    changed[name] = _changed(changed[name], source)
                for constraint in function.constraints:
                    if constraint.require is None:
                        continue
                    evaluated += 1
                    try:
                        Arguments(function, changed).holds(constraint.require.expression)
                    except Exception as error:
                        faults.append(f"{function.name} {constraint.id}: {error!r} for {changed}")
    assert not faults, "\n".join(faults[:20])
    assert evaluated > 10_000


def _calls(interface: Interface, function: Function) -> Iterator[dict[str, Described]]:
    """The arguments of the first two recipes, in the first dtype that suits each."""
    if not function.constraints:
        return
    resolver = Resolver(interface, function)
    for recipe in cases.recipes_of(interface, function)[:2]:
        for dtype in primary_dtypes(function):
            try:
                arguments = resolver.resolve(recipe, Choice(dtype, 0))
            except RecipeError:
                continue
            yield dict(described(Case("any", function.name, function.family, dtype, "recipe", arguments)))
            break


def _changed(value: Any, source: random.Random) -> Any:
    if isinstance(value, Tensor):
        return None if source.random() < 0.1 else _tensor(value, source)
    if isinstance(value, Scalar):
        return Scalar(source.choice([0, -1, 2.5, 300, float("nan"), float("inf")]), value.dtype)
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return source.choice([0, -1, 1, 7, -9, 2**40]) if isinstance(value, int) else source.choice([0.0, -1.0, 1e308])
    if isinstance(value, tuple) and value and isinstance(value[0], Tensor):
        return tuple(_tensor(item, source) if isinstance(item, Tensor) else item for item in value)
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return _sizes(value, source, -2)
    return value


def _tensor(tensor: Tensor, source: random.Random) -> Tensor:
    """A tensor of another shape or dtype, with elements of that dtype."""
    shape = _sizes(tensor.shape, source, 0)
    dtype = source.choice([tensor.dtype, tensor.dtype, *DTYPES])
    whole = "int" in dtype or dtype == "bool"
    count = 1
    for size in shape:
        count *= size
    elements = tuple(
        source.randint(0, 3) if whole else source.choice([0.0, -1.5, 2.0, float("nan")]) for _ in range(count)
    )
    return Tensor(shape, dtype, lambda: elements)


def _sizes(sizes: tuple[int, ...], source: random.Random, least: int) -> tuple[int, ...]:
    found = list(sizes)
    change = source.randrange(3)
    if change == 0 and found:
        found.pop(source.randrange(len(found)))
    elif change == 1:
        found.insert(source.randint(0, len(found)), source.randint(least, 3))
    elif found:
        found[source.randrange(len(found))] = source.randint(least, 4)
    return tuple(min(size, 64) for size in found)
