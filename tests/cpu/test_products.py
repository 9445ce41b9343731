"""Matrix products that are cut (among threads, into panels, along the inner dimension), and very small ones."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_library import CpuLibrary

Array = np.ndarray
SHAPES = {
    "blocks": (301, 70, 290),
    "panels": (13, 700, 1100),
    "slices": (9, 20000, 33),
    "row": (1, 3000, 700),
    "column": (700, 900, 1),
    "one": (1, 1, 1),
    "rotations": (3, 3, 3),
    "points": (100, 4, 4),
    "few columns": (5, 16, 2),
    "small": (7, 17, 5),
}


def random(seed: int, *shape: int, dtype: str) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def assert_close(actual: Array, expected: Array, scale: Array, terms: int) -> None:
    """Within the bound of the conformance suite, taken for `terms` summands of the same size; `scale` adds up sizes."""
    eps = np.finfo(actual.dtype).eps
    bound = eps * (np.abs(expected) + (8 + 2 * np.sqrt(terms)) * scale / terms**0.5)
    worst = np.abs(actual.astype(np.float64) - expected) - bound
    assert worst.max() <= 0, f"{worst.max()} beyond the bound at {np.unravel_index(worst.argmax(), worst.shape)}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("shape", SHAPES)
def test_products_of_every_cut_and_layout(cpu: CpuLibrary, shape: str, layout: str, dtype: str) -> None:
    rows, inner, columns = SHAPES[shape]
    a, b, added = (
        random(k, *sizes, dtype=dtype) for k, sizes in enumerate(((rows, inner), (inner, columns), (rows, columns)))
    )
    if layout == "columns":
        a, b = np.asfortranarray(a), np.asfortranarray(b)
    out = np.zeros((rows, columns), dtype, order="F" if layout == "columns" else "C")
    exact = a.astype(np.float64) @ b.astype(np.float64)
    sizes = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    cpu.call("diopiMm", out, a, b)
    assert_close(out, exact, sizes, inner)
    cpu.call("diopiAddmm", out, added, a, b, 0.5, -2.0)
    assert_close(out, 0.5 * added - 2 * exact, 2 * sizes, inner)


def test_batches_that_broadcast_in_both_directions(cpu: CpuLibrary) -> None:
    a, b = random(1, 3, 1, 40, 50, dtype="float32"), random(2, 4, 50, 30, dtype="float32")
    out = np.zeros((3, 4, 40, 30), np.float32)
    cpu.call("diopiMatmul", out, a, b)
    exact = a.astype(np.float64) @ b
    assert_close(out, exact, np.abs(a).astype(np.float64) @ np.abs(b), 50)
    grad = random(3, *out.shape, dtype="float32")
    grad_a, grad_b = np.zeros_like(a), np.zeros_like(b)
    cpu.call("diopiMatmulBackward", grad_a, grad_b, grad, a, b)
    widened = grad.astype(np.float64)
    exact_a = (widened @ b.swapaxes(-1, -2)).sum(1, keepdims=True)
    exact_b = (a.swapaxes(-1, -2) @ widened).sum(0)
    assert_close(grad_a, exact_a, (np.abs(widened) @ np.abs(b).swapaxes(-1, -2)).sum(1, keepdims=True), 120)
    assert_close(grad_b, exact_b, (np.abs(a).swapaxes(-1, -2) @ np.abs(widened)).sum(0), 120)


def test_a_factor_of_zero_does_not_hide_nan(cpu: CpuLibrary) -> None:
    a = np.full((4, 5), np.nan, np.float32)
    out = np.full((4, 6), np.nan, np.float32)
    cpu.call("diopiAddmm", out, np.ones((4, 6), np.float32), a, np.ones((5, 6), np.float32), 1.0, 0.0)
    assert np.isnan(out).all()
    cpu.call("diopiAddmm", out, np.full((4, 6), np.nan, np.float32), np.ones((4, 5), np.float32),
             np.ones((5, 6), np.float32), 0.0, 1.0)  # fmt: skip
    assert (out == 5).all()
