"""Composite operators over a vendor of a few exact primitives, against NumPy in float64."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import pytest
from adaptor_helpers import (
    DTYPE_NOT_SUPPORTED,
    ERROR,
    NO_IMPLEMENT,
    SUCCESS,
    built_shims,
    size_of,
)
from composite_caller import Array, Caller, close, numbers, softmax

from diopigen.emit.adaptor.library import composite_functions
from diopigen.ir.model import Interface

erf = np.vectorize(math.erf)
sigmoid = np.vectorize(lambda x: 1 / (1 + math.exp(-x)))


def test_every_operator_of_the_list_has_a_composite(interface: Interface) -> None:
    expected = (
        *("LayerNorm", "RMSNorm", "Softmax", "LogSoftmax", "Gelu", "Silu", "CrossEntropyLoss", "Addmm", "Linear"),
        *("Baddbmm", "Mean", "Std", "Clamp", "ClampScalar", "LerpTensor", "LerpScalar", "Addcmul", "Addcdiv"),
        *("FlashAttention", "MultiHeadAttention"),
    )
    assert {f"diopi{name}" for name in expected} <= composite_functions(interface)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["diopiSoftmax", "diopiLogSoftmax"])
def test_softmax(call: Caller, name: str, dim: int) -> None:
    x = numbers(3, 4, 5, scale=40.0)
    out = call.tensor(np.zeros_like(x))
    assert call(name, out=out, input=call.tensor(x), dim=dim) == SUCCESS
    expected = softmax(x, dim)
    close(call.array(out), expected if name == "diopiSoftmax" else np.log(np.maximum(expected, 1e-300)), 1e-5)


def test_softmax_of_one_number(call: Caller) -> None:
    out = call.tensor(7.0)
    assert call("diopiSoftmax", out=out, input=call.tensor(3.0), dim=-1) == SUCCESS
    assert call.array(out) == 1.0


def test_wrong_dimension_is_an_error(call: Caller) -> None:
    out = call.tensor(np.ones((2, 3)))
    assert call("diopiSoftmax", out=out, input=call.tensor(np.ones((2, 3))), dim=2) == ERROR
    assert call.library.last_error() == "diopiSoftmax: a dimension is outside of the input's"
    assert (call.array(out) == 1).all()


def test_half_precision_is_computed_in_float32(call: Caller) -> None:
    x = np.round(numbers(64, 32) * 16) / 16
    out = call.tensor(np.zeros_like(x), "float16")
    assert call("diopiSoftmax", out=out, input=call.tensor(x, "float16"), dim=1) == SUCCESS
    np.testing.assert_array_equal(call.array(out), softmax(x, 1).astype(np.float16).astype(np.float64))


@pytest.mark.parametrize("affine", [True, False])
def test_layer_norm(call: Caller, affine: bool) -> None:
    x, weight, bias = numbers(2, 3, 4), numbers(3, 4, seed=1), numbers(3, 4, seed=2)
    out, mean, invstd = call.tensor(x), call.tensor(np.zeros((2, 1, 1))), call.tensor(np.zeros((2, 1, 1)))
    arguments = {"weight": call.tensor(weight), "bias": call.tensor(bias)} if affine else {}
    status = call(
        "diopiLayerNorm", out=out, save_mean=mean, save_invstd=invstd, input=call.tensor(x),
        normalized_shape=size_of([3, 4]), eps=1e-3, **arguments,
    )  # fmt: skip
    assert status == SUCCESS
    center = x.mean(axis=(1, 2), keepdims=True)
    inverse = 1 / np.sqrt(x.var(axis=(1, 2), keepdims=True) + 1e-3)
    expected = (x - center) * inverse
    close(call.array(out), expected * weight + bias if affine else expected, 1e-5)
    close(call.array(mean), center)
    close(call.array(invstd), inverse)


def test_rms_norm(call: Caller) -> None:
    x, weight = numbers(2, 3, 4), numbers(4, seed=1)
    out, inverse = call.tensor(x), call.tensor(np.zeros((2, 3, 1)))
    status = call(
        "diopiRMSNorm", out=out, inv_rms=inverse, input=call.tensor(x), normalized_shape=size_of([4]),
        weight=call.tensor(weight), eps=1e-3,
    )  # fmt: skip
    assert status == SUCCESS
    expected = 1 / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-3)
    close(call.array(out), x * expected * weight, 1e-5)
    close(call.array(inverse), expected)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu(call: Caller, approximate: str) -> None:
    x = numbers(50)
    out = call.tensor(x)
    assert call("diopiGelu", out=out, input=call.tensor(x), approximate=call.text(approximate)) == SUCCESS
    exact = 0.5 * x * (1 + erf(x / math.sqrt(2)))
    curve = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    close(call.array(out), curve if approximate == "tanh" else exact, 1e-5)


def test_text_that_the_interface_has_not_is_rejected(call: Caller) -> None:
    out = call.tensor(np.ones(3))
    arguments = {"out": out, "input": call.tensor(np.ones(3))}
    assert call("diopiGelu", **arguments, approximate=call.text("erf")) == ERROR
    assert call.library.last_error() == "diopiGelu: parameter 'approximate' is 'erf', which is none of its texts"
    assert call("diopiGelu", **arguments) == ERROR
    assert call.library.last_error() == "diopiGelu: parameter 'approximate' is null"


def wrapped(values: Array, dtype: str) -> Array:
    """Integers as a narrow dtype keeps them."""
    return values.astype(np.int64).astype(dtype).astype(np.float64)


def test_integers_are_computed_in_the_dtype_that_they_are_promoted_to(call: Caller) -> None:
    a, b, c = np.array([200.0, 7.0, 255.0]), np.array([100.0, 3.0, 2.0]), np.array([3.0, 5.0, 200.0])
    out = call.tensor(np.zeros(3))
    operands = {
        "input": call.tensor(a, "uint8"),
        "tensor1": call.tensor(b, "uint8"),
        "tensor2": call.tensor(c, "uint8"),
    }
    assert call("diopiAddcmul", out=out, **operands, value=call.scalar(1.0)) == SUCCESS, call.library.last_error()
    np.testing.assert_array_equal(call.array(out), wrapped(a + b * c, "uint8"))
    # A bound that the input's dtype does not hold is a bound all the same.
    clamped = call.tensor(np.array([3.0, 100.0, 250.0]), "uint8")
    bounds = {"min": call.tensor(np.array(-5.0), "int64"), "max": call.tensor(np.array([300.0, 300.0, 40.0]), "int16")}
    assert call("diopiClampInp", input=clamped, **bounds) == SUCCESS, call.library.last_error()
    np.testing.assert_array_equal(call.array(clamped), [3.0, 100.0, 40.0])


def test_result_of_a_higher_category_is_rejected(call: Caller) -> None:
    x = call.tensor(np.ones(3), "int32")
    floating = call.tensor(np.ones(3))
    rest = {"tensor1": floating, "tensor2": floating, "value": call.scalar(1.0)}
    assert call("diopiAddcmulInp", input=x, **rest) == DTYPE_NOT_SUPPORTED
    expected = "diopiAddcmulInp: the output cannot hold what the inputs are promoted to"
    assert call.library.last_error() == expected


def test_integers_drop_the_fraction_of_a_number(call: Caller) -> None:
    x = call.tensor(np.array([1.0, 2.0, -3.0]), "int32")
    operands = {"tensor1": x, "tensor2": x, "value": call.scalar(-1.75)}
    assert call("diopiAddcmulInp", input=x, **operands) == SUCCESS, call.library.last_error()
    np.testing.assert_array_equal(call.array(x), [0.0, -2.0, -12.0])


def test_failure_of_any_call_leaves_the_outputs_alone(call: Caller) -> None:
    """Every call that a composite makes of the host fails once."""
    x = numbers(2, 3, 4)
    failures = 0
    for name in ("diopiLayerNorm", "diopiRMSNorm", "diopiLogSoftmax", "diopiStd"):
        statistics = (2, 3, 1)
        step = 0
        while True:
            step += 1
            out = call.tensor(np.full(x.shape if name != "diopiStd" else statistics, 7.0))
            others = [call.tensor(np.full(statistics, 7.0)) for _ in range(2)]
            arguments: dict[str, Any] = {"out": out, "input": call.tensor(x), "eps": 1e-3}
            if name in ("diopiLayerNorm", "diopiRMSNorm"):
                arguments["normalized_shape"] = size_of([4])
                arguments |= {"save_mean": others[0], "save_invstd": others[1], "inv_rms": others[0]}
                function = call.interface.function(name)
                assert function is not None
                arguments = {key: value for key, value in arguments.items() if function.param(key) is not None}
                arguments |= {"weight": call.tensor(np.ones(4))} if name == "diopiRMSNorm" else {}
            elif name == "diopiStd":
                arguments = {"out": out, "input": arguments["input"], "dim": size_of([2])}
            else:
                arguments = {"out": out, "input": arguments["input"], "dim": 1}
            call.library.vendor.mock_reset()
            call.library.vendor.mock_fail_at(ctypes.c_int64(step))
            status = call(name, leaks=True, **arguments)
            failed = call.library.vendor.mock_failed().decode()
            call.library.vendor.mock_fail_at(ctypes.c_int64(0))
            if not failed:
                assert status == SUCCESS
                break
            if failed == "diopiHostReleaseTemporary":
                continue  # the result has been handed over
            failures += 1
            if status == SUCCESS:  # a shim asked whether a tensor fits, and went the long way then
                assert failed.startswith("diopiGetTensor") and not (call.array(out) == 7).any()
                continue
            assert status == ERROR and failed in call.library.last_error(), (name, step, failed)
            for tensor in (out, *others):
                assert (call.array(tensor) == 7).all(), (name, step, failed)
    assert failures > 60


def test_silu(call: Caller) -> None:
    x = numbers(50)
    out, inplace = call.tensor(x), call.tensor(x)
    assert call("diopiSilu", out=out, input=call.tensor(x)) == SUCCESS
    assert call("diopiSiluInp", input=inplace) == SUCCESS
    close(call.array(out), x * sigmoid(x))
    close(call.array(inplace), x * sigmoid(x))


@pytest.mark.parametrize(("name", "combine"), [("diopiAddcmul", np.multiply), ("diopiAddcdiv", np.divide)])
def test_addc(call: Caller, name: str, combine: Any) -> None:
    x, a, b = numbers(3, 4), numbers(4, seed=1), numbers(3, 1, seed=2)
    expected = x + 0.5 * combine(a, b)
    out, inplace = call.tensor(x), call.tensor(x)
    rest = {"tensor1": call.tensor(a), "tensor2": call.tensor(b), "value": call.scalar(0.5)}
    assert call(name, out=out, input=call.tensor(x), **rest) == SUCCESS
    assert call(f"{name}Inp", input=inplace, **rest) == SUCCESS
    close(call.array(out), expected, 1e-5)
    close(call.array(inplace), expected, 1e-5)


@pytest.mark.parametrize("weight", [0.25, 0.75])
def test_lerp(call: Caller, weight: float) -> None:
    x, end = numbers(3, 4), numbers(3, 4, seed=1)
    first, second = call.tensor(x), call.tensor(x)
    common = {"input": call.tensor(x), "end": call.tensor(end)}
    assert call("diopiLerpScalar", out=first, weight=call.scalar(weight), **common) == SUCCESS
    assert call("diopiLerpTensor", out=second, weight=call.tensor(np.full((3, 4), weight)), **common) == SUCCESS
    close(call.array(first), x + weight * (end - x), 1e-5)
    close(call.array(second), x + weight * (end - x), 1e-5)


def test_clamp_without_bounds_is_an_error(call: Caller) -> None:
    x = call.tensor(numbers(3))
    assert call("diopiClampInp", input=x) == ERROR
    assert call.library.last_error() == "diopiClampInp: C1: min and max are not both null"


@pytest.mark.parametrize(("low", "high"), [(None, 1.5), (-1.0, None), (-1.0, 1.5)])
def test_clamp(call: Caller, low: float | None, high: float | None) -> None:
    x = numbers(3, 4)
    expected = np.minimum(np.maximum(x, -np.inf if low is None else low), np.inf if high is None else high)
    out, by_tensor = call.tensor(x), call.tensor(x)
    scalars = {key: call.scalar(value) for key, value in (("min", low), ("max", high)) if value is not None}
    tensors = {key: call.tensor(value) for key, value in (("min", low), ("max", high)) if value is not None}
    assert call("diopiClampScalar", out=out, input=call.tensor(x), **scalars) == SUCCESS
    assert call("diopiClamp", out=by_tensor, input=call.tensor(x), **tensors) == SUCCESS
    close(call.array(out), expected)
    close(call.array(by_tensor), expected)


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("dims", [[], [1], [0, -1]])
def test_mean_and_deviation(call: Caller, dims: list[int], keeps: bool) -> None:
    x = numbers(3, 4, 5)
    axis = tuple(dims) or None
    shape = x.mean(axis=axis, keepdims=keeps).shape
    mean, deviation = call.tensor(np.zeros(shape)), call.tensor(np.zeros(shape))
    assert call("diopiMean", out=mean, input=call.tensor(x), dim=size_of(dims)) == SUCCESS
    assert call("diopiStd", out=deviation, input=call.tensor(x), dim=size_of(dims), correction=None) == SUCCESS
    close(call.array(mean), x.mean(axis=axis, keepdims=keeps))
    close(call.array(deviation), x.std(axis=axis, ddof=1, keepdims=keeps))


@pytest.mark.parametrize(("dtype", "real"), [("complex64", "float32"), ("complex128", "float64")])
@pytest.mark.parametrize("dims", [[], [1], [0, -1]])
def test_deviation_of_complex_numbers_is_real(call: Caller, dtype: str, real: str, dims: list[int]) -> None:
    x = np.round(numbers(3, 4, 5) * 8) / 8
    source = call.complex_tensor(x + 1j * np.round(numbers(3, 4, 5, seed=1) * 8) / 8, dtype)
    values = np.array(call.library.values(source)).reshape(3, 4, 5)
    assert np.abs(values.imag).max() > 1
    axis = tuple(dims) or None
    expected = values.std(axis=axis, ddof=0)
    out = call.tensor(np.zeros(expected.shape), real)
    status = call("diopiStd", out=out, input=source, dim=size_of(dims), correction=call.scalar(0.0))
    assert status == SUCCESS, call.library.last_error()
    close(call.array(out), expected, 1e-5)


def test_output_of_another_shape_is_an_error(call: Caller) -> None:
    x = numbers(3, 4)
    for name, shape in (("diopiMean", (4,)), ("diopiSoftmax", (4,)), ("diopiSilu", (3, 1))):
        out = call.tensor(np.ones(shape))
        arguments = {"dim": size_of([1]) if name == "diopiMean" else 1} if name != "diopiSilu" else {}
        assert call(name, out=out, input=call.tensor(x), **arguments) == ERROR
        assert call.library.last_error() == f"{name}: an output does not have the shape of the result"
        assert (call.array(out) == 1).all()


@pytest.mark.parametrize(("beta", "alpha"), [(1.0, 1.0), (0.5, 2.0), (0.0, 1.0)])
def test_matrices(call: Caller, beta: float, alpha: float) -> None:
    base = np.full((2,), np.nan) if beta == 0 else numbers(2)
    a, b = numbers(2, 3, 4, seed=1), numbers(2, 4, 2, seed=2)
    expected = (0 if beta == 0 else beta * base) + alpha * (a @ b)
    out = call.tensor(np.zeros((2, 3, 2)))
    arguments = {"batch1": call.tensor(a), "batch2": call.tensor(b), "beta": beta, "alpha": alpha}
    assert call("diopiBaddbmm", out=out, input=call.tensor(base), **arguments) == SUCCESS
    close(call.array(out), expected, 1e-5)
    single = call.tensor(np.zeros((3, 2)))
    status = call(
        "diopiAddmm", out=single, input=call.tensor(base), mat1=call.tensor(a[0]), mat2=call.tensor(b[0]),
        beta=call.scalar(beta), alpha=call.scalar(alpha),
    )  # fmt: skip
    assert status == SUCCESS
    close(call.array(single), expected[0], 1e-5)


def test_linear(call: Caller) -> None:
    x, weight, bias = numbers(2, 3, 4), numbers(5, 4, seed=1), numbers(5, seed=2)
    out = call.tensor(np.zeros((2, 3, 5)))
    rest = {"input": call.tensor(x), "weight": call.tensor(weight)}
    assert call("diopiLinear", out=out, bias=call.tensor(bias), **rest) == SUCCESS
    close(call.array(out), x @ weight.T + bias, 1e-5)
    assert call("diopiLinear", out=out, **rest) == SUCCESS
    close(call.array(out), x @ weight.T, 1e-5)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("by_index", [False, True])
def test_cross_entropy(call: Caller, reduction: int, smoothing: float, weighted: bool, by_index: bool) -> None:
    x = numbers(3, 4, 2)
    logs = np.log(softmax(x, 1))
    weight = np.array([0.5, 1.0, 2.0, 1.5]) if weighted else np.ones(4)
    factors = weight[None, :, None]
    if by_index:
        target = np.array([[0, 3], [2, 1], [1, 1]])
        counts = target != 1
        selected = np.eye(4)[target].transpose(0, 2, 1)
        fractions = ((1 - smoothing) * selected + smoothing / 4) * counts[:, None, :]
        loss = -(fractions * logs * factors).sum(axis=1)
        divisor = (weight[target] * counts).sum()
    else:
        target = softmax(numbers(3, 4, 2, seed=5), 1)
        loss = -((target * (1 - smoothing) + smoothing / 4) * logs * factors).sum(axis=1)
        divisor = 6
    expected = {0: loss, 1: loss.sum() / divisor, 2: loss.sum()}[reduction]
    out = call.tensor(np.zeros(np.shape(expected)))
    status = call(
        "diopiCrossEntropyLoss", out=out, input=call.tensor(x),
        target=call.tensor(target, "int64" if by_index else "float32"), reduction=reduction,
        weight=call.tensor(weight) if weighted else None, ignore_index=1 if by_index else -100,
        label_smoothing=smoothing,
    )  # fmt: skip
    assert status == SUCCESS, call.library.last_error()
    close(call.array(out), expected, 1e-5)


def test_missing_primitive_is_named(interface: Interface) -> None:
    call = Caller(built_shims("no_primitives"), interface)
    x = call.tensor(np.ones(3))
    assert call("diopiSilu", out=x, input=x) == NO_IMPLEMENT
    expected = "diopiSilu: its composite needs diopiSigmoid, which the vendor lacks"
    assert call.library.last_error() == expected
