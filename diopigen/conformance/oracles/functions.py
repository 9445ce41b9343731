"""Transcendental functions and activations, forward and backward."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Answer, Call, oracle
from diopigen.conformance.oracles.elementwise import Expression, arithmetic, finish, magnitude, to_float, unary


def _each(function: Any, x: Array) -> Array:
    """A function of one float from `math`, applied to every element: float64 even where the operand is wider. What
    goes on computing with it does so in float64 (`_double`), so that the type of the result says how precise it is."""
    return np.array([function(float(value)) for value in x.ravel()], dtype=np.float64).reshape(x.shape)


def _double(x: Array) -> Array:
    return x.astype(np.float64)


def erf(x: Array) -> Array:
    """The error function."""
    return _each(math.erf, x)


def erfc(x: Array) -> Array:
    """1 - erf(x) without cancellation."""
    return _each(math.erfc, x)


def _erfinv_of_one(y: float) -> float:
    """Newton's method on erf, from Winitzki's approximation; the tail uses erfc so that no digits cancel."""
    if math.isnan(y) or abs(y) > 1:
        return math.nan
    if abs(y) == 1 or y == 0:
        return math.copysign(math.inf, y) if y else y
    size = abs(y)
    logarithm = math.log1p(-size * size)
    half = 2 / (math.pi * 0.147) + logarithm / 2
    x = math.sqrt(max(math.sqrt(half * half - logarithm / 0.147) - half, 0.0))
    for _ in range(60):
        error = math.erf(x) - size if size < 0.5 else (1 - size) - math.erfc(x)
        step = error / (2 / math.sqrt(math.pi) * math.exp(-x * x))
        x -= step / (1 + x * step)
        if abs(step) <= 1e-16 * abs(x):
            break
    return math.copysign(x, y)


def erfinv(x: Array) -> Array:
    """The inverse of the error function; infinite at -1 and 1, NaN beyond."""
    return _each(_erfinv_of_one, x)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    if x.dtype.kind == "c":
        return np.asarray(1 / (1 + np.exp(-x)))
    small = np.exp(-np.abs(x))
    return np.asarray(np.where(x >= 0, 1 / (1 + small), small / (1 + small)))


_PLAIN: dict[str, Expression] = {
    "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan,
    "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh, "Asinh": np.arcsinh, "Acosh": np.arccosh,
    "Atanh": np.arctanh, "Exp": np.exp, "Expm1": np.expm1, "Log": np.log, "Log2": np.log2, "Log10": np.log10,
    "Log1p": np.log1p, "Erf": erf, "Erfinv": erfinv, "Sigmoid": sigmoid,
}  # fmt: skip
for _name, _function in _PLAIN.items():
    unary(_name, _function, to_float)

# ---- activations ----------------------------------------------------------------------------------------------------


unary("Relu", lambda x: np.where(x < 0, np.zeros_like(x), x), signed_zero=False)
unary("Silu", lambda x: x * sigmoid(x))


def _number(call: Call, name: str) -> Array:
    """A number in the dtype that the operator computes in."""
    return call.cast(name, arithmetic(call.dtype("input")))


def _activation(*operators: str, unordered: bool = False) -> Callable[[Expression], Expression]:
    """Registers an expression of (call, input, gradient or None) as an oracle.

    With `unordered` the result where the input is NaN is left open: it hangs on how a comparison is written.
    """

    def register(expression: Expression) -> Expression:
        def answer(call: Call) -> Answer:
            operand = "output" if "output" in call.values else "input"
            dtype = call.dtype(operand)
            gradient = call.wide("grad_output") if "grad_output" in call.values else None
            with np.errstate(all="ignore"):
                found = expression(call, call.wide(operand), gradient)
                values, scale = found if isinstance(found, tuple) else (found, None)
                free = np.isnan(call.wide(operand)) if unordered else None
                return {call.target: finish(call, values, dtype, scale, signed_zero=False, free=free)}

        oracle(*operators)(answer)
        return expression

    return register


@_activation("Hardtanh")
def _hardtanh(call: Call, x: Array, _: None) -> Array:
    low, high = call.cast("min_val", call.dtype("input")), call.cast("max_val", call.dtype("input"))
    return np.minimum(np.maximum(x, low), high)


@_activation("HardtanhBackward", unordered=True)
def _hardtanh_backward(call: Call, x: Array, gradient: Array) -> Array:
    outside = (x <= _number(call, "min_val")) | (x >= _number(call, "max_val"))
    return np.where(outside, 0, gradient)


@_activation("Hardswish")
def _hardswish(_: Call, x: Array, __: None) -> Any:
    return x * np.clip(x + 3, 0, 6) / 6, np.abs(x) * (np.abs(x) + 3) / 6


@_activation("HardswishBackward", unordered=True)
def _hardswish_backward(_: Call, x: Array, gradient: Array) -> Any:
    slope = np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))
    return np.where(x <= -3, 0, gradient * slope), magnitude(gradient)


@_activation("Threshold")
def _threshold(call: Call, x: Array, _: None) -> Array:
    limit, value = call.cast("threshold", call.dtype("input")), call.cast("value", call.dtype("input"))
    return np.where(x <= limit, value, x)


@_activation("ThresholdBackward")
def _threshold_backward(call: Call, x: Array, gradient: Array) -> Array:
    return np.where(x <= call.cast("threshold", call.dtype("input")), np.zeros_like(gradient), gradient)


@_activation("LeakyRelu")
def _leaky_relu(call: Call, x: Array, _: None) -> Array:
    return np.where(x > 0, x, x * _number(call, "negative_slope"))


@_activation("LeakyReluBackward")
def _leaky_relu_backward(call: Call, x: Array, gradient: Array) -> Array:
    return np.where(x > 0, gradient, gradient * _number(call, "negative_slope"))


_CUBE = 0.044715


def _tanh_inner(x: Array) -> Array:
    return np.asarray(math.sqrt(2 / math.pi) * (x + _CUBE * x**3))


@_activation("Gelu")
def _gelu(call: Call, x: Array, _: None) -> Any:
    x = _double(x)
    if call["approximate"] == "tanh":
        return x * sigmoid(2 * _tanh_inner(x)), np.abs(x) * 0.5
    return 0.5 * x * erfc(-x / math.sqrt(2)), np.abs(x) * 0.5


@_activation("GeluBackward")
def _gelu_backward(call: Call, x: Array, gradient: Array) -> Any:
    x, gradient = _double(x), _double(gradient)
    if call["approximate"] == "tanh":
        share = sigmoid(2 * _tanh_inner(x))
        inner_slope = math.sqrt(2 / math.pi) * (1 + 3 * _CUBE * x * x)
        slope = share + 2 * x * share * sigmoid(-2 * _tanh_inner(x)) * inner_slope
    else:
        slope = 0.5 * erfc(-x / math.sqrt(2)) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return gradient * slope, 2 * magnitude(gradient)


@_activation("SiluBackward")
def _silu_backward(_: Call, x: Array, gradient: Array) -> Any:
    share = sigmoid(x)
    return gradient * share * (1 + x * (1 - share)), 2 * magnitude(gradient)


@_activation("TanhBackward")
def _tanh_backward(_: Call, y: Array, gradient: Array) -> Any:
    return gradient * np.conj(1 - y * y), magnitude(gradient) * (1 + magnitude(y) ** 2)


@_activation("SigmoidBackward")
def _sigmoid_backward(_: Call, y: Array, gradient: Array) -> Any:
    return gradient * np.conj((1 - y) * y), magnitude(gradient) * magnitude(y) * (1 + magnitude(y))
