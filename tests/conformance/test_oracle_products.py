"""Products of matrices and decompositions that use no BLAS: shapes, blocks, special values, and exact results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diopigen.conformance import products
from diopigen.conformance.oracles import decompositions
from diopigen.conformance.products import adjoint, product, size_of_product

SHAPES = [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 6)), ((0, 4), (4, 5)),
          ((3, 0), (0, 5)), ((2, 9), (3, 9, 4)), ((2, 3, 9), (2, 9, 4))]  # fmt: skip


def integers_of(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    found = np.random.default_rng(seed).integers(-9, 10, shape)
    return found.astype(dtype) if np.dtype(dtype).kind != "c" else (found + 1j * found[::-1]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float64", "complex128", "longdouble", "int32", "uint8", "bool"])
@pytest.mark.parametrize(("first", "second"), SHAPES)
@pytest.mark.parametrize("block", [256, 2])
def test_a_product_is_that_of_numpy(first: Any, second: Any, dtype: str, block: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(products, "_BLOCK", block)
    a, b = integers_of(first, dtype, 1), integers_of(second, dtype, 2)
    found, expected = product(a, b), np.asarray(np.matmul(a, b))
    assert found.shape == expected.shape and found.dtype == expected.dtype
    assert np.array_equal(found, expected)


def test_infinities_of_repeated_rows_meet_one_by_one() -> None:
    row = np.broadcast_to(np.inf, (1, 2))
    with np.errstate(invalid="ignore"):
        assert np.isnan(product(row, np.array([[1.0], [-0.5]])))


def test_the_size_of_a_large_product_is_a_tight_upper_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    source = np.random.default_rng(3)
    a, b = source.standard_normal((40, 300)), source.standard_normal((300, 50)) * 1e-3
    exact = size_of_product(a, b)
    monkeypatch.setattr(products, "_LARGE", 0)
    assert np.all(size_of_product(a, b) > exact) and np.all(size_of_product(a, b) < 1.0001 * exact)
    assert np.array_equal(size_of_product(a * 1e30, b * 1e30), product(np.abs(a * 1e30), np.abs(b * 1e30)))


@pytest.mark.parametrize("upper", [False, True])
def test_a_triangular_system_with_whole_numbers_is_solved_exactly(upper: bool) -> None:
    matrix = integers_of((3, 6, 6), "float64", 4)
    matrix[:, range(6), range(6)] = [1, -1, 2, 4, -2, 1]
    retained = np.triu(matrix) if upper else np.tril(matrix)
    solution = integers_of((3, 6, 2), "float64", 5)
    assert np.array_equal(decompositions.solve_triangular(matrix, product(retained, solution), upper=upper), solution)
    assert np.array_equal(
        product(decompositions.inverse_triangular(matrix, upper=upper), retained),
        np.broadcast_to(np.eye(6), retained.shape),
    )


def test_the_factor_of_a_whole_square_is_exact_and_a_failing_minor_is_named() -> None:
    factor = np.tril(integers_of((5, 5), "complex128", 6), -1) + np.diag([1, 2, 3, 1, 5])
    square = product(factor, adjoint(factor))
    found, fails = decompositions.cholesky(square)
    assert fails == 0 and np.array_equal(found, factor)
    square[3, 3] -= 2
    assert decompositions.cholesky(square)[1] == 4


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (5, 5), (1, 1), (1, 3), (3, 1), (3, 0)])
def test_reflections_have_the_signs_of_lapack(shape: tuple[int, int], dtype: str) -> None:
    matrix = integers_of(shape, dtype, 7)
    orthonormal, upper = decompositions.qr(matrix)
    unit = 64 * np.finfo(np.longdouble).eps
    assert np.all(np.abs(product(orthonormal, upper) - matrix) <= unit * 100)
    assert np.all(np.abs(product(adjoint(orthonormal), orthonormal) - np.eye(shape[0])) <= unit)
    assert np.array_equal(upper, np.triu(upper))
    if matrix.size:
        expected = np.linalg.qr(matrix, mode="complete")
        assert np.allclose(orthonormal.astype(dtype), expected[0]) and np.allclose(upper.astype(dtype), expected[1])


def test_the_condition_of_a_matrix() -> None:
    assert decompositions.condition(np.diag([4.0, -0.5, 1.0])) == 8
    assert decompositions.condition(np.array([[1.0, 1.0], [1.0, 1.0]])) == np.inf
    assert decompositions.condition(np.zeros((0, 0))) == 1
    mixed = integers_of((6, 6), "complex128", 8)
    assert decompositions.condition(mixed) == pytest.approx(float(np.linalg.cond(mixed)), rel=1e-7)
