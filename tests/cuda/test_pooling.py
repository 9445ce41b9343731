"""Images with the channels last are pooled as they lie, by own kernels and by cuDNN's stand-in."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cpu_build import run_checked
from pooling_program import CASES, LARGE, Case
from sampling import first

PROGRAM = Path(__file__).with_name("pooling_program.py")
Array = np.ndarray[Any, Any]


def covered(case: Case, k: int, window: int) -> slice:
    """The elements that a window covers along one dimension."""
    size = case.shape[2 + k]
    if case.kernel == 0:
        return slice(window * size // case.stride, -(-(window + 1) * size // case.stride))
    start = window * case.stride - case.pad
    return slice(max(start, 0), min(start + case.kernel, size))


def expected(case: Case) -> dict[str, Array]:
    """Window by window; the first of equal elements is the maximum."""
    image, grad_output = case.image(), case.gradient()
    pooled = (*case.shape[:2], *case.windows)
    results = {"means": np.zeros(pooled), "maxima": np.zeros(pooled), "positions": np.zeros(pooled)}
    results |= {"mean_gradient": np.zeros(case.shape), "maximum_gradient": np.zeros(case.shape)}
    samples, channels = np.indices(case.shape[:2])
    for at in np.ndindex(*case.windows):
        rows, columns = (covered(case, k, at[k]) for k in range(2))
        window, each = image[:, :, rows, columns], (..., *at)
        width = window.shape[3]
        divisor = case.kernel**2 if case.kernel and case.has_padding else window.shape[2] * width
        element = window.reshape(*case.shape[:2], -1).argmax(axis=2)
        row, column = rows.start + element // width, columns.start + element % width
        results["means"][each] = window.sum(axis=(2, 3)) / divisor
        results["maxima"][each] = window.max(axis=(2, 3))
        results["positions"][each] = row * case.shape[3] + column
        if case is not LARGE:
            results["mean_gradient"][:, :, rows, columns] += grad_output[each][..., None, None] / divisor
            results["maximum_gradient"][samples, channels, row, column] += grad_output[each]
    return results


@pytest.mark.parametrize(
    "settings",
    first([{"ORDER": "reversed"}, {"DNN": "1"}, {"STREAMS": "lazy"}], 2),
    ids=["own kernels", "cuDNN", "late"],
)
def test_images_are_pooled_as_they_lie(emulated: tuple[Path, Path], tmp_path: Path, settings: dict[str, str]) -> None:
    """The memory of the device has no room for a copy of the large image."""
    notes = tmp_path / "notes.txt"
    notes.touch()
    settings = settings | {"MEMORY": str(4 << 20), "NOTES": str(notes)}
    environment = os.environ | {f"DIOPI_CUDA_EMULATION_{name}": value for name, value in settings.items()}
    run_checked([sys.executable, PROGRAM, *emulated, tmp_path / "found.npz"], environment)
    with np.load(tmp_path / "found.npz") as found:
        for case in CASES:
            for name, right in expected(case).items():
                np.testing.assert_allclose(
                    found[f"{case.name}/{name}"], right, rtol=1e-6, atol=1e-5, err_msg=f"{case.name}: {name}"
                )
    served = {"pooling, channels first": 2, "pooling, channels last": 7} if "DNN" in settings else {}
    assert Counter(notes.read_text().splitlines()) == served
