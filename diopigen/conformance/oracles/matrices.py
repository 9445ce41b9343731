"""Gradients of products, decompositions, triangular systems, distances between points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, rounded
from diopigen.conformance.oracles import Answer, Call, Expected, decompositions, oracle
from diopigen.conformance.oracles.linear import meets_infinity
from diopigen.conformance.oracles.reduction import vector_norm
from diopigen.conformance.products import adjoint, product, size_of_product
from diopigen.contract.tolerance import epsilon


def _expected(call: Call, found: dict[str, Expected]) -> Answer:
    """The outputs that the caller asks for: null ones left out."""
    return {name: expected for name, expected in found.items() if name in call.shapes}


# ---- products -------------------------------------------------------------------------------------------------------


def _gathered(x: Array, shape: tuple[int, ...]) -> Array:
    """The sum over the dimensions in which a tensor of this shape was broadcast."""
    extra = x.ndim - len(shape)
    x = x.sum(axis=tuple(range(extra)))
    stretched = tuple(dim for dim, size in enumerate(shape) if size == 1 and x.shape[dim] != 1)
    return np.asarray(x.sum(axis=stretched, keepdims=True))


@oracle("MatmulBackward")
def _matmul_backward(call: Call) -> Answer:
    """The gradients grad b^H and a^H grad, where a vector is one row on the left and one column on the right."""
    a, b, gradient = call.wide("input"), call.wide("other"), call.wide("grad_out")
    left = a[None, :] if a.ndim == 1 else a
    right = b[:, None] if b.ndim == 1 else b
    gradient = gradient[..., None] if b.ndim == 1 else gradient
    gradient = np.expand_dims(gradient, -2) if a.ndim == 1 else gradient

    def expected(first: Array, second: Array, matrix: Array, like: Array) -> Expected:
        found = _gathered(product(first, second), matrix.shape).reshape(like.shape)
        scale = _gathered(size_of_product(first, second), matrix.shape).reshape(like.shape)
        return Expected(found, scale, first.shape[-1] * max(gradient.size // max(like.size, 1), 1))

    return _expected(
        call,
        {
            "grad_input": expected(gradient, adjoint(right), left, a),
            "grad_other": expected(adjoint(left), gradient, right, b),
        },
    )


@oracle("LinearBackward")
def _linear_backward(call: Call) -> Answer:
    weight = call.wide("weight")
    rows = math.prod(call.shapes["input"][:-1])
    x = call.wide("input").reshape(rows, weight.shape[1])
    gradient = call.wide("grad_output").reshape(rows, weight.shape[0])
    of_input = product(gradient, np.conj(weight)), size_of_product(gradient, weight)
    of_input = of_input[0].reshape(call.shapes["input"]), of_input[1].reshape(call.shapes["input"])
    or_nan = meets_infinity(gradient, weight, call.dtype("input"))
    of_bias = Expected(gradient.sum(axis=0), np.abs(gradient).sum(axis=0), len(x))
    if len(call.shapes.get("grad_bias", ())) > 1:
        of_bias = Expected(call.wide("grad_output"))
    return _expected(
        call,
        {
            "grad_input": Expected(
                *of_input,
                weight.shape[0],
                or_nan=None if or_nan is None else or_nan.reshape(call.shapes["input"]),
            ),
            "grad_weight": Expected(
                product(gradient.T, np.conj(x)),
                size_of_product(gradient.T, x),
                len(x),
                or_nan=meets_infinity(gradient.T, x, call.dtype("input")),
            ),
            "grad_bias": of_bias,
        },
    )


# ---- decompositions -------------------------------------------------------------------------------------------------


@oracle("Cholesky")
def _cholesky(call: Call) -> Answer:
    """From one triangle alone. Of a matrix that has no factor only the order of the minor that fails is compared.

    The error of a factor is that of a matrix which is off by rounding errors of the products, |L||L^H|: to first order
    |L| times the lower triangle of |L^-1| |L||L^H| |L^-H| (Sun, Perturbation bounds for the Cholesky factorization).
    """
    x = call.wide("mat")
    lower = np.tril(adjoint(x) if call["upper"] else x, -1)
    diagonal = np.einsum("...ii->...i", x).real
    n = x.shape[-1]
    whole = lower + adjoint(lower) + diagonal[..., None] * np.eye(n)
    factors, info = decompositions.long(np.zeros_like(x)), np.zeros(x.shape[:-2], dtype=np.int64)
    sizes = np.zeros(x.shape)
    free = np.zeros(x.shape, dtype=np.bool_)
    for position in np.ndindex(x.shape[:-2]):
        factor, info[position] = decompositions.cholesky(whole[position])
        free[position] = info[position] != 0
        factors[position] = 0 if info[position] else factor
        if not info[position]:
            size, inverse = np.abs(factor), np.abs(decompositions.inverse_triangular(factor, upper=False))
            spread = product(product(inverse, product(size, adjoint(size))), adjoint(inverse))
            sizes[position] = product(size, np.tril(spread))
    found, sizes = (adjoint(factors), adjoint(sizes)) if call["upper"] else (factors, sizes)
    return {"out": Expected(found, np.where(found == 0, 0, sizes), n, free=free), "info": Expected(info)}


@oracle("CholeskyBackward")
def _cholesky_backward(call: Call) -> Answer:
    """With P the lower triangle of L^H grad and S its part below the diagonal: L^-H (P + S^H) L^-1 / 2."""
    factor, gradient = call.wide("L"), call.wide("grad_output")
    if call["upper"]:
        factor, gradient = adjoint(factor), adjoint(gradient)
    factor, gradient = np.tril(factor), np.tril(gradient)

    def middle(left: Array, right: Array) -> Array:
        whole = product(left, right)
        return np.asarray(np.tril(whole) + adjoint(np.tril(whole, -1)))

    def between(inverse: Array, inner: Array) -> Array:
        return product(product(adjoint(inverse), inner), inverse) / 2

    inverse = decompositions.inverse_triangular(factor, upper=False)
    found = between(inverse, middle(adjoint(factor), gradient))
    scale = between(np.abs(inverse), middle(np.abs(adjoint(factor)), np.abs(gradient)))
    return {"grad_mat": Expected(found, scale, factor.shape[-1] ** 2)}


@oracle("LinalgQR")
def _qr(call: Call) -> Answer:
    """By reflections, with the signs of LAPACK. Where columns depend on those before them, a reflection has to work on
    nothing but the rounding errors of earlier ones: those rows of R are of the size of an error, and columns of Q may
    be any at right angles to the others, which is not compared."""
    x = call.wide("A")
    size = vector_norm(x, 2, (-2,))[..., None, :]
    terms = x.shape[-2] * max(x.shape[-1], 1)
    rows, steps = x.shape[-2], min(x.shape[-2:])
    orthonormal, upper = decompositions.long(np.zeros((*x.shape[:-1], rows), x.dtype)), decompositions.long(x)
    condition, free = np.ones(x.shape[:-2]), np.zeros(orthonormal.shape, dtype=np.bool_)
    singular = 1 / epsilon(call.dtype("A"))
    for position in np.ndindex(x.shape[:-2]):
        orthonormal[position], upper[position] = decompositions.qr(x[position])
        found = decompositions.condition(upper[position][:steps, :steps])
        if found < singular:
            condition[position] = found
        else:
            noise = vector_norm(upper[position][:, :steps], 2, (0,)).max(initial=0) / singular
            small = np.abs(np.diagonal(upper[position])) <= terms * noise
            free[position][:, int(np.argmax(small)) :] = True
    if call["mode"] != "complete":
        orthonormal, upper, free = orthonormal[..., :steps], upper[..., :steps, :], free[..., :steps]
    if call["mode"] == "r":
        return {"R": Expected(upper, np.broadcast_to(size, upper.shape), terms)}
    condition = condition[..., None, None]
    loss = np.broadcast_to(condition, orthonormal.shape)
    return {
        "Q": Expected(orthonormal, loss, terms, free=free),
        "R": Expected(upper, np.triu(np.broadcast_to(size * condition, upper.shape)), terms),
    }


# ---- triangular systems ---------------------------------------------------------------------------------------------


def _triangle(call: Call) -> Array:
    """The matrix of the system: one triangle, perhaps with ones on the diagonal, perhaps transposed."""
    x = call.wide("mat")
    retained = np.triu(x) if call["upper"] else np.tril(x)
    if call["unitriangular"]:
        retained = np.where(np.eye(x.shape[-1], dtype=bool), 1, retained)
    return np.swapaxes(retained, -1, -2) if call["transpose"] else retained


def _solved(matrix: Array, sides: Array, *, upper: bool) -> tuple[Array, Array]:
    """The solution, and what an error in an element weighs in it: |T^-1| |T| |X|."""
    found = decompositions.solve_triangular(matrix, sides, upper=upper)
    inverse = decompositions.inverse_triangular(matrix, upper=upper)
    return found, size_of_product(inverse, size_of_product(matrix, found))


@oracle("TriangularSolve")
def _triangular_solve(call: Call) -> Answer:
    mat, b = call.wide("mat"), call.wide("b")
    batch = np.broadcast_shapes(mat.shape[:-2], b.shape[:-2])
    matrix = np.broadcast_to(_triangle(call), (*batch, *mat.shape[-2:]))
    sides = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    found, scale = _solved(matrix, sides, upper=call["upper"] != call["transpose"])
    cloned = np.broadcast_to(mat, call.shapes["cloned_mat"])
    return {"out": Expected(found, scale, found.shape[-2]), "cloned_mat": Expected(cloned)}


def _systems(x: Array) -> int:
    """The number of matrices in a batch."""
    return math.prod(x.shape[:-2])


@oracle("TriangularSolveBackward")
def _triangular_solve_backward(call: Call) -> Answer:
    """The sides' gradient g solves the adjoint system; the matrix gets -g x^H where it was read."""
    matrix, x = call.wide("mat"), call.wide("x")
    sides, size = np.zeros_like(x), np.zeros(x.shape)
    if call.has("grad_x"):
        triangle = np.broadcast_to(_triangle(call), (*x.shape[:-2], *matrix.shape[-2:]))
        sides, size = _solved(adjoint(triangle), call.wide("grad_x"), upper=call["upper"] == call["transpose"])
    found, scale = -product(sides, adjoint(x)), size_of_product(size, adjoint(x))
    if call["transpose"]:
        found, scale = np.swapaxes(found, -1, -2), np.swapaxes(scale, -1, -2)
    ones = np.ones(matrix.shape[-2:])
    read = np.triu(ones) if call["upper"] else np.tril(ones)
    if call["unitriangular"]:
        read = read - np.eye(len(read))
    found, scale = _gathered(np.where(read, found, 0), matrix.shape), _gathered(np.where(read, scale, 0), matrix.shape)
    if call.has("grad_cloned_mat"):
        cloned = call.wide("grad_cloned_mat")
        found, scale = found + _gathered(cloned, matrix.shape), scale + _gathered(np.abs(cloned), matrix.shape)
    terms = x.shape[-1] * x.shape[-2]
    for_side, for_matrix = (terms * _systems(x) // max(_systems(one), 1) for one in (call["b"], matrix))
    side = Expected(_gathered(sides, call["b"].shape), _gathered(size, call["b"].shape), for_side)
    return _expected(call, {"grad_b": side, "grad_mat": Expected(found, scale, for_matrix)})


# ---- distances ------------------------------------------------------------------------------------------------------


@oracle("Cdist")
def _cdist(call: Call) -> Answer:
    first, second, order = call.wide("input1"), call.wide("input2"), float(call["p"])
    difference = first[..., :, None, :] - second[..., None, :, :]
    found = vector_norm(difference, order, (-1,))
    if order != 2 or call["compute_mode"] == 2:
        return {"out": Expected(found, None, first.shape[-1])}
    # Through a matrix product, the squared distance has the rounding errors of the squared lengths.
    squares = (first**2).sum(-1)[..., :, None] + (second**2).sum(-1)[..., None, :]
    scale = np.where(found > 0, found + squares / np.where(found > 0, found, 1), np.sqrt(squares))
    return {"out": Expected(found, scale, first.shape[-1])}


@oracle("CdistBackward")
def _cdist_backward(call: Call) -> Answer:
    """The sign of each difference times its share of the distance; no gradient at distance 0."""
    difference = call.wide("input1")[..., :, None, :] - call.wide("input2")[..., None, :, :]
    distance, order = call.wide("cdist")[..., None], float(call["p"])
    size = np.abs(difference)
    if np.isinf(order):
        share: Any = rounded(size, call.dtype("input1")) == distance
    else:
        share = np.where((size == 0) | (distance == 0) | (order == 0), 0, (size / distance) ** (order - 1))
    each = np.sign(difference) * share * call.wide("grad_output")[..., None]
    return {"grad_input": Expected(each.sum(axis=-2), np.abs(each).sum(axis=-2), difference.shape[-2])}
