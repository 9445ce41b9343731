"""Where temporary tensors of a compiled graph are in its arena."""

from __future__ import annotations

from dataclasses import dataclass

ALIGNMENT = 64
"""Bytes: what every dtype and the vectors of most processors want."""


@dataclass
class Lifetime:
    """A storage of the graph: its bytes, and the steps that first and last use it."""

    size: int
    first: int
    last: int
    offset: int = 0

    @property
    def padded(self) -> int:
        """Bytes that it occupies."""
        return max(ALIGNMENT, -(-self.size // ALIGNMENT) * ALIGNMENT)

    def overlaps(self, other: Lifetime) -> bool:
        """Whether there is a step that needs both."""
        return self.first <= other.last and other.first <= self.last


def assign(lifetimes: list[Lifetime]) -> int:
    """Sets the offsets and returns the bytes of the arena: the better result of two orders, largest first and first
    used first. Each storage gets the smallest gap among those in use at the same time that it fits."""
    orders = (
        sorted(lifetimes, key=lambda one: (-one.padded, one.first)),
        sorted(lifetimes, key=lambda one: (one.first, -one.padded)),
        sorted(lifetimes, key=lambda one: (one.first - one.last, -one.padded)),
    )
    best: tuple[int, list[int]] | None = None
    for order in orders:
        total = _assign_in(order)
        if best is None or total < best[0]:
            best = total, [one.offset for one in lifetimes]
    if best is None:
        return 0
    for one, offset in zip(lifetimes, best[1], strict=True):
        one.offset = offset
    return best[0]


def _assign_in(order: list[Lifetime]) -> int:
    placed: list[Lifetime] = []
    total = 0
    for one in order:
        busy = sorted((each for each in placed if each.overlaps(one)), key=lambda each: each.offset)
        end, best = 0, None
        for each in busy:
            gap = each.offset - end
            if gap >= one.padded and (best is None or gap < best[0]):
                best = gap, end
            end = max(end, each.offset + each.padded)
        one.offset = best[1] if best is not None else end
        placed.append(one)
        total = max(total, one.offset + one.padded)
    return total


def live_peak(lifetimes: list[Lifetime]) -> int:
    """The most bytes that are in use at one step: no arena can be smaller."""
    steps = {one.first for one in lifetimes}
    return max((sum(one.padded for one in lifetimes if one.first <= step <= one.last) for step in steps), default=0)
