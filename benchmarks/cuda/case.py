"""One call that is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

MEMORY_FLOOR = 1.0


@dataclass(frozen=True, slots=True)
class Case:
    """One operator at one size. `out` is what our call writes, `floor` the ratio that its group must keep."""

    group: str
    name: str
    ours: Callable[[], object]
    torch: Callable[[], torch.Tensor]
    out: torch.Tensor
    bytes: int = 0
    floor: float = MEMORY_FLOOR
