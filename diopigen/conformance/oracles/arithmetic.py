"""Arithmetic of one, two and three operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array, convert, rounded, widest
from diopigen.conformance.oracles import Answer, Call, Expected, oracle
from diopigen.conformance.oracles.elementwise import (
    arithmetic,
    elementwise,
    finish,
    magnitude,
    to_float,
    unary,
)
from diopigen.contract.dtypes import kind as kind_of


def _is_bool(value: Array) -> bool:
    return value.dtype == np.bool_


def _is_integral(value: Array) -> bool:
    return value.dtype.kind in "iu"


# ---- one operand ----------------------------------------------------------------------------------------------------


def _sign(x: Array) -> Array:
    return x if _is_bool(x) else np.where(np.isnan(x), 0, np.sign(x)).astype(x.dtype)


def _sgn(x: Array) -> Array:
    if x.dtype.kind != "c":
        return _sign(x)
    length = np.abs(x)
    return np.where(length == 0, 0, x / np.where(length == 0, 1, length))


unary("Abs", np.abs)
unary("Neg", np.negative)
unary("Sign", _sign)
unary("Sgn", _sgn)
unary("Floor", lambda x: x if _is_integral(x) else np.floor(x))
unary("Ceil", lambda x: x if _is_integral(x) else np.ceil(x))
unary("Sqrt", np.sqrt, to_float)
unary("Rsqrt", lambda x: 1 / np.sqrt(x), to_float)
unary("Reciprocal", lambda x: 1 / x, to_float)
unary("Conj", np.conj)
unary("Real", np.real)
unary("Imag", np.imag)
unary("IsNan", np.isnan)
unary("LogicalNot", np.logical_not)
unary("BitwiseNot", lambda x: ~x)

# ---- two operands ---------------------------------------------------------------------------------------------------


def _add(x: Array, y: Array, alpha: Array) -> Any:
    if _is_bool(x):
        return x | (alpha & y)
    return x + alpha * y, magnitude(x) + magnitude(alpha) * magnitude(y)


def _sub(x: Array, y: Array, alpha: Array) -> Any:
    return x - alpha * y, magnitude(x) + magnitude(alpha) * magnitude(y)


elementwise("Add", "input other", _add, numbers="alpha")
elementwise("Sub", "input other", _sub, numbers="alpha")
elementwise("Mul", "input other", np.multiply)
elementwise("Maximum", "input other", np.maximum, signed_zero=False)
elementwise("Minimum", "input other", np.minimum, signed_zero=False)
elementwise("ClampMax", "input max", np.minimum, signed_zero=False)
elementwise("ClampMin", "input min", np.maximum, signed_zero=False)
elementwise("RemainderTensor", "input other", np.remainder)
elementwise("BitwiseAnd", "input other", np.bitwise_and)
elementwise("BitwiseOr", "input other", np.bitwise_or)
elementwise("Eq", "input other", np.equal)
elementwise("Ne", "input other", np.not_equal)
elementwise("Ge", "input other", np.greater_equal)
elementwise("Gt", "input other", np.greater)
elementwise("Le", "input other", np.less_equal)
elementwise("Lt", "input other", np.less)


def _complex(real: Array, imag: Array) -> Array:
    """Put together part by part: `real + 1j * imag` would turn an infinite part into NaN."""
    wide: Any = np.result_type(real, imag, np.complex64)
    found = np.empty(np.broadcast_shapes(real.shape, imag.shape), wide)
    found.real, found.imag = real, imag
    return found


@oracle("Complex", "Polar")
def _from_parts(call: Call) -> Answer:
    with np.errstate(all="ignore"):
        if call.function.operator == "Complex":
            found = _complex(call.wide("real"), call.wide("imag"))
        else:
            length, angle = call.wide("abs"), call.wide("angle")
            found = _complex(length * np.cos(angle), length * np.sin(angle))
    return {"out": Expected(found)}


@oracle("LogicalAnd", "LogicalOr")
def _logical(call: Call) -> Answer:
    """Each operand is tested in its own dtype: there is no promotion."""
    first, second = call["input"] != 0, call["other"] != 0
    found = first & second if call.function.operator == "LogicalAnd" else first | second
    return {call.target: finish(call, found, "bool")}


@oracle("Equal")
def _equal(call: Call) -> Answer:
    same_shape = call["input"].shape == call["other"].shape
    return {"out": bool(same_shape and np.all(call["input"] == call["other"]))}


def _truncated(x: Array, y: Array) -> Array:
    """Integer division towards zero; the lowest number by -1 wraps."""
    quotient = np.floor_divide(x, y)
    inexact = (np.remainder(x, y) != 0) & ((x < 0) != (y < 0))
    return np.asarray(quotient + inexact.astype(quotient.dtype))


@oracle("Div")
def _div(call: Call) -> Answer:
    dtype = call.promoted("input", "other")
    mode = call["rounding_mode"]
    if mode == "RoundModeNone":
        dtype = to_float(dtype)
    x, y = call.cast("input", dtype), call.cast("other", dtype)
    with np.errstate(all="ignore"):
        if mode == "RoundModeNone":
            found = x / y
        elif mode == "RoundModeFloor":
            found = np.floor_divide(x, y)
        elif _is_integral(x):
            found = _truncated(x, y)
        else:
            found = np.trunc(widest(rounded(x / y, arithmetic(dtype))))
        return {call.target: finish(call, found, dtype)}


def _integer_power(base: Array, exponent: Array) -> Array:
    """Powers of integers modulo the range of the dtype; negative exponents leave only 1 and -1 something."""
    base, exponent = np.broadcast_arrays(base, exponent)
    result, factor, left = np.ones_like(base), base.copy(), np.where(exponent < 0, 0, exponent)
    while np.any(left > 0):
        result = np.where(left % 2 == 1, result * factor, result).astype(base.dtype)
        factor = (factor * factor).astype(base.dtype)
        left = left // 2
    odd = exponent % 2 != 0
    inverse = np.where(base == 1, 1, np.where((base == -1) if base.dtype.kind == "i" else False, 1 - 2 * odd, 0))
    return np.asarray(np.where(exponent < 0, inverse, result)).astype(base.dtype)


def _power(base: Array, exponent: Array) -> Any:
    if _is_integral(base):
        return _integer_power(base, exponent)
    found = np.power(base, exponent)
    if base.dtype.kind != "c":
        return found
    # A complex power goes through exp(exponent * log(base)), whose argument is rounded.
    found = np.where((exponent == 0) | (base == 1), 1, found)
    turns = np.abs(exponent * np.log(np.where(base == 0, 1, base)))
    return found, np.abs(found) * (1 + turns)


@oracle("PowTensor")
def _pow(call: Call) -> Answer:
    """A complex zero to the power zero is left open: the logarithm of zero is no number."""
    dtype = call.promoted("input", "exponent")
    base, exponent = call.cast("input", dtype), call.cast("exponent", dtype)
    with np.errstate(all="ignore"):
        found = _power(base, exponent)
        values, scale = found if isinstance(found, tuple) else (found, None)
        free = None
        if base.dtype.kind == "c":
            free = np.broadcast_to((base == 0) & (exponent == 0), call.shapes[call.target])
        return {call.target: finish(call, values, dtype, scale, free=free)}


# ---- three operands -------------------------------------------------------------------------------------------------


def _addcmul(x: Array, first: Array, second: Array, value: Array) -> Any:
    return x + value * first * second, magnitude(x) + magnitude(value) * magnitude(first) * magnitude(second)


def _addcdiv(x: Array, first: Array, second: Array, value: Array) -> Any:
    quotient = first / second
    return x + value * quotient, magnitude(x) + magnitude(value) * magnitude(quotient)


def _lerp(start: Array, end: Array, weight: Array) -> Any:
    near_start = start + weight * (end - start)
    near_end = end - (end - start) * (1 - weight)
    scale = magnitude(start) + magnitude(end) + magnitude(weight) * (magnitude(end) + magnitude(start))
    return np.where(np.abs(weight) < 0.5, near_start, near_end), scale


def _clamp(x: Array, low: Array | None, high: Array | None) -> Array:
    raised = x if low is None else np.maximum(x, low)
    return raised if high is None else np.minimum(raised, high)


elementwise("Addcmul", "input tensor1 tensor2", _addcmul, numbers="value")
elementwise("Addcdiv", "input tensor1 tensor2", _addcdiv, numbers="value")
elementwise("Clamp", "input min max", _clamp, signed_zero=False)


@oracle("LerpTensor")
def _lerp_call(call: Call) -> Answer:
    """A weight that is a number is not cast to half precision: it is used in the compute dtype."""
    dtype = call.promoted("input", "end")
    is_number = not isinstance(call["weight"], np.ndarray)
    weight = call.cast("weight", arithmetic(dtype) if is_number else dtype)
    with np.errstate(all="ignore"):
        values, scale = _lerp(call.cast("input", dtype), call.cast("end", dtype), weight)
        return {call.target: finish(call, values, dtype, scale)}


@oracle("Where")
def _where(call: Call) -> Answer:
    dtype = call.promoted("input", "other")
    found = np.where(call["condition"] != 0, call.cast("input", dtype), call.cast("other", dtype))
    return {call.target: finish(call, found, dtype)}


@oracle("MaskedFill")
def _masked_fill(call: Call) -> Answer:
    dtype = call.dtype("input")
    found = np.where(call["mask"], call.cast("value", dtype), call.wide("input"))
    return {call.target: finish(call, found, dtype)}


# ---- constant tensors -----------------------------------------------------------------------------------------------


@oracle("Fill")
def _fill(call: Call) -> Answer:
    value = convert(np.asarray(call["value"]), call.dtype("input"))
    return {"input": Expected(np.broadcast_to(value, call.shapes["input"]))}


@oracle("Ones", "Zeros", "ZeroInp")
def _constant(call: Call) -> Answer:
    name = call.target
    values = np.full(call.shapes[name], call.function.operator == "Ones", dtype=np.int64)
    return {name: Expected(convert(values, call.dtype(name)))}


def _place_type(call: Call) -> Any:
    """What places on a line are worked out in: float64, which says where whole numbers end, long double for float64."""
    return np.longdouble if call.dtype("out") == "float64" else np.float64


@oracle("Linspace")
def _linspace(call: Call) -> Answer:
    """The first half counts from the start, the second from the end, so that both ends are met exactly."""
    number = _place_type(call)
    steps, start, end = int(call["steps"]), number(call["start"]), number(call["end"])
    places = np.arange(steps).astype(number)
    step = (end - start) / number(steps - 1) if steps > 1 else number(0)
    values = np.where(places < steps // 2, start + step * places, end - step * (steps - 1 - places))
    if steps == 1:
        values = np.array([start], number)
    scale = np.full(steps, abs(start) + abs(end))
    return {"out": _counted(call, values, scale)}


@oracle("Arange")
def _arange(call: Call) -> Answer:
    count = call.shapes["out"][0]
    if all(isinstance(call[name], int) for name in ("start", "step")) and kind_of(call.dtype("out")) == "int":
        return {"out": Expected(convert(call["start"] + call["step"] * np.arange(count), call.dtype("out")))}
    number = _place_type(call)
    start, step = number(call["start"]), number(call["step"])
    places = np.arange(count).astype(number)
    return {"out": _counted(call, start + step * places, abs(start) + abs(step) * places)}


def _counted(call: Call, values: Array, scale: Array) -> Expected:
    if kind_of(call.dtype("out")) in ("int", "bool"):
        return Expected(convert(values, call.dtype("out")))
    return Expected(values, scale)
