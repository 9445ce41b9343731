"""Triangular systems and decompositions of small matrices, written out in the widest type that NumPy has.

None of LAPACK: which blocks and kernels it takes depends on the processor. Every function takes batches of matrices
[*batch, rows, columns], real or complex, and answers in long double.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.products import product


def long(x: Array) -> Array:
    """Numbers in long double, complex ones in pairs of them."""
    return x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble)


def _square(x: Array) -> Array:
    """|x|^2 without the root that np.abs takes of complex numbers."""
    return np.asarray(x.real**2 + x.imag**2)


def solve_triangular(matrix: Array, sides: Array, *, upper: bool) -> Array:
    """X with T X = sides by substitution, where T is one triangle of the matrix: the other one is not read.

    Substitution is stable element by element: |X' - X| <= gamma_n |T^-1| |T| |X| (Higham, Accuracy and Stability of
    Numerical Algorithms, theorem 8.5).
    """
    matrix = long(matrix)
    found = long(sides).astype(np.result_type(matrix, long(sides)))
    order = matrix.shape[-1]
    for row in reversed(range(order)) if upper else range(order):
        known = slice(row + 1, order) if upper else slice(0, row)
        terms = matrix[..., row, known, None] * found[..., known, :]
        found[..., row, :] = (found[..., row, :] - terms.sum(axis=-2)) / matrix[..., row, row, None]
    return found


def inverse_triangular(matrix: Array, *, upper: bool) -> Array:
    """The inverse of one triangle."""
    identity = np.broadcast_to(np.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    retained = np.triu if upper else np.tril
    return np.asarray(retained(solve_triangular(matrix, identity, upper=upper)))


def cholesky(matrix: Array) -> tuple[Array, int]:
    """The lower factor of one Hermitian matrix [n, n], from its lower triangle, and 0; or what there is of it, and the
    order of the first leading minor that is not positive."""
    factor = np.tril(long(matrix))
    for k in range(len(factor)):
        done = factor[k, :k]
        pivot = factor[k, k].real - _square(done).sum()
        if not pivot > 0:
            return factor, k + 1
        factor[k, k] = np.sqrt(pivot)
        below = factor[k + 1 :, :k] * np.conj(done)
        factor[k + 1 :, k] = (factor[k + 1 :, k] - below.sum(axis=1)) / factor[k, k]
    return factor, 0


def qr(matrix: Array) -> tuple[Array, Array]:
    """Q [m, m] and R [m, n] of one matrix by Householder's reflections, with the signs of LAPACK's `geqrf`: the
    diagonal of R gets the sign that the real part of the element did not have, and where there is nothing to reflect
    the element stays."""
    upper = long(matrix)
    rows, columns = upper.shape
    whole = np.eye(rows, dtype=upper.dtype)
    for k in range(min(rows, columns)):
        x = upper[k:, k].copy()
        if not np.any(x[1:] != 0) and x[0].imag == 0:
            continue
        length: Any = np.sqrt(_square(x).sum())
        diagonal = length if np.signbit(x[0].real) else -length
        factor = (diagonal - np.conj(x[0])) / diagonal
        x[1:] /= x[0] - diagonal
        x[0] = 1
        upper[k:, k:] -= factor * x[:, None] * product(np.conj(x), upper[k:, k:])
        upper[k, k], upper[k + 1 :, k] = diagonal, 0
        whole[:, k:] -= np.conj(factor) * product(whole[:, k:], x)[:, None] * np.conj(x)
    return whole, upper


def condition(upper: Array) -> float:
    """The ratio of the largest to the smallest singular value of one matrix [n, n], by Jacobi's rotations of pairs of
    columns until all are at right angles; to 8 digits, which is what a bound needs. Infinity where it is singular."""
    x = long(upper)
    count = x.shape[1]
    for _ in range(60):
        worst = 0.0
        for i in range(count):
            for j in range(i + 1, count):
                a, b = (float(_square(x[:, k]).sum()) for k in (i, j))
                c = (np.conj(x[:, i]) * x[:, j]).sum()
                size = float(np.abs(c))
                if not size > 0:
                    continue
                worst = max(worst, size / np.sqrt(a * b))
                angle = (b - a) / (2 * size)
                tangent = (1 if angle >= 0 else -1) / (abs(angle) + np.sqrt(1 + angle * angle))
                cosine = 1 / np.sqrt(1 + tangent * tangent)
                transposed = x[:, j] * np.conj(c) / size
                x[:, i], x[:, j] = (
                    cosine * (x[:, i] - tangent * transposed),
                    cosine * (tangent * x[:, i] + transposed),
                )
        if not worst > 1e-9:
            break
    lengths = np.sqrt(_square(x).sum(axis=0))
    if not lengths.size:
        return 1.0
    with np.errstate(all="ignore"):
        return float(lengths.max() / lengths.min())
