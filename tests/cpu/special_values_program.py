"""Compares where products and convolutions give infinities and NaN with loops over all terms; prints JSON.

Arguments: the runtime and the library. A process of its own, since oneDNN reads its level when it is loaded.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from cpu_library import BFLOAT16, CpuLibrary

from diopigen.console import Session

ROOT = Path(__file__).resolve().parents[2]
DTYPES = {"float32": np.dtype("float32"), "bfloat16": BFLOAT16, "float16": np.dtype("float16")}
PLAIN = [1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, -3.0]
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan]

Array = np.ndarray[Any, Any]


def numbers(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """Small numbers with a few edge values, and denormals, among them."""
    source = np.random.default_rng(seed)
    tiny = float(np.finfo(np.float16).smallest_subnormal) if dtype == np.float16 else 2.0**-130
    edges = [*EDGES, tiny, -tiny]
    rare = source.random(shape) < 0.04
    return np.where(rare, source.choice(edges, shape), source.choice(PLAIN, shape)).astype(dtype)


def complaints(found: Array, expected: Array) -> list[str]:
    """Positions at which one is not finite and the other is not the same."""
    actual, exact = found.astype(np.float64), expected
    same = (np.isnan(actual) & np.isnan(exact)) | (actual == exact) | (np.isfinite(actual) & np.isfinite(exact))
    return [f"{index}: {actual[tuple(index)]} for {exact[tuple(index)]}" for index in np.argwhere(~same)[:3].tolist()]


def product(a: Array, b: Array) -> Array:
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    return np.asarray((wide_a[:, :, None] * wide_b[None]).sum(axis=1))


def products(cpu: CpuLibrary, name: str, dtype: Any) -> dict[str, list[str]]:
    found = {}
    for rows, inner, columns in ((1, 5, 16), (3, 1, 2), (8, 33, 17), (17, 64, 48), (50, 7, 65)):
        a, b = numbers(rows, (rows, inner), dtype), numbers(columns, (inner, columns), dtype)
        added = numbers(inner, (rows, columns), dtype)
        expected = product(a, b)
        out, size = np.zeros((rows, columns), dtype), f"{name} {rows}x{inner}x{columns}"
        cpu.call("diopiMm", out, a, b)
        found[f"Mm {size}"] = complaints(out, expected)
        cpu.call("diopiMm", out, np.asfortranarray(a), np.asfortranarray(b))
        found[f"Mm by columns {size}"] = complaints(out, expected)
        cpu.call("diopiAddmm", out, added, a, b, 0.5, -2.0)
        found[f"Addmm {size}"] = complaints(out, 0.5 * added.astype(np.float64) - 2 * expected)
        grad_x, grad_w, grad_b = np.zeros_like(a), np.zeros((columns, inner), dtype), np.zeros(columns, dtype)
        cpu.call("diopiLinearBackward", grad_x, grad_w, grad_b, out, a, np.ascontiguousarray(b.T))
        found[f"LinearBackward {size}"] = complaints(grad_x, product(out, np.ascontiguousarray(b.T)))
        found[f"LinearBackward weight {size}"] = complaints(grad_w, product(np.ascontiguousarray(out.T), a))
    return found


def convolution(x: Array, w: Array, y: Array, step: int, pad: int) -> tuple[Array, Array, Array]:
    """The response to images x of filters w, and the gradients of both for y; what meets padding is left out."""
    wide_x, wide_w, wide_y = (array.astype(np.float64) for array in (x, w, y))
    found, grad_x, grad_w = (np.zeros(array.shape) for array in (y, x, w))
    for i, j in itertools.product(range(y.shape[2]), range(y.shape[3])):
        for p, q in itertools.product(range(w.shape[2]), range(w.shape[3])):
            h, v = i * step - pad + p, j * step - pad + q
            if not (0 <= h < x.shape[2] and 0 <= v < x.shape[3]):
                continue
            pixel, weight, gradient = wide_x[:, None, :, h, v], wide_w[None, :, :, p, q], wide_y[:, :, None, i, j]
            found[:, :, i, j] += (pixel * weight).sum(axis=2)
            grad_x[:, :, h, v] += (gradient * weight).sum(axis=1)
            grad_w[:, :, p, q] += (gradient * pixel).sum(axis=0)
    return found, grad_x, grad_w


def convolutions(cpu: CpuLibrary, name: str, dtype: Any) -> dict[str, list[str]]:
    found = {}
    shapes = ((3, 4, 8, 3, 1, 1), (16, 16, 9, 3, 2, 1), (17, 19, 7, 3, 1, 1), (16, 32, 6, 1, 1, 0), (4, 8, 6, 2, 2, 1))
    for channels, filters, size, kernel, step, pad in shapes:
        x = numbers(channels, (2, channels, size, size), dtype)
        w = numbers(filters, (filters, channels, kernel, kernel), dtype)
        count = (size + 2 * pad - kernel) // step + 1
        y = numbers(size, (2, filters, count, count), dtype)
        expected, grad_x, grad_w = convolution(x, w, y, step, pad)
        out, of_x, of_w = np.zeros_like(y), np.zeros_like(x), np.zeros_like(w)
        cpu.call("diopiConvolution2d", out, x, w, None, [step] * 2, [pad] * 2, [1, 1], 1)
        cpu.call("diopiConvolution2dBackward", of_x, of_w, None, y, x, w, None, [step] * 2, [pad] * 2, [1, 1], 1)
        what = f"{name} {channels}->{filters} {size} by {kernel} step {step}"
        found[f"Convolution2d {what}"] = complaints(out, expected)
        found[f"Convolution2dBackward {what}"] = complaints(of_x, grad_x)
        found[f"Convolution2dBackward weight {what}"] = complaints(of_w, grad_w)
    return found


def main() -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    cpu = CpuLibrary(Path(sys.argv[1]), Path(sys.argv[2]), interface)
    found: dict[str, list[str]] = {}
    with np.errstate(all="ignore"):
        for name, dtype in DTYPES.items():
            found |= products(cpu, name, dtype) | convolutions(cpu, name, dtype)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
