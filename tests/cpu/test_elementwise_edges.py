"""Number semantics at the edges, aliasing, and what is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from cpu_library import BFLOAT16, DTYPE_NOT_SUPPORTED, ERROR_OCCURRED, CpuLibrary

NAN, INFINITY = float("nan"), float("inf")


def test_integers_wrap(cpu: CpuLibrary) -> None:
    for dtype, a, b, total, product in (
        (np.uint8, 200, 100, 44, 32), (np.int8, 100, 100, -56, 16), (np.int32, 2**31 - 1, 2, -(2**31) + 1, -2),
        (np.int64, 2**63 - 1, 2, -(2**63) + 1, -2), (np.int16, 32767, 32767, -2, 1),
    ):  # fmt: skip
        out = np.zeros(1, dtype)
        cpu.call("diopiAdd", out, np.array([a], dtype), np.array([b], dtype), 1)
        assert out[0] == total
        cpu.call("diopiMul", out, np.array([a], dtype), np.array([b], dtype))
        assert out[0] == product
    widened = np.zeros(1, np.float32)
    cpu.call("diopiMul", widened, np.array([16], np.uint8), np.array([17], np.uint8))
    assert widened[0] == 16, "the product wraps in uint8 before it is cast"


def test_int64_is_not_computed_in_floats(cpu: CpuLibrary) -> None:
    a = np.array([2**53 + 1, -(2**62) - 1], np.int64)
    out = np.zeros(2, np.int64)
    cpu.call("diopiAdd", out, a, np.array([0, 2], np.int64), 1)
    assert out.tolist() == [2**53 + 1, -(2**62) + 1]


def test_integer_division(cpu: CpuLibrary) -> None:
    a = np.array([7, -7, 7, -7, -(2**31)], np.int32)
    b = np.array([2, 2, -2, -2, -1], np.int32)
    out = np.zeros(5, np.int32)
    for mode, expected in ((2, [3, -4, -4, 3, -(2**31)]), (1, [3, -3, -3, 3, -(2**31)])):
        cpu.call("diopiDiv", out, a, b, mode)
        assert out.tolist() == expected
    cpu.call("diopiRemainderTensor", out, a, b)
    assert out.tolist() == [1, 1, -1, -1, 0]
    quotient = np.zeros(5, np.float32)
    cpu.call("diopiDiv", quotient, a, b, 0)
    np.testing.assert_array_equal(quotient, (a / b).astype(np.float32))
    before = out.copy()
    status, text = cpu.status("diopiRemainderTensor", out, a, np.array([1, 0, 1, 1, 1], np.int32))
    assert status == ERROR_OCCURRED and "other holds no zero" in text
    np.testing.assert_array_equal(out, before)


def test_floor_division_of_floats(cpu: CpuLibrary) -> None:
    a = np.array([1.0, -1.0, 5.5, 0.0, 1.0, -7.0], np.float64)
    b = np.array([0.1, 0.1, -2.0, 3.0, 0.0, 7.0], np.float64)
    out = np.zeros(6)
    cpu.call("diopiDiv", out, a, b, 2)
    assert out.tolist() == [9.0, -10.0, -3.0, 0.0, INFINITY, -1.0]


def test_nan_and_infinity(cpu: CpuLibrary) -> None:
    a = np.array([NAN, 1, NAN, INFINITY, -INFINITY], np.float32)
    b = np.array([1, NAN, NAN, 2, 2], np.float32)
    out = np.zeros(5, np.float32)
    cpu.call("diopiMaximum", out, a, b)
    np.testing.assert_array_equal(out, np.array([NAN, NAN, NAN, INFINITY, 2], np.float32))
    cpu.call("diopiMinimum", out, a, b)
    np.testing.assert_array_equal(out, np.array([NAN, NAN, NAN, 2, -INFINITY], np.float32))
    cpu.call("diopiRelu", out, a)
    np.testing.assert_array_equal(out, np.array([NAN, 1, NAN, INFINITY, 0], np.float32))
    cpu.call("diopiSigmoid", out, np.array([1000, -1000, NAN, INFINITY, -INFINITY], np.float32))
    np.testing.assert_array_equal(out, np.array([1, 0, NAN, 1, 0], np.float32))
    cpu.call("diopiErfinv", out, np.array([1, -1, 2, 0, 0.5], np.float32))
    np.testing.assert_allclose(out, [INFINITY, -INFINITY, NAN, 0, 0.476936276], rtol=1e-6)


@pytest.mark.parametrize(
    "value", [1e-4, 0.99999, 1 - 1e-12, -0.3, 0.8427007929497149], ids=lambda value: f"{value:.12g}"
)
def test_erfinv_inverts_erf(cpu: CpuLibrary, value: float) -> None:
    out = np.zeros(1)
    cpu.call("diopiErfinv", out, np.array([value]))
    cpu.call("diopiErf", out, out.copy())
    assert abs(out[0] - value) <= 4e-16


def test_integer_powers(cpu: CpuLibrary) -> None:
    out = np.zeros(5, np.int32)
    base = np.array([2, -1, 1, 3, 7], np.int32)
    cpu.call("diopiPowTensor", out, base, np.array([-1, -3, -2, 4, 40], np.int32))
    assert out.tolist() == [0, -1, 1, 81, (7**40 + 2**31) % 2**32 - 2**31]


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_all_halves_convert_as_numpy_does(cpu: CpuLibrary, dtype: Any) -> None:
    every = np.arange(65536, dtype=np.uint16).view(dtype)
    widened = np.zeros(65536, np.float32)
    cpu.call("diopiCastDtype", widened, every)
    np.testing.assert_array_equal(widened, every.astype(np.float32))
    # All values, half-way points, and neighbours of both.
    finite = np.sort(widened[np.isfinite(widened)])
    middle = (finite[1:].astype(np.float64) + finite[:-1]) / 2
    values = np.concatenate([finite, middle, np.nextafter(middle.astype(np.float32), np.float32(INFINITY))])
    values = np.concatenate([values, [65519.9, 65520, -1e9, INFINITY, NAN, 1e-46]]).astype(np.float32)
    narrowed = np.zeros(values.size, dtype)
    cpu.call("diopiCastDtype", narrowed, values)
    with np.errstate(over="ignore"):
        expected = values.astype(dtype)
    np.testing.assert_array_equal(narrowed.astype(np.float32), expected.astype(np.float32))


def test_half_operands_round_once_before_a_wider_output(cpu: CpuLibrary) -> None:
    out = np.zeros(1, np.float32)
    cpu.call("diopiAdd", out, np.array([2048], np.float16), np.array([1], np.float16), 1)
    assert out[0] == 2048
    out = np.zeros((1,), BFLOAT16)
    cpu.call("diopiAdd", out, np.array([256], BFLOAT16), np.array([1.0078125], BFLOAT16), 1)
    assert out[0] == 258


def test_casts_from_floats_are_defined(cpu: CpuLibrary) -> None:
    values = np.array([1.9, -1.9, NAN, 1e30, -1e30, 300], np.float64)
    for dtype, expected in (
        (np.int64, [1, -1, 0, 2**63 - 1, -(2**63), 300]), (np.uint8, [1, 255, 0, 255, 0, 44]),
        (bool, [True] * 6), (np.int32, [1, -1, 0, -1, 0, 300]),
    ):  # fmt: skip
        out = np.zeros(6, dtype)
        cpu.call("diopiCastDtype", out, values)
        assert out.tolist() == expected


def test_promotion_of_scalars_and_0d_tensors(cpu: CpuLibrary) -> None:
    integral = np.array([1, 2], np.int32)
    out = np.zeros(2, np.float32)
    cpu.call("diopiMulScalar", out, integral, 0.5)
    assert out.tolist() == [0.5, 1.0]
    # A 0-d float64 does not widen float32, nor a 0-d int64 an int8.
    third = np.zeros(2, np.float64)
    cpu.call("diopiAdd", third, np.array([0.1, 0.2], np.float32), np.array(0.3), 1)
    assert third.tolist() == [float(np.float32(0.1) + np.float32(0.3)), float(np.float32(0.2) + np.float32(0.3))]
    narrow = np.zeros(1, np.int64)
    cpu.call("diopiAdd", narrow, np.array([100], np.int8), np.array(100, np.int64), 1)
    assert narrow[0] == -56


def test_exact_aliases_are_computed_in_place(cpu: CpuLibrary) -> None:
    a = np.arange(3000, dtype=np.float32)
    cpu.call("diopiAdd", a, a, a, 2)
    np.testing.assert_array_equal(a, np.arange(3000, dtype=np.float32) * 3)


def test_overlaps_are_rejected(cpu: CpuLibrary) -> None:
    storage = np.arange(20, dtype=np.float32)
    before = storage.copy()
    for out, operand in (
        (storage[1:11], storage[0:10]), (storage[0:10], storage[0:20:2]),
        (np.broadcast_to(storage[:1], (10,)), np.ones(10, np.float32)),
    ):  # fmt: skip
        status, text = cpu.status("diopiNeg", out, operand)
        assert status == ERROR_OCCURRED
        assert "share" in text and "'out'" in text
        np.testing.assert_array_equal(storage, before)
    cpu.call("diopiNeg", storage[0::2], storage[1::2])
    np.testing.assert_array_equal(storage[0::2], -before[1::2])


def test_refusals_name_operator_and_parameter(cpu: CpuLibrary) -> None:
    f = np.ones((2, 3), np.float32)
    for name, arguments, status, text in (
        ("diopiAdd", (f, None, f, 1), ERROR_OCCURRED, "diopiAdd: 'input' must not be null"),
        ("diopiAdd", (f, f, f, None), ERROR_OCCURRED, "diopiAdd: 'alpha' must not be null"),
        (
            "diopiMul", (f, f, np.ones(2, np.float32)), ERROR_OCCURRED,
            "diopiMul: 'out' cannot have the shape of its operands: they do not broadcast "
                "(input=float32[2, 3], other=float32[2])",
        ),
        (
            "diopiMul", (np.ones(3, np.float32), f, f), ERROR_OCCURRED,
            "diopiMul: 'out' is float32[3] and must have the shape [2, 3] (input=float32[2, 3], other=float32[2, 3])",
        ),
        (
            "diopiFloor", (np.ones(2, bool), np.ones(2, bool)), DTYPE_NOT_SUPPORTED,
            "diopiFloor: 'input' is bool; possible are int8, uint8, int16, int32, int64, float16, float32, float64, "
                "bfloat16",
        ),
        (
            "diopiRelu", (np.ones((2, 3)), f), DTYPE_NOT_SUPPORTED,
            "diopiRelu: 'out' is float64 and must be float32 (input=float32[2, 3])",
        ),
        (
            "diopiMulInp", (np.ones((2, 3), np.int32), f), DTYPE_NOT_SUPPORTED,
            "diopiMulInp: C1: promote(input, other) is of no higher category than input (bool, integral, "
            "floating, complex) "
            "(input=int32[2, 3], other=float32[2, 3])",
        ),
        (
            "diopiGelu", (f.copy(), f, "sharp"), ERROR_OCCURRED,
            "diopiGelu: 'approximate' is 'sharp'; possible are 'none', 'tanh'",
        ),
        (
            "diopiHardtanh", (np.ones(2, np.int8), np.ones(2, np.int8), -200, 1), ERROR_OCCURRED,
            "diopiHardtanh: C3: min_val and max_val without their fractions are in the range of an integral input "
            "(input=int8[2], min_val=-200, max_val=1)",
        ),
    ):  # fmt: skip
        assert cpu.status(name, *arguments) == (status, text)


def test_devices_must_agree(cpu: CpuLibrary) -> None:
    f = np.ones(3, np.float32)
    status, text = cpu.status("diopiMul", f.copy(), f, f.copy(), devices={"other": 0})
    assert (status, text) == (ERROR_OCCURRED, "diopiMul: 'other' is on the host, other tensors are on the device")
