"""Values of operators that the suite draws less of: broadcasting in both operands, masks, creation, lists. Elementwise
operators over dtypes and layouts are the suite's (`plain` to `special` of its axes)."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cpu_library import BFLOAT16, CallFailed, CpuLibrary

Array = np.ndarray[Any, Any]
EPSILON = {
    np.dtype("float16"): 2.0**-10, BFLOAT16: 2.0**-7, np.dtype("float32"): 2.0**-23, np.dtype("float64"): 2.0**-52,
    np.dtype("complex64"): 2.0**-23, np.dtype("complex128"): 2.0**-52,
}  # fmt: skip


def assert_close(actual: Array, expected: Array, what: str, slack: float = 8) -> None:
    """Floating results within `slack` epsilons of the dtype; others equal."""
    if actual.dtype not in EPSILON:
        np.testing.assert_array_equal(actual, expected.astype(actual.dtype), what)
        return
    exact = actual.astype(np.complex128 if actual.dtype.kind == "c" else np.float64)
    rounded = expected.astype(actual.dtype).astype(exact.dtype)
    tolerance = slack * EPSILON[actual.dtype]
    np.testing.assert_allclose(exact, rounded, rtol=tolerance, atol=tolerance * 1e-2, err_msg=what)


@pytest.mark.parametrize("other", [[3, 4], [4], [3, 1], [1], []])
def test_operands_are_broadcast(cpu: CpuLibrary, other: list[int]) -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    b = np.asarray(np.arange(np.prod(other, dtype=int), dtype=np.float32).reshape(other) - 1)
    out = np.zeros((3, 4), np.float32)
    cpu.call("diopiAdd", out, a, b, 3)
    np.testing.assert_array_equal(out, a + 3 * b)
    out = np.zeros((2, 3, 4), np.float32)
    cpu.call("diopiSub", out, np.broadcast_to(b, (2, 3, 4)), np.stack([a, -a]), 2)
    np.testing.assert_array_equal(out, b - 2 * np.stack([a, -a]))


def test_output_keeps_its_strides(cpu: CpuLibrary) -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 5, 4)).astype(np.float32)
    full = np.full((2, 5, 4, 6), -7, np.float32)
    channels_last = np.moveaxis(full[..., ::2], 3, 1)
    cpu.call("diopiMul", channels_last, a, a)
    np.testing.assert_array_equal(channels_last, a * a)
    assert (full[..., 1::2] == -7).all()


@pytest.mark.parametrize("shape", [[], [1], [3]])
def test_nothing_is_divided_by_zero(cpu: CpuLibrary, shape: list[int]) -> None:
    """A divisor of integers may be zero where the result has no elements."""
    out, empty, zeros = np.zeros((0, 3), np.int32), np.zeros((0, 1), np.int32), np.zeros(shape, np.int32)
    cpu.call("diopiRemainderTensor", out, np.broadcast_to(empty, (0, 3)), zeros)
    cpu.call("diopiDiv", out, np.broadcast_to(empty, (0, 3)), zeros, 2)
    cpu.call("diopiRemainderScalar", out, out.copy(), 0)
    cpu.call("diopiDivScalar", out, out.copy(), 0, 1)
    with pytest.raises(CallFailed, match="other holds no zero"):
        cpu.call("diopiRemainderTensor", np.zeros((2, 3), np.int32), np.ones((2, 3), np.int32), zeros)


def test_three_operands_and_masks(cpu: CpuLibrary) -> None:
    generator = np.random.default_rng(3)
    a, b, c = (generator.normal(size=(3, 5)).astype(np.float32) for _ in range(3))
    mask = generator.integers(0, 2, (3, 1)).astype(bool)
    out = np.zeros((3, 5), np.float32)
    cpu.call("diopiAddcmul", out, a, b, c, 0.5)
    np.testing.assert_allclose(out, a + np.float32(0.5) * b * c, rtol=1e-6)
    cpu.call("diopiAddcdiv", out, a, b, c, 2)
    np.testing.assert_allclose(out, a + 2 * (b / c), rtol=1e-6)
    cpu.call("diopiWhere", out, mask, a, b)
    np.testing.assert_array_equal(out, np.where(mask, a, b))
    cpu.call("diopiWhere", out, mask.astype(np.uint8) * 5, a, b)
    np.testing.assert_array_equal(out, np.where(mask, a, b))
    cpu.call("diopiMaskedFillScalar", out, a, mask, -2.5)
    np.testing.assert_array_equal(out, np.where(mask, np.float32(-2.5), a))
    cpu.call("diopiClamp", out, a, np.array(-0.5, np.float32), None)
    np.testing.assert_array_equal(out, np.maximum(a, -0.5))
    cpu.call("diopiClampScalar", out, a, None, 0.25)
    np.testing.assert_array_equal(out, np.minimum(a, 0.25))
    cpu.call("diopiLerpScalar", out, a, b, 0.75)
    np.testing.assert_allclose(out, a + np.float32(0.75) * (b - a), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
def test_adam(cpu: CpuLibrary, dtype: Any) -> None:
    generator = np.random.default_rng(5)
    param, grad, first = (generator.normal(size=37).astype(dtype) for _ in range(3))
    second = np.abs(generator.normal(size=37)).astype(dtype)
    p, g, m, v = (x.astype(np.float64) for x in (param, grad, first, second))
    beta1, beta2, lr, eps = (float(np.float32(x)) for x in (0.9, 0.99, 0.01, 1e-6))
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    p = p - lr / (1 - beta1**3) * m / (np.sqrt(v) / np.sqrt(1 - beta2**3) + eps)
    cpu.call("diopiAdam", param, grad, first, second, None, 0.01, 0.9, 0.99, 1e-6, 0, 3, False)
    for actual, expected in ((param, p), (first, m), (second, v)):
        assert_close(actual, expected, "Adam", 16)


def test_creation(cpu: CpuLibrary) -> None:
    out = np.zeros(2500, np.int64)
    cpu.call("diopiArange", out, -7, -7 + 3 * 2500, 3)
    np.testing.assert_array_equal(out, np.arange(-7, 7493, 3))
    out = np.zeros(11, np.float32)
    cpu.call("diopiLinspace", out, 1, 2, 11)
    np.testing.assert_allclose(out, np.linspace(1, 2, 11), rtol=1e-7)
    square = np.arange(30, dtype=np.int32).reshape(5, 6)
    for diagonal in (-2, 0, 3):
        for name, oracle in (("diopiTriu", np.triu), ("diopiTril", np.tril)):
            out = np.zeros((6, 5), np.int32)
            cpu.call(name, out, square.T, diagonal)
            np.testing.assert_array_equal(out, oracle(square.T, diagonal))
    out = np.zeros((2, 3), bool)
    cpu.call("diopiFill", out, 0.234)
    assert out.view(np.uint8).tolist() == [[1] * 3] * 2


def test_lists_of_tensors(cpu: CpuLibrary) -> None:
    inputs: list[Array] = [np.ones((2, 3), np.float32), np.arange(4, dtype=np.float64)]
    outs: list[Array] = [np.zeros((2, 3), np.float32), np.zeros(4, np.float64)]
    cpu.call("diopiForeachmulScalar", outs, inputs, 2, 2.5)
    np.testing.assert_array_equal(outs[0], inputs[0] * 2.5)
    np.testing.assert_array_equal(outs[1], inputs[1] * 2.5)
