"""Index tensors of predicates against the indexing of NumPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from diopigen.contract.arguments import Tensor, Undefined
from diopigen.contract.functions import FUNCTIONS

Entry = Any
CASES: list[tuple[tuple[int, ...], list[Entry]]] = [
    ((4, 3), [[2, -1, 2]]),
    ((4, 3, 5), [[[0], [3]], None, [4, -5]]),
    ((2, 4, 5), [None, [1, 3], [[0], [4], [2]]]),
    ((3, 2, 2), [np.array([[True, False], [False, False], [True, True]])]),
    ((3, 2, 4), [np.array([True, False, True]), None, [-1, 0]]),
    ((2, 3, 4), [None, np.array([True, False, True]), [0, 1]]),
    ((2, 3, 4), [None, None, [1]]),
    ((4, 2), [np.array(-1)]),
    ((3, 2), [None, np.zeros(0, np.int64)]),
    ((3, 2), [None, None]),
    ((3, 0), []),
]


def _tensor(entry: Entry) -> Tensor | None:
    if entry is None:
        return None
    array = np.asarray(entry)
    return Tensor(array.shape, str(array.dtype), lambda: tuple(array.reshape(-1).tolist()))


@pytest.mark.parametrize(("shape", "entries"), CASES)
def test_accepted(shape: tuple[int, ...], entries: list[Entry]) -> None:
    expected = np.zeros(shape)[tuple(slice(None) if entry is None else entry for entry in entries)].shape
    tensors = tuple(map(_tensor, entries))
    assert FUNCTIONS["indexed"].evaluate(shape, tensors) == expected
    assert FUNCTIONS["indexed_dims"].evaluate(tensors) <= len(shape)
    assert FUNCTIONS["masks_fit"].evaluate(shape, tensors)
    assert FUNCTIONS["indices_fit"].evaluate(shape, tensors)
    assert FUNCTIONS["indices_broadcast"].evaluate(tensors)


@pytest.mark.parametrize(
    ("shape", "entries", "broken"),
    [
        ((3,), [[0], [0]], "indexed_dims"),
        ((3, 2), [[3]], "indices_fit"),
        ((3, 2), [None, [-3]], "indices_fit"),
        ((3, 4), [[0, 1], [0, 1, 2]], "indices_broadcast"),
        ((3, 4), [np.array([True, True, False]), [0, 1, 2]], "indices_broadcast"),
        ((3, 2), [np.array([True, False])], "masks_fit"),
    ],
)
def test_rejected(shape: tuple[int, ...], entries: list[Entry], broken: str) -> None:
    with pytest.raises(IndexError):
        np.zeros(shape)[tuple(slice(None) if entry is None else entry for entry in entries)]
    tensors = tuple(map(_tensor, entries))
    too_many = FUNCTIONS["indexed_dims"].evaluate(tensors) > len(shape)
    assert too_many == (broken == "indexed_dims")
    assert FUNCTIONS["indices_broadcast"].evaluate(tensors) == (broken != "indices_broadcast")
    for name in ("masks_fit", "indices_fit"):
        if too_many:
            with pytest.raises(Undefined):
                FUNCTIONS[name].evaluate(shape, tensors)
        else:
            assert FUNCTIONS[name].evaluate(shape, tensors) == (broken != name)
    if broken != "indices_fit":
        with pytest.raises(Undefined):
            FUNCTIONS["indexed"].evaluate(shape, tensors)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_is_definite(dtype: str) -> None:
    source = np.random.default_rng(0)
    for _ in range(50):
        half = source.normal(size=(4, 4)) + (1j * source.normal(size=(4, 4)) if dtype == "complex128" else 0)
        matrix = half @ half.conj().T - source.uniform(0, 3) * np.eye(4)
        for upper in (False, True):
            read = np.triu(matrix) + np.tril(np.full_like(matrix, 9), -1)
            read = read if upper else read.conj().T
            tensor = Tensor((1, 4, 4), dtype, partial(tuple, read.reshape(-1).tolist()))
            assert FUNCTIONS["is_definite"].evaluate(tensor, upper) == bool(np.linalg.eigvalsh(matrix)[0] > 0)
