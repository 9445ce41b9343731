"""Values of elementwise operators over dtypes and layouts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cpu_library import BFLOAT16, DTYPES, CpuLibrary
from oracles import ABOVE_ONE, BINARY, INSIDE_ONE, POSITIVE, UNARY

from diopigen.emit.cpu.kernels import allowed

Array = np.ndarray[Any, Any]
EPSILON = {
    np.dtype("float16"): 2.0**-10, BFLOAT16: 2.0**-7, np.dtype("float32"): 2.0**-23, np.dtype("float64"): 2.0**-52,
    np.dtype("complex64"): 2.0**-23, np.dtype("complex128"): 2.0**-52,
}  # fmt: skip
BY_NAME = {dtype.name: dtype for dtype in DTYPES}
LAYOUTS = ("contiguous", "transposed", "every other", "expanded", "empty", "0-d", "several blocks")


def arranged(array: Array, layout: str, generator: np.random.Generator) -> Array:
    """A tensor of a layout, with values drawn from those of `array`."""
    pick = lambda *shape: array[generator.integers(0, array.size, shape)]  # noqa: E731
    if layout == "transposed":
        return pick(5, 7).T
    if layout == "every other":
        return pick(6, 9)[::2, 1::3]
    if layout == "expanded":
        return np.broadcast_to(pick(4, 1), (4, 6))
    shapes = {"contiguous": (3, 4), "empty": (0, 3), "0-d": (), "several blocks": (3, 1111)}
    return np.asarray(pick(*shapes[layout]))


def samples(dtype: np.dtype[Any], operator: str, generator: np.random.Generator) -> Array:
    """Values in the operator's domain."""
    values = generator.normal(0, 2, 200)
    if operator in POSITIVE:
        values = np.abs(values) + 0.1
    if operator in INSIDE_ONE:
        values = np.tanh(values) * 0.95
    if operator in ABOVE_ONE:
        values = np.abs(values) + 1
    if dtype == np.bool_:
        return generator.integers(0, 2, 200).astype(bool)
    if dtype.kind in "iu":
        whole = generator.integers(0, 5, 200) if dtype.kind == "u" else np.trunc(values)
        return whole.astype(dtype)
    if dtype.kind == "c":
        return (values + 1j * generator.normal(0, 1, 200)).astype(dtype)
    return values.astype(dtype)


def wide(array: Array, *, floated: bool) -> Array:
    """The operand as the oracle takes it."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    if array.dtype in EPSILON:
        return array.astype(np.float64)
    return array.astype(np.float64) if floated else array


def assert_close(actual: Array, expected: Array, what: str, slack: float = 8) -> None:
    """Floating results within `slack` epsilons of the dtype; others equal."""
    if actual.dtype not in EPSILON:
        np.testing.assert_array_equal(actual, expected.astype(actual.dtype), what)
        return
    exact = actual.astype(np.complex128 if actual.dtype.kind == "c" else np.float64)
    rounded = expected.astype(actual.dtype).astype(exact.dtype)
    tolerance = slack * EPSILON[actual.dtype]
    np.testing.assert_allclose(exact, rounded, rtol=tolerance, atol=tolerance * 1e-2, err_msg=what)


def out_dtype(cpu: CpuLibrary, name: str, operand: np.dtype[Any], floated: bool) -> np.dtype[Any]:
    """The dtype of the output by the operator's rule."""
    output = cpu.functions[name].params[0]
    text = getattr(getattr(output.dtype, "formula", None), "text", "")
    if "bool" in getattr(output.dtype, "names", ()):
        return np.dtype(bool)
    if "to_real" in text and operand.kind == "c":
        return np.dtype("float32") if operand.itemsize == 8 else np.dtype("float64")
    return np.dtype("float32") if floated and operand not in EPSILON else operand


@pytest.mark.parametrize("operator", sorted(UNARY))
def test_unary(cpu: CpuLibrary, operator: str) -> None:
    name = f"diopi{operator}"
    function = cpu.functions[name]
    floated = "to_float" in getattr(getattr(function.params[0].dtype, "formula", None), "text", "")
    generator = np.random.default_rng(7)
    for word in allowed(function, function.params[1]):
        dtype = BY_NAME[word]
        if operator in POSITIVE | INSIDE_ONE | ABOVE_ONE | {"Reciprocal"} and dtype.kind in "iub":
            continue
        values = samples(dtype, operator, generator)
        for layout in LAYOUTS:
            array = arranged(values, layout, generator)
            expected = np.asarray(UNARY[operator](wide(array, floated=floated)))
            out = np.full(array.shape, 1, out_dtype(cpu, name, dtype, floated))
            cpu.call(name, out, array)
            slack = 64 if dtype.kind == "c" else 8
            assert_close(out, expected, f"{operator} {word} {layout}", slack)
            inplace = cpu.functions.get(f"{name}Inp")
            if inplace is not None and word in allowed(inplace, inplace.params[0]) and layout != "expanded":
                own = np.array(array, copy=True, order="K")
                cpu.call(f"{name}Inp", own)
                assert_close(own, expected, f"{operator}Inp {word} {layout}", slack)


@pytest.mark.parametrize("operator", sorted(BINARY))
def test_binary(cpu: CpuLibrary, operator: str) -> None:
    name = f"diopi{operator}"
    function = cpu.functions[name]
    generator = np.random.default_rng(11)
    for word in allowed(function, function.params[1]):
        dtype = BY_NAME[word]
        left = samples(dtype, operator, generator)
        right = samples(dtype, operator, generator)
        if operator == "RemainderTensor":
            right = np.where(right == 0, np.asarray(1, dtype), right).astype(dtype)
        for layout in LAYOUTS:
            a = arranged(left, layout, generator)
            b = arranged(right, layout, generator)
            expected = np.asarray(BINARY[operator](wide(a, floated=False), wide(b, floated=False)))
            out = np.zeros(a.shape, out_dtype(cpu, name, dtype, False))
            cpu.call(name, out, a, b)
            assert_close(out, expected, f"{operator} {word} {layout}", 64 if dtype.kind == "c" else 8)


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
    whole = np.full((2, 5, 4, 6), -7, np.float32)
    channels_last = np.moveaxis(whole[..., ::2], 3, 1)
    cpu.call("diopiMul", channels_last, a, a)
    np.testing.assert_array_equal(channels_last, a * a)
    assert (whole[..., 1::2] == -7).all()


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
    inputs = [np.ones((2, 3), np.float32), np.arange(4, dtype=np.float64)]
    outs = [np.zeros((2, 3), np.float32), np.zeros(4, np.float64)]
    cpu.call("diopiForeachmulScalar", outs, inputs, 2, 2.5)
    np.testing.assert_array_equal(outs[0], inputs[0] * 2.5)
    np.testing.assert_array_equal(outs[1], inputs[1] * 2.5)
