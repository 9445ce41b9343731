"""Runs losses at sizes of every path: `losses_program.py RUNTIME LIBRARY FILE`.

FILE gets the results. A program of its own, since a process holds one library.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from random_program import AnyLibrary
from rows_program import DTYPES, Array

from diopigen.console import Session

ROOT = Path(__file__).parents[2]
NONE, MEAN, SUM = 0, 1, 2
IGNORED = -100

# Samples, classes and places: by threads, by groups in registers, in parts; samples of several parts.
CLASSES = [(37, 10, ()), (5, 100, ()), (3, 1001, ()), (2, 20000, ()), (3, 7, (41,)), (5000, 5, ()), (2, 70, (3, 33))]
ELEMENTS = [(5, 7), (40000,), (3, 20001)]


@dataclass(frozen=True)
class Case:
    """A loss on an input of `shape`."""

    operator: str
    shape: tuple[int, ...]
    reduction: int
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        return f"{self.operator} {'x'.join(map(str, self.shape))} {self.reduction} {self.dtype.name}"

    @property
    def without(self) -> tuple[int, ...]:
        """The shape of what comes in: that of the losses."""
        if self.reduction != NONE:
            return ()
        return self.shape if self.operator in ELEMENTWISE else (self.shape[0], *self.shape[2:])

    def operands(self) -> dict[str, Array]:
        """Input, target, weights, and the gradient that comes in."""
        generator = np.random.default_rng(prod(self.shape))
        created = {"grad": generator.uniform(0.5, 1.5, self.without)}
        if self.operator in ELEMENTWISE:
            created["x"] = generator.uniform(0.05, 0.95, self.shape)
            created["target"] = generator.random(self.shape)
            created["weight"] = generator.uniform(0.5, 1.5, self.shape[-1:])
            return {name: np.array(array, self.dtype) for name, array in created.items()}
        created["x"] = 3 * generator.standard_normal(self.shape)
        created["weight"] = generator.uniform(0.5, 1.5, self.shape[1])
        created["probabilities"] = generator.dirichlet(np.ones(self.shape[1]), (self.shape[0], *self.shape[2:]))
        created["probabilities"] = np.moveaxis(created["probabilities"], -1, 1).copy()
        created = {name: np.array(array, self.dtype, order="C") for name, array in created.items()}
        target = generator.integers(0, self.shape[1], (self.shape[0], *self.shape[2:]))
        target.flat[1] = IGNORED
        return created | {"target": target}


ELEMENTWISE = ("mse", "smooth_l1", "bce", "logits", "focal")
SMOOTHING = {"entropy": 0.0, "smoothed": 0.125, "probable": 0.0}


def cases() -> list[Case]:
    """All of them."""
    sized = [(name, (n, c, *spatial)) for name in ("nll", *SMOOTHING) for n, c, spatial in CLASSES]
    sized += [(name, shape) for name in ELEMENTWISE for shape in ELEMENTS]
    return [Case(*item, reduction, dtype) for item in sized for reduction in (NONE, MEAN, SUM) for dtype in DTYPES]


def run(library: AnyLibrary, case: Case) -> dict[str, Array]:
    """The loss and the gradient of its input."""
    provided = case.operands()
    x, target, weight, grad = (provided[name] for name in ("x", "target", "weight", "grad"))
    loss, grad_x = np.zeros(case.without, case.dtype), np.zeros_like(x)
    reduction = case.reduction
    if case.operator == "nll":
        library.call("diopiNLLLoss", loss, x, target, weight, reduction, IGNORED)
        library.call("diopiNLLLossBackward", grad_x, grad, x, target, weight, reduction, IGNORED)
    elif case.operator in SMOOTHING:
        if case.operator == "probable":
            target = provided["probabilities"]
        settings = (target, weight, reduction, IGNORED, SMOOTHING[case.operator])
        library.call("diopiCrossEntropyLoss", loss, x, *settings)
        library.call("diopiCrossEntropyLossBackward", grad_x, grad, x, *settings)
    elif case.operator == "mse":
        library.call("diopiMSELoss", loss, x, target, reduction)
        library.call("diopiMSELossBackward", grad_x, grad, x, target, reduction)
    elif case.operator == "smooth_l1":
        library.call("diopiSmoothL1Loss", loss, x, target, reduction, 0.25)
        library.call("diopiSmoothL1LossBackward", grad_x, grad, x, target, reduction, 0.25)
    elif case.operator == "bce":
        library.call("diopiBCELoss", loss, x, target, weight, reduction)
        library.call("diopiBCELossBackward", grad_x, grad, x, target, weight, reduction)
    elif case.operator == "logits":
        library.call("diopiBCEWithLogits", loss, x, target, weight, weight, reduction)
        library.call("diopiBCEWithLogitsBackward", grad_x, grad, x, target, weight, weight, reduction)
    else:
        library.call("diopiSigmoidFocalLoss", loss, x, target, 0.25, 2.0, reduction)
        library.call("diopiSigmoidFocalLossBackward", grad, x, target, grad_x, 2.0, 0.25, reduction)
    return {"loss": loss, "grad_x": grad_x}


def main() -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    library = AnyLibrary(Path(sys.argv[1]), Path(sys.argv[2]), interface)
    found: dict[str, Array] = {}
    for case in cases():
        accumulate_dtype = np.float64 if case.dtype == np.float64 else np.float32
        found |= {f"{case.name}/{name}": array.astype(accumulate_dtype) for name, array in run(library, case).items()}
    np.savez(sys.argv[3], allow_pickle=False, **found)


if __name__ == "__main__":
    main()
