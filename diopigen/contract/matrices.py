"""Predicates over the elements of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from diopigen.contract.arguments import Tensor, Undefined


def is_definite(tensor: Tensor) -> bool:
    """Returns whether each matrix of [..., n, n] is positive definite. Read as Hermitian, from the lower triangle."""
    if len(tensor.shape) < 2 or tensor.shape[-1] != tensor.shape[-2]:
        raise Undefined
    order = tensor.shape[-1]
    elements, area = tensor.elements(), order * order
    return all(_is_definite(elements[start : start + area], order) for start in range(0, len(elements), area or 1))


def _is_definite(matrix: Sequence[Any], order: int) -> bool:
    """By the Cholesky factor, of which every pivot has to be positive."""
    factor = [[0j] * order for _ in range(order)]
    for row in range(order):
        for column in range(row + 1):
            known = zip(factor[row][:column], factor[column][:column], strict=True)
            rest = matrix[row * order + column] - sum(a * b.conjugate() for a, b in known)
            if column < row:
                factor[row][column] = rest / factor[column][column]
            elif not (complex(rest).real > 0 and math.isfinite(complex(rest).real)):
                return False
            else:
                factor[row][row] = complex(math.sqrt(complex(rest).real))
    return True
