"""Pools images with the channels first and last: `pooling_program.py RUNTIME LIBRARY FILE`.

FILE gets what the arrays hold afterwards. A program of its own, since a process holds one library, whose memory has
room for no copy of the large image.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from layout_program import LayoutLibrary
from random_program import ROOT, Array

from diopigen.console import Session

SINGLE = np.dtype("float32")


@dataclass(frozen=True)
class Case:
    """Windows over the two last dimensions of an image; `kernel` 0 divides them into as many as `stride` says."""

    name: str
    shape: tuple[int, int, int, int]
    kernel: int
    stride: int
    pad: int = 0
    has_padding: bool = True
    is_last: bool = True

    @property
    def windows(self) -> tuple[int, int]:
        """Number of elements."""
        if self.kernel == 0:
            return self.stride, self.stride
        height, width = ((size + 2 * self.pad - self.kernel) // self.stride + 1 for size in self.shape[2:])
        return height, width

    def image(self) -> Array:
        """Integers, so that sums are exact, with equal ones among them."""
        return np.random.default_rng(self.shape).integers(-9, 9, self.shape).astype(np.float64)

    def gradient(self) -> Array:
        """Gradient of the windows: sums of fractions of it are exact."""
        numbers = np.random.default_rng([*self.shape, 1]).integers(-9, 9, (*self.shape[:2], *self.windows))
        return numbers.astype(np.float64)

    def laid(self, values: Array, dtype: np.dtype[Any] = SINGLE) -> Array:
        """A copy with the channels first or last."""
        if not self.is_last:
            return values.astype(dtype)
        return np.asarray(np.ascontiguousarray(values.transpose(0, 2, 3, 1).astype(dtype)).transpose(0, 3, 1, 2))


LARGE = Case("no room for a copy", (2, 16, 128, 128), 2, 2)
CASES = (
    Case("channels first", (2, 3, 7, 9), 3, 2, 1, is_last=False),
    Case("padding counts", (2, 3, 7, 9), 3, 2, 1),
    Case("padding does not count", (2, 35, 8, 6), 2, 1, 1, has_padding=False),
    Case("large windows", (2, 35, 24, 24), 12, 6, 4),
    Case("all of an image", (3, 19, 12, 13), 0, 1),
    Case("parts of an image", (2, 5, 7, 9), 0, 3),
    LARGE,
)


def run(library: LayoutLibrary, case: Case) -> dict[str, Array]:
    """Means, maxima, where they are, and gradients."""
    pooled, image, grad_output = (*case.shape[:2], *case.windows), case.laid(case.image()), case.laid(case.gradient())
    means, maxima = (case.laid(np.zeros(pooled)) for _ in range(2))
    positions = case.laid(np.zeros(pooled), np.dtype("int64"))
    mean_gradient, maximum_gradient = (case.laid(np.zeros(case.shape)) for _ in range(2))
    two = [[number, number] for number in (case.kernel, case.stride, case.pad)]
    if case.kernel == 0:
        library.call("diopiAdaptiveAvgPool2d", means, image, two[1])
        library.call("diopiAdaptiveMaxPool2dWithIndices", maxima, positions, image, two[1])
        library.call("diopiAdaptiveAvgPool2dBackward", mean_gradient, grad_output, image)
        library.call("diopiAdaptiveMaxPool2dBackward", maximum_gradient, grad_output, image, positions)
    else:
        averages = (*two, False, case.has_padding, None)
        library.call("diopiAvgPool2d", means, image, *averages)
        library.call("diopiMaxPool2dWithIndices", maxima, positions, image, *two, [1, 1], False)
        if case is not LARGE:  # the gradients take the image as well
            library.call("diopiAvgPool2dBackward", mean_gradient, grad_output, image, *averages)
            library.call("diopiMaxPool2dBackward", maximum_gradient, grad_output, image, *two, [1, 1], False, positions)
    results = {"means": means, "maxima": maxima, "positions": positions}
    return results | {"mean_gradient": mean_gradient, "maximum_gradient": maximum_gradient}


def main() -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    library = LayoutLibrary(Path(sys.argv[1]), Path(sys.argv[2]), interface)
    found = {f"{case.name}/{name}": array for case in CASES for name, array in run(library, case).items()}
    np.savez(sys.argv[3], allow_pickle=False, **found)


if __name__ == "__main__":
    main()
