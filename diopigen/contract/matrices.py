"""Predicates over the elements of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from diopigen.contract.arguments import Tensor, Undefined


def is_definite(tensor: Tensor, upper: bool) -> bool:
    """Returns whether each matrix of [..., n, n] is positive definite. Read as Hermitian, from one triangle."""
    if len(tensor.shape) < 2 or tensor.shape[-1] != tensor.shape[-2]:
        raise Undefined
    order = tensor.shape[-1]
    elements, area = tensor.elements(), order * order
    across, down = (order, 1) if upper else (1, order)
    matrices = (elements[start : start + area] for start in range(0, len(elements), area or 1))
    return all(_is_definite(matrix, order, across, down) for matrix in matrices)


def _is_definite(matrix: Sequence[Any], order: int, across: int, down: int) -> bool:
    """By the Cholesky factor, of which every pivot has to be positive. `across` and `down` are the steps to the next
    column and row; the transpose of a Hermitian matrix has the same pivots."""
    factor = [[0j] * order for _ in range(order)]
    for row in range(order):
        for column in range(row + 1):
            known = zip(factor[row][:column], factor[column][:column], strict=True)
            rest = matrix[row * down + column * across] - sum(a * b.conjugate() for a, b in known)
            if column < row:
                factor[row][column] = rest / factor[column][column]
            elif not (complex(rest).real > 0 and math.isfinite(complex(rest).real)):
                return False
            else:
                factor[row][row] = complex(math.sqrt(complex(rest).real))
    return True
