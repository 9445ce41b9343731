"""Runs softmax and the normalisations at sizes of every path: `rows_program.py RUNTIME LIBRARY FILE`.

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

from cpu_library import BFLOAT16
from random_program import AnyLibrary

from diopigen.console import Session

ROOT = Path(__file__).parents[2]
Array = np.ndarray[Any, Any]
SINGLE, DOUBLE, HALF = np.dtype("float32"), np.dtype("float64"), np.dtype("float16")
DTYPES = (SINGLE, DOUBLE, HALF, BFLOAT16)
EPS = 1e-5
MOMENTUM = 0.25

# Rows that share a group, of odd length, held by a group, in one part and in several; columns.
SOFTMAX = [((37, 8), 1), ((5, 33), 1), ((3, 384), 1), ((3, 601), 1), ((2, 1104), 1), ((2, 20001), 1), ((2, 40000), 1),
           ((3, 70, 5), 1), ((2, 2100, 3), 1), ((9, 40), 0)]  # fmt: skip
ROWS = [(50, 8), (9, 101), (3, 384), (2, 1104), (2, 7777), (3, 20000), (700, 40)]
# With the number of groups.
GROUPS = [((2, 6, 5, 7), 3), ((3, 8, 4, 4), 2), ((2, 4, 64, 64), 2), ((2, 3, 50, 101), 3)]
CHANNELS = [(6, 5, 7, 7), (3, 4, 80, 64), (300, 9), (130, 16), (40, 6, 3), (2, 3, 100, 101), (70, 2, 32)]


@dataclass(frozen=True)
class Case:
    """A call on an input of `shape`; `size` is a dimension or a number of groups."""

    operator: str
    shape: tuple[int, ...]
    size: int
    dtype: np.dtype[Any]

    @property
    def name(self) -> str:
        return f"{self.operator} {'x'.join(map(str, self.shape))} {self.size} {self.dtype.name}"

    @property
    def weights(self) -> int:
        return self.shape[1]

    def operands(self) -> dict[str, Array]:
        """Input and grad_output, weights, and statistics that are kept."""
        generator = np.random.default_rng(prod(self.shape))
        x = generator.standard_normal(self.shape)
        if self.operator.endswith("softmax"):
            x = 4 * x
            if self.operator == "softmax":
                x[generator.random(self.shape) < 0.1] = -np.inf
                x[0, :16384] = -np.inf if len(self.shape) == 2 and self.size == 1 else 1  # a whole part of a long row
                x[0, -1] = 1
        else:
            x += 20  # what differs is small compared with the values
            if self.operator == "batch_norm_infinite":
                x.flat[0] = np.inf  # the element that moments are taken around
        created: dict[str, Array] = {"x": x, "grad": generator.standard_normal(self.shape)}
        for name in ("weight", "bias"):
            created[name] = generator.uniform(0.5, 1.5, self.weights)
        if self.operator.startswith("batch"):
            created["mean"], created["variance"] = generator.uniform(18, 22, self.weights), created["weight"] * 2
        return {name: array.astype(self.dtype) for name, array in created.items()}


def cases() -> list[Case]:
    """All of them."""
    sized = [("softmax", *item) for item in SOFTMAX] + [("log_softmax", *item) for item in SOFTMAX]
    sized += [(name, shape, 1) for name in ("layer_norm", "rms_norm") for shape in ROWS]
    sized += [("group_norm", *item) for item in GROUPS]
    sized += [(name, shape, 0) for name in ("batch_norm", "batch_norm_fixed") for shape in CHANNELS]
    sized += [("batch_norm_infinite", shape, 0) for shape in ((3, 4, 80, 64), (300, 9))]
    return [Case(*item, dtype) for item in sized for dtype in DTYPES]


def run(library: AnyLibrary, case: Case) -> dict[str, Array]:
    """The output, statistics and gradients of a case."""
    provided = case.operands()
    x, grad, weight, bias = (provided[name] for name in ("x", "grad", "weight", "bias"))
    out, grad_x = np.zeros_like(x), np.zeros_like(x)
    found: dict[str, Array] = {"out": out, "grad_x": grad_x}
    if case.operator.endswith("softmax"):
        name = {"softmax": "diopiSoftmax", "log_softmax": "diopiLogSoftmax"}[case.operator]
        library.call(name, out, x, case.size)
        library.call(f"{name}Backward", grad_x, grad, out, case.size)
        return found
    grad_weight, grad_bias = np.zeros_like(weight), np.zeros_like(bias)
    found |= {"grad_weight": grad_weight, "grad_bias": grad_bias}
    kind = DOUBLE if case.dtype == DOUBLE else SINGLE
    gradients = (grad_x, grad_weight, grad_bias, grad, x, weight)
    if case.operator.endswith("_norm") and case.operator in ("layer_norm", "rms_norm"):
        statistics: tuple[int, ...] = (case.shape[0], 1)
        mean, invstd = np.zeros(statistics, kind), np.zeros(statistics, kind)
        sizes = [case.shape[1]]
        if case.operator == "layer_norm":
            library.call("diopiLayerNorm", out, mean, invstd, x, weight, bias, sizes, EPS)
            library.call("diopiLayerNormBackward", *gradients, bias, mean, invstd, sizes)
        else:
            library.call("diopiRMSNorm", out, invstd, x, sizes, weight, bias, EPS)
            library.call("diopiRMSNormBackward", *gradients, bias, invstd, sizes, EPS)
        return found | {"mean": mean, "invstd": invstd}
    if case.operator == "group_norm":
        statistics = (case.shape[0], case.size)
        mean, invstd = np.zeros(statistics, kind), np.zeros(statistics, kind)
        library.call("diopiGroupNorm", out, mean, invstd, x, weight, bias, case.size, EPS)
        library.call("diopiGroupNormBackward", *gradients, mean, invstd, case.size)
        return found | {"mean": mean, "invstd": invstd}
    mean, invstd = np.zeros(case.weights, kind), np.zeros(case.weights, kind)
    running = [provided["mean"], provided["variance"]]
    training = case.operator != "batch_norm_fixed"
    library.call("diopiBatchNorm", out, mean, invstd, x, weight, bias, *running, training, MOMENTUM, EPS)
    library.call("diopiBatchNormBackward", *gradients, *running, mean, invstd, training, EPS)
    return found | {"mean": mean, "invstd": invstd, "running_mean": running[0], "running_var": running[1]}


def main() -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    library = AnyLibrary(Path(sys.argv[1]), Path(sys.argv[2]), interface)
    found: dict[str, Array] = {}
    for case in cases():
        accumulate_dtype = np.float64 if case.dtype == DOUBLE else np.float32
        found |= {f"{case.name}/{name}": array.astype(accumulate_dtype) for name, array in run(library, case).items()}
    np.savez(sys.argv[3], allow_pickle=False, **found)


if __name__ == "__main__":
    main()
