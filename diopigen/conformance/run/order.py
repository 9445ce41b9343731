"""Cases that fail only after others: the order is shuffled, and what has to come before a failure becomes few cases."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from diopigen.conformance.model import FAILURES, Case, CaseResult
from diopigen.conformance.run.worker import Bench

Benches = Callable[[], Bench]
"""Starts a process that has called nothing yet."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """A failure that needs other cases before it, in this order; without `before` it was not seen again."""

    failing: CaseResult
    before: tuple[Case, ...]
    seen_after: int
    """Number of cases that came before it when it was first seen."""


@dataclass(frozen=True, slots=True)
class Search:
    """Outcome of an order: the first failure that depends on it, and the failures before it that do not."""

    alone: tuple[CaseResult, ...]
    dependence: Dependence | None


def shuffled(cases: Sequence[Case], seed: int) -> list[Case]:
    """The cases in an order that the seed decides."""
    order = list(cases)
    random.Random(seed).shuffle(order)
    return order


def results_in_order(cases: Sequence[Case], start: Benches) -> Iterator[tuple[CaseResult, bool]]:
    """The results of cases in one process, and whether the next case has a new one: after a crash it has."""
    bench = start()
    try:
        for case in cases:
            result = bench.result(case)
            yield result, not bench.is_running
    finally:
        bench.kill()


def search(cases: Sequence[Case], start: Benches, note: Callable[[str], None] = lambda _text: None) -> Search:
    """Calls the cases in order until one fails that passes alone, and reduces the ones before it."""
    alone: list[CaseResult] = []
    first = 0
    for index, (result, is_new) in enumerate(results_in_order(cases, start)):
        if result.outcome in FAILURES:
            before = cases[first:index]
            note(f"{result.case.id} {result.outcome} as number {index + 1}")
            if _last([result.case], start).outcome in FAILURES:
                alone.append(result)
            else:
                return Search(tuple(alone), _reduced(result, before, start, note))
        if is_new:
            first = index + 1
    return Search(tuple(alone), None)


def _last(cases: Sequence[Case], start: Benches) -> CaseResult:
    return [result for result, _ in results_in_order(cases, start)][-1]


def _reduced(failing: CaseResult, before: Sequence[Case], start: Benches, note: Callable[[str], None]) -> Dependence:
    def fails(some: Sequence[Case]) -> bool:
        note(f"{len(some)} cases before it")
        return _last([*some, failing.case], start).outcome == failing.outcome

    few = tuple(minimal(before, fails)) if fails(before) else ()
    return Dependence(failing, few, len(before))


def minimal(cases: Sequence[Case], fails: Callable[[Sequence[Case]], bool]) -> list[Case]:
    """Delta debugging (Zeller and Hildebrandt, 2002): cases that still fail, of which none can be left out."""
    left, parts = list(cases), 2
    while len(left) >= 2:
        size = -(-len(left) // parts)
        chunks = [left[at : at + size] for at in range(0, len(left), size)]
        for number, chunk in enumerate(chunks):
            others = [case for k, other in enumerate(chunks) if k != number for case in other]
            if parts == 2 or not fails(chunk):
                if fails(others):
                    left, parts = others, max(parts - 1, 2)
                    break
            else:
                left, parts = chunk, 2
                break
        else:
            if parts >= len(left):
                break
            parts = min(2 * parts, len(left))
    return left
