"""From times to a score: the fraction of a chip's limits, the ratio to a reference, and times that cannot be true."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from diopigen.chip.model import Peaks
from diopigen.conformance.model import PASSING, Case, Fault
from diopigen.conformance.speed.timing import Speed
from diopigen.conformance.speed.work import Work

THRESHOLDS = (0.5, 1.0, 1.5, 2.0)
"""Values of p in fast_p."""
UNVERIFIED = "unverified"
"""Outcome of a call whose outputs were not compared."""
_FAST_ALGORITHMS = frozenset({"convolution"})
"""Tolerance classes with algorithms of fewer operations than the definition has, such as Winograd's."""
WRONG, IMPOSSIBLE = "wrong", "impossible"


@dataclass(frozen=True, slots=True)
class Row:
    """One call of a function: its outcome, the times of library and reference, and its limits."""

    case: Case
    size: str
    tolerance: str
    outcome: str
    work: Work
    cold: Speed | None = None
    warm: Speed | None = None
    reference: Speed | None = None
    """Time of the reference with operands in memory."""
    reference_warm: Speed | None = None
    faults: tuple[Fault, ...] = ()
    has_equal_copies: bool = False
    """True if no operand could differ between the copies of the call."""

    @property
    def is_right(self) -> bool:
        """Returns whether the outputs of timed calls were compared and are right."""
        return self.outcome in PASSING

    @property
    def ratio(self) -> float | None:
        """The reference's time over the library's: above 1 the library is faster."""
        if self.cold is None or self.reference is None:
            return None
        return self.reference.seconds / self.cold.seconds

    def limit(self, peaks: Peaks) -> tuple[float, str] | None:
        """The least seconds of the call on a chip, and its bound: `memory` or `operations`; None without peaks."""
        least = []
        if peaks.bandwidth is not None:
            least.append((self.work.bytes / (peaks.bandwidth * 1e9), "memory"))
        rate = peaks.operations.get(self.case.dtype)
        if rate is not None and self.work.operations is not None:
            least.append((self.work.operations / (rate * 1e9), "operations"))
        return max(least, default=None)

    def fraction(self, peaks: Peaks) -> float | None:
        """The least seconds over the time with operands in memory."""
        limit = self.limit(peaks)
        return None if limit is None or self.cold is None else limit[0] / self.cold.seconds


@dataclass(frozen=True, slots=True)
class Finding:
    """A reason not to believe a time: outputs that are wrong, or a speed beyond a peak."""

    kind: str
    case: str
    message: str


def findings(rows: Iterable[Row], peaks: Peaks, cache: int) -> list[Finding]:
    """All findings of some rows. `cache` is bytes of the last-level cache."""
    found = []
    for row in rows:
        for fault in row.faults[:1]:
            about = f"'{fault.parameter}': " if fault.parameter else ""
            values = f" (expected {fault.expected}, got {fault.actual})" if fault.expected or fault.actual else ""
            found.append(Finding(WRONG, row.case.id, f"{about}{fault.message}{values}"))
        found += [Finding(IMPOSSIBLE, row.case.id, text) for text in _impossible(row, peaks, cache)]
    return found


def served(opened: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Findings on other libraries that define functions and were opened: times may be theirs."""
    return [
        Finding("served", names[0], f"the library has opened {path}, which defines {len(names)} of the functions")
        for path, names in opened.items()
    ]


def _impossible(row: Row, peaks: Peaks, cache: int) -> list[str]:
    """Speeds beyond the peaks, from the whole time of a run: the round trip is not subtracted, and outputs that fit in
    the cache may never have reached the memory."""
    found = []
    if row.cold is not None and peaks.bandwidth is not None:
        moved = row.work.read + max(0, row.work.written - cache // row.cold.calls)
        rate = moved / row.cold.longest / 1e9
        if rate > peaks.bandwidth:
            found.append(f"{rate:,.0f} GB/s of {peaks.bandwidth:,}")
    best = peaks.operations.get(row.case.dtype)
    timed = [one for one in (row.cold, row.warm) if one is not None]
    if timed and best is not None and row.work.operations is not None and row.tolerance not in _FAST_ALGORITHMS:
        rate = row.work.operations / min(one.longest for one in timed) / 1e9
        if rate > best:
            found.append(f"{rate:,.0f} GFLOP/s of {best:,}")
    return found


@dataclass(frozen=True, slots=True)
class Summary:
    """The score of some rows: fast_p by p, and geometric means of ratios and fractions; None without a reference or
    peaks. `compared` is the number of calls that the reference has a time of."""

    compared: int
    fast: dict[float, float]
    ratio: float | None
    fraction: float | None


def summary(rows: Sequence[Row], peaks: Peaks) -> Summary:
    """fast_p as KernelBench defines it: of the calls that the reference has, those that are right and more than p times
    as fast. A call that is wrong, unverified or missing counts as slow."""
    compared = [row for row in rows if row.reference is not None]
    ratios = [row.ratio for row in compared if row.is_right and row.ratio is not None]
    fast = {p: sum(ratio > p for ratio in ratios) / len(compared) for p in THRESHOLDS} if compared else {}
    fractions = [one for row in rows if row.is_right and (one := row.fraction(peaks))]
    return Summary(len(compared), fast, geometric_mean(ratios), geometric_mean(fractions))


def geometric_mean(values: Sequence[float]) -> float | None:
    """The geometric mean of positive numbers; None of nothing."""
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None
