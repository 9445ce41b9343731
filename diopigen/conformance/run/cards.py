"""Workers bound to cards, and the sentinel cases that show which card computes something else than the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from diopigen.conformance.model import SUCCESS, Case, Sentinel, Suspect
from diopigen.conformance.run.shards import number_of

WORKER = "{worker}"
SENTINEL_AXES = ("large", "recipe", "plain", "model")
"""Axes with ordinary values, those with the most elements first: a defect of a card is seldom in the first ones."""
SENTINEL_FAMILIES = (
    "activation", "comparison_logical", "convolution", "elementwise_binary", "elementwise_ternary", "elementwise_unary",
    "linalg_matmul", "norm", "pooling", "reduction", "resample",
)  # fmt: skip
"""Families whose kernels add up in one order: what differs between cards is the card, not the order of atomics."""
BEFORE, AFTER = "before", "after"

_Card = TypeVar("_Card")


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The workers, their cards, and the cases that each one runs before and after all others."""

    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables of the environment; `{worker}` in a value is the number of the worker."""
    sentinels: tuple[Case, ...] = ()
    workers: tuple[int, ...] | None = None
    """Numbers of the workers to start; None for as many as there are jobs and work for."""

    def environment(self, worker: int) -> dict[str, str]:
        """The variables of one worker."""
        return {name: value.replace(WORKER, str(worker)) for name, value in self.variables.items()}

    def card(self, worker: int) -> str:
        """Name of a worker and its card: `worker 3 (CUDA_VISIBLE_DEVICES=3)`."""
        variables = " ".join(f"{name}={value}" for name, value in self.environment(worker).items())
        return f"worker {worker} ({variables})" if variables else f"worker {worker}"


def sentinels(cases: Iterable[Case], count: int) -> tuple[Case, ...]:
    """At most `count` cases that every worker of every shard runs: the same ones wherever the same cases are chosen
    from, one of each function in turn."""
    fit = [
        case
        for case in cases
        if case.axis in SENTINEL_AXES and case.family in SENTINEL_FAMILIES and case.expect == SUCCESS
        if case.waiver is None
    ]
    fit.sort(key=lambda case: (SENTINEL_AXES.index(case.axis), number_of(case.id)))
    turns: dict[str, int] = defaultdict(int)
    ordered = []
    for case in fit:
        ordered.append((turns[case.function], case))
        turns[case.function] += 1
    ordered.sort(key=lambda entry: entry[0])  # stable: within a turn, axes with more elements come first
    return tuple(case for _, case in ordered[:count])


def suspects(
    found: Mapping[_Card, Sequence[Sentinel]], names: Mapping[_Card, str], results: Mapping[_Card, int]
) -> dict[_Card, Suspect]:
    """The cards that differ from most others in a sentinel case, or from themselves in the course of the run.

    What differs within most of the cards is no card's fault and does not count. Where cards are divided evenly, those
    whose result is wrong are suspect; where all are right, all that differ are. `results` counts those of each card.
    """
    said: dict[str, dict[_Card, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for card, entries in found.items():
        for entry in entries:
            said[entry.case][card].append((entry.outcome, entry.digest))
    differing: dict[_Card, list[str]] = defaultdict(list)
    changing: dict[_Card, list[str]] = defaultdict(list)
    for case, of_cards in said.items():
        unstable = [card for card, answers in of_cards.items() if len(set(answers)) > 1]
        if len(of_cards) > 1 and 2 * len(unstable) > len(of_cards):
            continue
        for card in unstable:
            changing[card].append(case)
        stable = {card: answers[0] for card, answers in of_cards.items() if card not in unstable}
        for card in _minority(stable):
            differing[card].append(case)
    marked = [card for card in found if card in differing or card in changing]
    return {
        card: Suspect(
            names[card],
            _message(differing[card], changing[card], len(found) - 1),
            tuple(dict.fromkeys((*differing[card], *changing[card]))),
            results.get(card, 0),
        )
        for card in marked
    }


def _minority(answers: Mapping[_Card, tuple[str, str]]) -> list[_Card]:
    votes = Counter(answers.values()).most_common(2)
    if len(votes) < 2:
        return []
    if votes[0][1] > votes[1][1]:
        return [card for card, answer in answers.items() if answer != votes[0][0]]
    wrong = [card for card, (outcome, _) in answers.items() if outcome != "passed"]
    return wrong if wrong and len(wrong) < len(answers) else list(answers)


def _message(differing: Sequence[str], changing: Sequence[str], others: int) -> str:
    parts = []
    if differing:
        cases = "1 sentinel case" if len(differing) == 1 else f"{len(differing)} sentinel cases"
        which = "the other card" if others == 1 else f"most of the other {others} cards"
        parts.append(f"{cases} differ from {which}, first {differing[0]}")
    if changing:
        cases = "1 sentinel case" if len(changing) == 1 else f"{len(changing)} sentinel cases"
        parts.append(f"{cases} changed in the course of the run, first {changing[0]}")
    return "; ".join(parts)
