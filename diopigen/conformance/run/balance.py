"""Shards that take equally long, by what each case cost before."""

from __future__ import annotations

import heapq
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diopigen.conformance.cases.models import AXIS as MODEL_AXIS
from diopigen.conformance.model import Case

OVERHEAD = 0.0015
"""Seconds that a case costs besides what is measured of it: handing it out and recording what came of it."""
_UNKNOWN = 0.005
_MODEL = 50
"""Number of ordinary cases that take as long as a model's call of unknown cost."""


def estimated(cases: Sequence[Case], costs: Mapping[str, float]) -> list[float]:
    """The seconds of each case. A case without a recorded cost has the median of its function, else that of all."""
    of_function: dict[str, list[float]] = defaultdict(list)
    for case in cases:
        if case.id in costs:
            of_function[case.function].append(costs[case.id])
    medians = {name: statistics.median(found) for name, found in of_function.items()}
    usual = statistics.median(costs.values()) if costs else _UNKNOWN

    def of(case: Case) -> float:
        if case.id in costs:
            return costs[case.id]
        return medians.get(case.function, usual * (_MODEL if case.axis == MODEL_AXIS else 1))

    return [OVERHEAD + of(case) for case in cases]


def balanced(cases: Sequence[Case], costs: Mapping[str, float], count: int) -> list[list[Case]]:
    """The cases in `count` parts, each in the order of `cases`: the longest case first, each to the part that has the
    least so far. The same cases and costs give the same parts everywhere."""
    seconds = estimated(cases, costs)
    order = sorted(range(len(cases)), key=lambda index: (-seconds[index], cases[index].id))
    parts: list[list[int]] = [[] for _ in range(count)]
    loads = [(0.0, part) for part in range(count)]
    for index in order:
        load, part = heapq.heappop(loads)
        parts[part].append(index)
        heapq.heappush(loads, (load + seconds[index], part))
    return [[cases[index] for index in sorted(part)] for part in parts]


@dataclass(frozen=True, slots=True)
class Balance:
    """Seconds of each part, as they follow from some costs."""

    loads: tuple[float, ...]
    longest: tuple[str, float]
    """The case that takes longest: no division is finer."""

    @property
    def mean(self) -> float:
        return sum(self.loads) / len(self.loads)

    @property
    def deviation(self) -> float:
        """Deviation of the worst shard from the mean, as a fraction of the mean."""
        return max(abs(load - self.mean) for load in self.loads) / self.mean if self.mean else 0.0


def balance(parts: Sequence[Sequence[Case]], costs: Mapping[str, float]) -> Balance:
    """Time of each shard by these costs."""
    cases = [case for part in parts for case in part]
    seconds = dict(zip((case.id for case in cases), estimated(cases, costs), strict=True))
    longest = max(seconds.items(), key=lambda entry: entry[1], default=("", 0.0))
    return Balance(tuple(sum(seconds[case.id] for case in part) for part in parts), longest)
