"""Transcendental functions are as accurate as the library that they come from says, over the whole range of floats and
wherever an element is in its tensor."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cpu_build import selected
from cpu_library import CpuLibrary

pytestmark = pytest.mark.skipif(
    selected() != "released", reason="vector functions are in the released build only, which `make conformance` tests"
)
Array = np.ndarray[Any, Any]
FUNCTIONS = {
    "diopiExp": np.exp, "diopiExpm1": np.expm1, "diopiLog": np.log, "diopiLog2": np.log2, "diopiLog10": np.log10,
    "diopiLog1p": np.log1p, "diopiSin": np.sin, "diopiCos": np.cos, "diopiTan": np.tan, "diopiAsin": np.arcsin,
    "diopiAcos": np.arccos, "diopiAtan": np.arctan, "diopiSinh": np.sinh, "diopiCosh": np.cosh,
    "diopiTanh": np.tanh, "diopiAsinh": np.arcsinh, "diopiAcosh": np.arccosh, "diopiAtanh": np.arctanh,
}  # fmt: skip
SLEEF, LIBMVEC, GLIBC = 1.01, 4.0, 2.0
"""Units in the last place: what SLEEF and libmvec promise, and the largest error of these functions in the manual of
glibc."""

EDGES = [
    0.0, 88.0, 88.7, 88.72284, 89.0, 89.41, 89.42, 103.9, 127.0, 128.0, 149.0, 709.7, 709.79, 710.4, 745.2, 1.0, 0.5,
    1.8446742e19, 1.84467e19, 1e20, 1e30, 1e37, 1e38, 3e38, 3.4e38, 1e153, 1e154, 1e155, 1e300, 1e307, 1.7e308,
    math.inf, math.nan, 1e-30, 1e-40, 1e-45, 1e-300, 1e-310, 5e-324, math.pi, math.pi / 2, 1e5, 1e10,
]  # fmt: skip


def numbers(dtype: type[np.floating[Any]]) -> Array:
    """Patterns of bits spread over all numbers, and the places where functions change their ways."""
    if dtype is np.float32:
        patterns: Array = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32).view(np.float32)
    else:
        patterns = np.arange(0, 1 << 64, 281474976710597 * 4, dtype=np.uint64).view(np.float64)
    ordinary = np.random.default_rng(3).normal(0, 4, 20_000)
    with np.errstate(over="ignore"):
        edges = np.array([*EDGES, *(-x for x in EDGES)]).astype(dtype)
    near = np.concatenate([np.nextafter(edges, dtype(np.inf)), np.nextafter(edges, dtype(-np.inf))])
    return np.concatenate([patterns, ordinary.astype(dtype), edges, near])


@pytest.fixture(scope="module")
def vector_math(cpu: CpuLibrary) -> str:
    """The library of vector functions, as the version names it."""
    return next((name for name in ("SLEEF", "libmvec") if name in cpu.version()), "scalar math")


@pytest.fixture(scope="module")
def allowed(vector_math: str) -> Callable[[str], float]:
    """Error bound of a function. Where SLEEF overflows on the way, and in the last elements, glibc serves."""
    if vector_math == "SLEEF":
        return lambda name: GLIBC if name in ("diopiSinh", "diopiCosh") else SLEEF
    return lambda name: LIBMVEC if vector_math == "libmvec" else GLIBC


def ulps(found: Array, exact: Array) -> Array:
    """Error of results against exact ones of a wider type, in units of the last place of the exact one."""
    dtype = found.dtype.type
    with np.errstate(all="ignore"):
        nearest = exact.astype(dtype)
        same = (found == nearest) | (np.isnan(found) & np.isnan(nearest))
        finite = np.isfinite(found) & np.isfinite(nearest)
        _, exponent = np.frexp(exact)
        unit = np.ldexp(
            np.longdouble(1),
            np.maximum(exponent - np.finfo(dtype).nmant - 1, np.finfo(dtype).minexp - np.finfo(dtype).nmant),
        )
        distance = np.abs(found.astype(np.longdouble) - exact) / unit
    return np.where(same, 0, np.where(finite, distance, np.inf))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_the_units_that_the_library_promises(
    cpu: CpuLibrary, allowed: Callable[[str], float], name: str, dtype: type[np.floating[Any]]
) -> None:
    x = numbers(dtype)
    out = np.zeros_like(x)
    cpu.call(name, out, x)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name](x.astype(np.longdouble))
    worst = ulps(out, exact)
    at = int(np.argmax(worst))
    assert worst[at] <= allowed(name), f"{name}({x[at]!r}) is {out[at]!r}, {exact[at]!r} expected"


@pytest.mark.parametrize("name", ["diopiExp", "diopiSinh", "diopiLog1p"])
@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 15, 16, 17, 31, 33, 1023, 1025])
def test_every_length(cpu: CpuLibrary, allowed: Callable[[str], float], name: str, count: int) -> None:
    x = np.linspace(-0.9, 89.3, count).astype(np.float32)
    out = np.zeros_like(x)
    cpu.call(name, out, x)
    assert np.max(ulps(out, FUNCTIONS[name](x.astype(np.longdouble)))) <= allowed(name)


def test_the_inverse_of_erf(cpu: CpuLibrary) -> None:
    """Checked by the function that it inverts: a step of Newton in float64 from the result leads to the exact one."""
    x = numbers(np.float32)
    x = np.concatenate([x[np.abs(x) < 1], np.linspace(-1, 1, 4001)[1:-1].astype(np.float32)])
    out = np.zeros_like(x)
    cpu.call("diopiErfinv", out, x)
    y = out.astype(np.float64)
    erf = np.array([math.erf(value) for value in y])
    exact = y - (erf - x.astype(np.float64)) / (2 / math.sqrt(math.pi) * np.exp(-y * y))
    assert np.max(ulps(out, exact.astype(np.longdouble))) <= 1.01
    ends = np.zeros(5, np.float32)
    cpu.call("diopiErfinv", ends, np.array([1, -1, 1.5, np.nan, -0.0], np.float32))
    np.testing.assert_array_equal(ends, np.array([np.inf, -np.inf, np.nan, np.nan, 0], np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_remainder_is_exact(cpu: CpuLibrary, dtype: type[np.floating[Any]]) -> None:
    generator = np.random.default_rng(1)
    bits = np.uint32 if dtype is np.float32 else np.uint64
    samples = [generator.integers(0, np.iinfo(bits).max, 20_000, bits, endpoint=True) for _ in range(2)]
    left, right = (sample.view(dtype) for sample in samples)
    left = np.concatenate(
        [left, generator.normal(0, 1e4, 5000).astype(dtype), np.array([1, -1, 0, 5, np.inf, 3], dtype)]
    )
    right = np.concatenate(
        [right, generator.normal(0, 3, 5000).astype(dtype), np.array([0, 0, 0, np.inf, 2, -np.inf], dtype)]
    )
    out = np.zeros_like(left)
    cpu.call("diopiRemainderTensor", out, left, right)

    def remainder(a: float, b: float) -> float:
        if not math.isfinite(a) or math.isnan(b) or b == 0:
            return math.nan
        rest = math.fmod(a, b)
        return float(dtype(rest) + dtype(b)) if rest != 0 and (rest < 0) != (b < 0) else rest

    with np.errstate(all="ignore"):
        expected = np.array([remainder(float(a), float(b)) for a, b in zip(left, right, strict=True)], dtype)
    np.testing.assert_array_equal(out, expected)


SIMPLE = (2.0, -1.0, 0.5, 0.0, 1.0, 3.0, 4.0, -2.0, -0.5)
"""Exponents without pow (simple_powers.h says how far they may be off)."""


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [*SIMPLE, 2.5, 5.0, -3.0, math.inf, -math.inf, math.nan])
def test_powers_of_one_exponent(
    cpu: CpuLibrary, vector_math: str, exponent: float, dtype: type[np.floating[Any]]
) -> None:
    x = numbers(dtype)
    out = np.zeros_like(x)
    cpu.call("diopiPow", out, x, exponent)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), np.longdouble(exponent))
    worst = ulps(out, exact)
    at = int(np.argmax(worst))
    if exponent in SIMPLE:
        bound = 0.5 if exponent in (2, -1, 0.5, 0, 1) else 1.5 if exponent == -0.5 else 0.51 if x.itemsize == 4 else 2.0
    else:
        bound = LIBMVEC if vector_math == "libmvec" else SLEEF
    assert worst[at] <= bound, f"{x[at]!r} ** {exponent} is {out[at]!r}, {exact[at]!r} expected"
    zeros = exact == 0
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(exact[zeros]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_many_exponents(cpu: CpuLibrary, vector_math: str, dtype: type[np.floating[Any]]) -> None:
    """Every pair of special bases and exponents, and of ordinary ones."""
    special = np.array([0.0, 0.5, 1, 2, 3, 5.5, 1e30, np.inf, 1e-40], dtype)
    special = np.concatenate([special, -special, np.array([np.nan], dtype)])
    generator = np.random.default_rng(2)
    base = np.concatenate([np.repeat(special, special.size), generator.uniform(0, 30, 5000).astype(dtype)])
    exponent = np.concatenate([np.tile(special, special.size), generator.uniform(-20, 20, 5000).astype(dtype)])
    out = np.zeros_like(base)
    cpu.call("diopiPowTensor", out, base, exponent)
    with np.errstate(all="ignore"):
        exact = np.power(base.astype(np.longdouble), exponent.astype(np.longdouble))
    worst = ulps(out, exact)
    at = int(np.argmax(worst))
    bound = LIBMVEC if vector_math == "libmvec" else SLEEF
    assert worst[at] <= bound, f"{base[at]!r} ** {exponent[at]!r} is {out[at]!r}, {exact[at]!r} expected"
    zeros = exact == 0
    np.testing.assert_array_equal(np.signbit(out[zeros]), np.signbit(exact[zeros]))
