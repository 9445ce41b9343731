"""Error bounds of results, by class and dtype, as the spec of diopigen derives them.

`tolerance.json` is written by `diopigen generate`. The conformance suite, the dispatch library and `DIOPI_AUTOCOMPARE`
use the same numbers: `contract/tolerance.py` of diopigen derives them, docs/conformance.md explains them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

UNKNOWN = "attention"
"""Class of operators that the spec does not have: sums of products, with an intermediate result in the dtype."""
_HERE = Path(__file__).with_name("tolerance.json")
_CHECKOUT = Path(__file__).resolve().parents[3] / "generated/tolerance/tolerance.json"


@cache
def table() -> Any:
    """`bounds` by class and dtype, and the class of `overloads`."""
    return json.loads((_HERE if _HERE.exists() else _CHECKOUT).read_text())


def class_of(name: str) -> str:
    """The tolerance class of an overload, as `Facts.name` has it."""
    overloads = table()["overloads"]
    base = name.partition(".")[0]
    return str(overloads.get(name) or overloads.get(base) or overloads.get(base.rstrip("_")) or UNKNOWN)


@dataclass(frozen=True)
class Rule:
    """Permitted error of an operator: its class, how many terms it adds up for an element at most, and the largest
    number that it reads. The terms follow from the sizes of the operands: a product of matrices has m * k and k * n
    numbers for m * n results, and no operator adds up more than its largest operand has."""

    tolerance: str
    first: float = 0.0
    second: float = 0.0
    largest: float = 0.0

    @classmethod
    def of(cls, name: str, operands: Iterable[Any]) -> Rule:
        """The rule of a call of an overload with these tensors."""
        sizes, largest = [0.0], 0.0
        for tensor in operands:
            sizes.append(float(tensor.numel()))
            if tensor.numel() and (tensor.is_floating_point() or tensor.is_complex()):
                values = tensor.detach().abs().double()
                largest = max(largest, float(torch.where(values.isfinite(), values, torch.zeros_like(values)).max()))
        second, first = sorted([0.0, *sizes])[-2:]
        return cls(class_of(name), first, second, largest)

    def limits(self, dtype: Any, largest: float, results: int) -> tuple[float, float]:
        """The factor of an element's size and the constant that together bound its error. `largest` is the largest
        exact result."""
        bounds = table()["bounds"][self.tolerance]
        name = str(dtype).removeprefix("torch.")
        known = name in bounds
        relative, scaled, root, tiny, narrowed = bounds[name if known else "float32"]
        scale = max(largest, self.largest) if root else largest
        fixed = (scaled + root * math.sqrt(self._terms(results)) + narrowed) * scale + tiny
        wider = 1.0 if known else torch.finfo(dtype).eps / torch.finfo(torch.float32).eps
        return relative * wider, fixed * wider

    def _terms(self, results: int) -> float:
        product = math.sqrt(self.first * self.second / max(results, 1))
        return max(1.0, min(self.first, product) if self.tolerance == "matmul" else self.first)
