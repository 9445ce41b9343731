"""Indices of recorded calls are drawn below what the constraints of the operator allow."""

from __future__ import annotations

from typing import Any

import pytest

from diopigen.conformance.cases.aten_calls import AtenCall, Mapper, Seen
from diopigen.ir.model import Interface
from diopigen.ir.recipe import Drawn, TensorRecipe

F32, I64 = "float32", "int64"


def _seen(*shape: int, dtype: str = F32) -> Seen:
    return Seen(shape, dtype)


CALLS: list[tuple[str, dict[str, Any], Any, str, int]] = [
    # overload, arguments, result, the parameter that is an index, and the first number that is none
    ("embedding", {"weight": _seen(9, 4), "indices": _seen(2, 3, dtype=I64)}, _seen(2, 3, 4), "indices", 9),
    ("gather", {"self": _seen(3, 4), "dim": 1, "index": _seen(3, 2, dtype=I64)}, _seen(3, 2), "index", 4),
    ("gather", {"self": _seen(3, 4), "dim": -2, "index": _seen(2, 4, dtype=I64)}, _seen(2, 4), "index", 3),
    ("index_select", {"self": _seen(3, 4), "dim": 0, "index": _seen(2, dtype=I64)}, _seen(2, 4), "index", 3),
    ("scatter.src", {"self": _seen(5, 4), "dim": 0, "index": _seen(2, 4, dtype=I64), "src": _seen(2, 4)}, _seen(5, 4),
     "index", 5),
    ("index.Tensor", {"self": _seen(6, 4), "indices": [None, _seen(2, dtype=I64)]}, _seen(6, 2), "indices", 4),
]  # fmt: skip


@pytest.mark.parametrize(("overload", "arguments", "result", "name", "limit"), CALLS)
def test_indices_are_below_their_limit(
    interface: Interface, overload: str, arguments: dict[str, Any], result: Seen, name: str, limit: int
) -> None:
    row = Mapper(interface).row(AtenCall("forward", overload, arguments, (result,)))
    value = row.arguments[name]
    recipe = next(item for item in value if item is not None) if isinstance(value, tuple) else value
    assert isinstance(recipe, TensorRecipe)
    assert recipe.values == Drawn("integers", (0, limit))


def test_what_is_typical_is_drawn_as_the_entry_has_it(interface: Interface) -> None:
    arguments = {"self": _seen(3), "other": _seen(3)}
    row = Mapper(interface).row(AtenCall("forward", "div.Tensor", arguments, (_seen(3),)))
    assert row.arguments["other"].values == Drawn("uniform", (0.5, 2))
    assert row.arguments["input"].values == Drawn("normal")
