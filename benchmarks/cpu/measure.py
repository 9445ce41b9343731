"""Two calls measured alternately."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Case:
    """One operator at one size: our call, PyTorch's call on the same tensors, the bytes that it must move, and the
    multiplications and additions that it must do, on operands of a dtype."""

    group: str
    name: str
    size: str
    ours: Callable[[], object]
    torch: Callable[[], object]
    bytes: int = 0
    operations: int = 0
    dtype: torch.dtype = torch.float32


@dataclass(frozen=True, slots=True)
class Line:
    """The best seconds of both sides. The ratio is PyTorch's time over ours: above 1 we are faster."""

    case: Case
    ours: float
    torch: float

    @property
    def ratio(self) -> float:
        return self.torch / self.ours


LONG = 0.02
"""Seconds from which a call leaves no traces in caches that the next one could profit from."""


def measure(case: Case, budget: float = 0.4, clock: Callable[[], float] = time.perf_counter) -> Line:
    """Both calls in turns; the best run of each counts. It ends when the time (seconds) is spent and each ran three
    times, or when five turns in a row made neither faster by a hundredth. `clock` gives the seconds that count."""
    sides = (case.ours, case.torch)
    best = [math.inf, math.inf]
    end = time.perf_counter() + budget
    turns = without_gain = 0
    for side in sides:
        side()
    while turns < 3 or (time.perf_counter() < end and without_gain < 5):
        before = tuple(best)
        for k, side in enumerate(sides):
            if best[k] < LONG or turns == 0:
                # The second of two calls in a row: caches and threads are in the state that this side left.
                side()
            start = clock()
            side()
            best[k] = min(best[k], clock() - start)
        turns += 1
        without_gain = 0 if any(now < 0.99 * then for now, then in zip(best, before, strict=True)) else without_gain + 1
    return Line(case, best[0], best[1])


def copy_bandwidth(clock: Callable[[], float] = time.perf_counter) -> float:
    """Bytes a second of a large copy: read and written bytes together."""
    source = torch.zeros(32 * 1024 * 1024)
    target = torch.empty_like(source)
    best = math.inf
    for _ in range(10):
        start = clock()
        target.copy_(source)
        best = min(best, clock() - start)
    return 2 * source.numel() * 4 / best


class Limits:
    """The rates that this machine reaches, each measured once: bytes a second of a large copy, and operations a second
    of a product of square matrices in a dtype, the better one of both sides."""

    def __init__(self, product: Callable[[torch.dtype], Case], clock: Callable[[], float]) -> None:
        self.bandwidth = copy_bandwidth(clock)
        self._product = product
        self._clock = clock
        self._peaks: dict[torch.dtype, float] = {}

    def peak(self, dtype: torch.dtype) -> float:
        """Operations a second."""
        if dtype not in self._peaks:
            case = self._product(dtype)
            line = measure(case, clock=self._clock)
            self._peaks[dtype] = case.operations / min(line.ours, line.torch)
        return self._peaks[dtype]

    def fraction(self, line: Line) -> float:
        """The least time that both limits allow over ours; 0 of a case that says nothing of its work."""
        case = line.case
        least = case.bytes / self.bandwidth
        if case.operations:
            least = max(least, case.operations / self.peak(case.dtype))
        return least / line.ours


def geometric_mean(ratios: Iterable[float]) -> float:
    """The geometric mean; 0 of nothing."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else 0.0
