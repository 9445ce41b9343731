"""The vendor's view of a run: results that pass only by declared accuracy, and calls that shims convert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diopigen.conformance.model import Case, CaseResult, Results
from diopigen.output import table

_SHOWN = 12
_NAMED = 3
"""Cases that are worse than declared are named up to this number; --json has all."""


@dataclass(frozen=True, slots=True)
class DeclaredUse:
    """Effect of one entry of the chip's file in a run: the cases that it applies to, those that pass only by it, and
    those that exceed it."""

    where: str
    text: str
    cases: int
    alone: int
    worse: tuple[str, ...]


def declared_uses(results: Results) -> list[DeclaredUse]:
    """The entries of the chip's file in its order; entries that no result was held to are there with 0 cases."""
    held: dict[str, list[CaseResult]] = {where: [] for where in results.declarations}
    for result in results.results:
        for where in result.declared:
            held.setdefault(where, []).append(result)
    return [
        DeclaredUse(
            where,
            results.declarations.get(where, ""),
            len(members),
            sum(result.outcome == "declared" for result in members),
            tuple(result.case.id for result in members if is_worse(result)),
        )
        for where, members in held.items()
    ]


def is_worse(result: CaseResult) -> bool:
    """Returns whether results are worse than the chip's file declares."""
    return bool(result.declared) and any(fault.kind == "values" for fault in result.faults)


def declared_text(results: Results) -> list[str]:
    """A paragraph for the report; none where nothing is declared."""
    uses = declared_uses(results)
    if not uses:
        return []
    alone = results.counts.get("declared", 0)
    worse = sum(is_worse(result) for result in results.results)
    lines = [f"declared accuracy: {alone} of {len(results.results)} cases pass by it alone, {worse} are worse"]
    width = max(len(use.where) for use in uses)
    for use in uses:
        line = f"  {use.where:<{width}}  {use.text}: {use.cases} cases, {use.alone} by it alone"
        if use.worse:
            more = f" and {len(use.worse) - _NAMED} more" if len(use.worse) > _NAMED else ""
            line += f", {len(use.worse)} worse: {', '.join(use.worse[:_NAMED])}{more}"
        lines.append(line)
    return ["\n".join(lines)]


def casts_of(case: Case) -> str:
    """Dtypes of a converted call: `float64 as float32`."""
    if case.conversion is None:
        return ""
    pairs = {pair for casts in case.conversion.casts.values() for pair in casts.items()}
    return ", ".join(f"{source} as {target}" for source, target in sorted(pairs))


def converted_counts(results: Sequence[CaseResult]) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Calls that the library ran converted, and those that only hold for the dtypes that they are converted to, by
    function and casts."""
    ran, alone = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for result in results:
        if result.case.conversion is not None and result.outcome not in ("unimplemented", "missing"):
            key = result.case.function, casts_of(result.case)
            ran[key] += 1
            alone[key] += result.outcome == "converted"
    return {key: (count, alone[key]) for key, count in ran.most_common()}


def converted_text(results: Results) -> list[str]:
    """A paragraph for the report; none where nothing is converted."""
    counts = converted_counts(results.results)
    if not counts:
        return []
    ran, alone = (sum(pair[index] for pair in counts.values()) for index in (0, 1))
    lines = [f"converted by shims: {ran} calls, {alone} of them right only for the dtypes that they are converted to"]
    rows = [(str(pair[0]), str(pair[1]), *key) for key, pair in counts.items()]
    lines += [f"  {line}" for line in table.lines(rows[:_SHOWN], left=(2, 3))]
    if len(rows) > _SHOWN:
        lines.append(f"  and {len(rows) - _SHOWN} more functions; --json has all")
    return ["\n".join(lines)]
