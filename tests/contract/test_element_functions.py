"""Functions of predicates over the elements of tensors and over lists, against values computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

from diopigen.contract.arguments import Tensor, Undefined
from diopigen.contract.functions import FUNCTIONS


def tensor(shape: tuple[int, ...], *elements: float, dtype: str = "int64") -> Tensor:
    return Tensor(shape, dtype, lambda: elements)


TABLE = tensor((2, 3), 10, 11, 12, 20, 21, 22)
CUBE = Tensor((2, 1, 2), "float32")


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("select", (TABLE, 1, 0), (10, 20)),
        ("select", (TABLE, 0, 1), (20, 21, 22)),
        ("select", (TABLE, -1, -1), (12, 22)),
        ("select", (tensor((0, 3)), 1, 2), ()),
        ("select", (tensor((), 5), 0, 0), (5,)),
        ("coordinates", (tensor((), 5), -1), (0,)),
        ("coordinates", (TABLE, 0), (0, 0, 0, 1, 1, 1)),
        ("coordinates", (TABLE, -1), (0, 1, 2, 0, 1, 2)),
        ("coordinates", (CUBE, 2), (0, 1, 0, 1)),
        ("coordinates", (CUBE, 1), (0, 0, 0, 0)),
        ("coordinates", (tensor((2, 0)), 0), ()),
        ("pick", ((7, 8, 9), (2, 0, 0)), (9, 7, 7)),
        ("pick", ((), ()), ()),
        ("repeat_each", ((7, 8), (2, 0)), (7, 7)),
        ("repeat_each", ((7, 8), (2,)), (7, 7, 8, 8)),
        ("repeat_each", ((), (3,)), ()),
        ("differences", ((0, 2, 5, 4),), (2, 3, -1)),
        ("differences", ((3,),), ()),
        ("differences", ((),), ()),
        ("categories", ((tensor((1,), 0), Tensor((), "bool"), Tensor((2,), "complex64"), CUBE),), (1, 0, 3, 2)),
    ],
)
def test_value(function: str, arguments: tuple[Any, ...], expected: tuple[Any, ...]) -> None:
    assert FUNCTIONS[function].evaluate(*arguments) == expected


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("select", (TABLE, 2, 0)),
        ("select", (TABLE, 1, 3)),
        ("select", (Tensor((2,), "int64"), 0, 0)),  # elements that are not known
        ("coordinates", (TABLE, -3)),
        ("pick", ((7, 8), (2,))),
        ("repeat_each", ((7, 8), (1, 2, 3))),
        ("repeat_each", ((7, 8), (1, -1))),
    ],
)
def test_no_value(function: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(Undefined):
        FUNCTIONS[function].evaluate(*arguments)
