"""Gradients of products, decompositions, triangular systems, distances between points."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, rounded
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.linear import meets_infinity
from diopigen.conformance.oracles.reduction import vector_norm


def _adjoint(x: Array) -> Array:
    """Conjugate transposes."""
    return np.asarray(np.conj(np.swapaxes(x, -1, -2)))


def _wanted(call: Call, found: dict[str, Expected]) -> Answer:
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
        found = _gathered(np.matmul(first, second), matrix.shape).reshape(like.shape)
        scale = _gathered(np.matmul(np.abs(first), np.abs(second)), matrix.shape).reshape(like.shape)
        return Expected(found, scale, first.shape[-1] * max(gradient.size // max(like.size, 1), 1))

    return _wanted(
        call,
        {
            "grad_input": expected(gradient, _adjoint(right), left, a),
            "grad_other": expected(_adjoint(left), gradient, right, b),
        },
    )


@oracle("LinearBackward")
def _linear_backward(call: Call) -> Answer:
    weight = call.wide("weight")
    x = call.wide("input").reshape(-1, weight.shape[1])
    gradient = call.wide("grad_output").reshape(-1, weight.shape[0])
    of_input = gradient @ np.conj(weight), np.abs(gradient) @ np.abs(weight)
    of_input = of_input[0].reshape(call.shapes["input"]), of_input[1].reshape(call.shapes["input"])
    or_nan = meets_infinity(gradient, weight, call.dtype("input"))
    return _wanted(
        call,
        {
            "grad_input": Expected(
                *of_input,
                weight.shape[0],
                or_nan=None if or_nan is None else or_nan.reshape(call.shapes["input"]),
            ),
            "grad_weight": Expected(
                gradient.T @ np.conj(x),
                np.abs(gradient.T) @ np.abs(x),
                len(x),
                or_nan=meets_infinity(gradient.T, x, call.dtype("input")),
            ),
            "grad_bias": Expected(gradient.sum(axis=0), np.abs(gradient).sum(axis=0), len(x)),
        },
    )


# ---- decompositions -------------------------------------------------------------------------------------------------


def _is_positive(matrix: Array) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


@oracle("Cholesky")
def _cholesky(call: Call) -> Answer:
    """From one triangle alone. Of a matrix that has no factor only the order of the minor that fails is judged."""
    x = call.wide("mat")
    lower = np.tril(_adjoint(x) if call["upper"] else x, -1)
    diagonal = np.einsum("...ii->...i", x).real
    n = x.shape[-1]
    whole = lower + _adjoint(lower) + diagonal[..., None] * np.eye(n)
    factors, info = np.zeros_like(x), np.zeros(x.shape[:-2], dtype=np.int64)
    free = np.zeros(x.shape, dtype=np.bool_)
    for place in np.ndindex(x.shape[:-2]):
        fails = (order for order in range(1, n + 1) if not _is_positive(whole[place][:order, :order]))
        info[place] = next(fails, 0)
        free[place] = info[place] != 0
        factors[place] = 0 if info[place] else np.linalg.cholesky(whole[place])
    found = _adjoint(factors) if call["upper"] else factors
    scale = np.broadcast_to(np.abs(found).max(axis=(-1, -2), initial=0, keepdims=True), x.shape)
    return {"out": Expected(found, np.where(found == 0, 0, scale), n, free=free), "info": Expected(info)}


@oracle("CholeskyBackward")
def _cholesky_backward(call: Call) -> Answer:
    """With P the lower triangle of L^H grad and S its part below the diagonal: L^-H (P + S^H) L^-1 / 2."""
    factor, gradient = call.wide("L"), call.wide("grad_output")
    if call["upper"]:
        factor, gradient = _adjoint(factor), _adjoint(gradient)
    factor, gradient = np.tril(factor), np.tril(gradient)

    def middle(left: Array, right: Array) -> Array:
        product = left @ right
        return np.asarray(np.tril(product) + _adjoint(np.tril(product, -1)))

    inverse = np.linalg.inv(factor)
    found = _adjoint(inverse) @ middle(_adjoint(factor), gradient) @ inverse / 2
    sizes = np.abs(inverse), middle(np.abs(_adjoint(factor)), np.abs(gradient))
    scale = np.swapaxes(sizes[0], -1, -2) @ sizes[1] @ sizes[0] / 2
    return {"grad_mat": Expected(found, scale, factor.shape[-1] ** 2)}


@oracle("LinalgQR")
def _qr(call: Call) -> Answer:
    """NumPy takes the reflections, and so the signs, from LAPACK as well."""
    x = call.wide("A")
    size = np.linalg.norm(x, axis=-2, keepdims=True)
    terms = x.shape[-2] * max(x.shape[-1], 1)
    if call["mode"] == "r":
        upper = np.asarray(np.linalg.qr(x, mode="r"))
        return {"R": Expected(upper, np.broadcast_to(size, upper.shape), terms)}
    orthonormal, upper = np.linalg.qr(x, mode=call["mode"])
    steps = min(x.shape[-2:])
    condition = np.linalg.cond(x[..., :, :steps])[..., None, None] if x.size else np.ones(())
    loss = np.broadcast_to(condition, orthonormal.shape)
    return {
        "Q": Expected(orthonormal, loss, terms),
        "R": Expected(upper, np.broadcast_to(size * condition, upper.shape) * (upper != 0), terms),
    }


# ---- triangular systems ---------------------------------------------------------------------------------------------


def _triangle(call: Call) -> Array:
    """The matrix of the system: one triangle, perhaps with ones on the diagonal, perhaps transposed."""
    x = call.wide("mat")
    kept = np.triu(x) if call["upper"] else np.tril(x)
    if call["unitriangular"]:
        kept = kept * (1 - np.eye(x.shape[-1])) + np.eye(x.shape[-1])
    return np.swapaxes(kept, -1, -2) if call["transpose"] else kept


def _solved(matrix: Array, sides: Array) -> tuple[Array, Array]:
    """The solution and the size of what is added up on the way to it."""
    found = np.linalg.solve(matrix, sides)
    return found, np.abs(np.linalg.inv(matrix)) @ np.abs(matrix) @ np.abs(found)


@oracle("TriangularSolve")
def _triangular_solve(call: Call) -> Answer:
    found, scale = _solved(_triangle(call), call.wide("b"))
    return {"out": Expected(found, scale, found.shape[-2]), "cloned_mat": Expected(call.wide("mat"))}


@oracle("TriangularSolveBackward")
def _triangular_solve_backward(call: Call) -> Answer:
    """The sides' gradient g solves the adjoint system; the matrix gets -g x^H where it was read."""
    matrix, x = call.wide("mat"), call.wide("x")
    sides, size = np.zeros_like(x), np.zeros(x.shape)
    if call.given("grad_x"):
        sides, size = _solved(_adjoint(_triangle(call)), call.wide("grad_x"))
    found, scale = -(sides @ _adjoint(x)), size @ np.abs(_adjoint(x))
    if call["transpose"]:
        found, scale = np.swapaxes(found, -1, -2), np.swapaxes(scale, -1, -2)
    ones = np.ones(matrix.shape[-2:])
    read = np.triu(ones) if call["upper"] else np.tril(ones)
    if call["unitriangular"]:
        read = read - np.eye(len(read))
    found, scale = np.where(read, found, 0), np.where(read, scale, 0)
    if call.given("grad_cloned_mat"):
        cloned = call.wide("grad_cloned_mat")
        found, scale = found + cloned, scale + np.abs(cloned)
    terms = x.shape[-1] * x.shape[-2]
    return _wanted(call, {"grad_b": Expected(sides, size, terms), "grad_mat": Expected(found, scale, terms)})


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
