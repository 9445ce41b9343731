"""Results of several machines put together: what does not belong together, what is missing, and which cards differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from diopigen.conformance.model import CaseResult, Results, Sentinel
from diopigen.conformance.run.cards import suspects
from diopigen.conformance.run.identity import planned
from diopigen.conformance.run.reading import with_counts
from diopigen.conformance.run.recorder import differences
from diopigen.conformance.run.shards import parse_shard
from diopigen.diagnostics import Sink, Span

_Say = Callable[..., None]
_NAMED = 5
"""Holes that a finding names; `--json` has all."""


def merge(parts: Mapping[str, Results], sink: Sink, *, allow_missing: bool = False) -> Results:
    """Results by file as one, cases by family and id; seconds are added up.

    What does not belong together goes to `sink`: other libraries, specs, settings or seeds, cases that two files have,
    shards and cases left out. A case that two recordings of one run have counts once; where they differ, that is a
    finding. Results of cards that are suspect over all files are left out, as if they had not run. With
    `allow_missing` what is missing is a warning.
    """
    files = list(parts)
    first = next((one for one in parts.values() if one.vendor), parts[files[0]])
    _check_origin(parts, sink)
    missing: _Say = sink.warning if allow_missing else sink.error
    _check_shards(parts, sink, missing)
    parts = _without_suspects(parts, sink, missing)
    merged = _joined(parts, sink)
    merged.sort(key=lambda result: (result.case.family, result.case.id))
    whole = replace(
        first,
        results=tuple(merged),
        seconds=sum(results.seconds for results in parts.values()),
        shard="",
        endings=tuple(ending for results in parts.values() for ending in results.endings),
        not_run=sum(results.not_run for results in parts.values()),
        declarations={key: text for results in parts.values() for key, text in results.declarations.items()},
        expected=tuple(dict.fromkeys(sorted(name for results in parts.values() for name in results.expected))),
        suspects=tuple(dict.fromkeys(one for results in parts.values() for one in results.suspects)),
        sentinels=(),
        workers={},
        in_force=_in_force(parts),
        serving={path: names for results in parts.values() for path, names in results.serving.items()},
        requires_all=any(results.requires_all for results in parts.values()),
        plan=_plan_of_all(parts),
    )
    if whole.expected:
        for file, results in parts.items():
            _name_holes(file, results, {one.case.id for one in merged}, missing)
        whole = replace(whole, not_run=max(planned(whole.plan) - len(merged), len(whole.holes)))
    return with_counts(whole)


def _in_force(parts: Mapping[str, Results]) -> tuple[str, ...] | None:
    """The names of what confined the library in all parts; None where one part does not say."""
    every = [results.in_force for results in parts.values()]
    known = [one for one in every if one is not None]
    return tuple(name for name in known[0] if all(name in one for one in known)) if len(known) == len(every) else None


def without_times(results: Results) -> Results:
    """The results with all times 0: two runs with equal results are then equal."""
    timeless = tuple(replace(one, seconds=0.0) for one in results.results)
    return replace(results, results=timeless, seconds=0.0)


def _plan_of_all(parts: Mapping[str, Results]) -> str:
    """The number of all cases. Which shard had which is of no interest any more."""
    counts = {planned(results.plan) for results in parts.values()}
    return f"{counts.pop()}/merged" if len(counts) == 1 and counts != {0} else ""


def _check_origin(parts: Mapping[str, Results], sink: Sink) -> None:
    files = list(parts)
    first = parts[files[0]]
    for file in files[1:]:
        other = parts[file]
        pairs = [
            ("the vendor", first.vendor, other.vendor),
            ("the version", first.library_version, other.library_version),
        ]
        found = list(differences(replace(first, shard=""), replace(other, shard="")))
        # A recording without results does not know what the library says of itself.
        both_ran = first.results and other.results
        found += [(what, one, two) for what, one, two in pairs if both_ran and one != two]
        for what, one, two in found:
            message = f"{what} is '{two}' here and '{one}' in {files[0]}"
            sink.error("report-mixed", message, Span(file), fix="merge the results of one run")


def _check_shards(parts: Mapping[str, Results], sink: Sink, missing: _Say) -> None:
    shards = {file: parse_shard(results.shard) for file, results in parts.items() if results.shard}
    if not shards:
        return
    count = next(iter(shards.values())).count
    for file, results in parts.items():
        if file not in shards or shards[file].count != count:
            message = f"holds {'shard ' + results.shard if results.shard else 'no shard'}, others one of {count}"
            sink.error("report-mixed", message, Span(file), fix="merge the shards of one run")
            return
    left_out = sorted(set(range(1, count + 1)) - {shard.index for shard in shards.values()})
    if left_out:
        names = ", ".join(f"{index}/{count}" for index in left_out)
        span = Span(next(iter(shards)))
        fix = "run it with --shard, then merge again"
        missing("report-shard-missing", f"no file holds shard {names}", span, fix=fix)


def _name_holes(file: str, results: Results, done: set[str], missing: _Say) -> None:
    holes = [name for name in results.expected if name not in done]
    if not holes:
        return
    more = f" and {len(holes) - _NAMED} more" if len(holes) > _NAMED else ""
    message = f"{len(holes)} of {len(results.expected)} cases have no result: {', '.join(holes[:_NAMED])}{more}"
    fix = "start the same command again: with --resume it runs what is missing"
    missing("report-hole", message, Span(file), fix=fix)


def _joined(parts: Mapping[str, Results], sink: Sink) -> list[CaseResult]:
    """All results, a case that several files have once."""
    seen: dict[str, tuple[str, CaseResult]] = {}
    for file, results in parts.items():
        twice = [one for one in results.results if one.case.id in seen]
        for result in results.results:
            seen.setdefault(result.case.id, (file, result))
        if not twice:
            continue
        id_of, other = twice[0].case.id, seen[twice[0].case.id][0]
        if not (results.identity and parts[other].identity):
            more = f" and {len(twice) - 1} more cases" if len(twice) > 1 else ""
            sink.error("report-case-twice", f"{id_of}{more} is in {other} too", Span(file), fix="give each shard once")
            continue
        for one in twice:
            before, known = seen[one.case.id]
            if (known.outcome, known.faults) != (one.outcome, one.faults):
                message = f"{one.case.id}: {one.outcome} here and {known.outcome} in {before}"
                if known.outcome == one.outcome:
                    message += ", with other faults"
                fix = "run the case with --repeat: either the kernel is not deterministic, or a card is faulty"
                sink.error("report-conflict", message, Span(file), fix=fix)
    return [result for _, result in seen.values()]


def _without_suspects(parts: Mapping[str, Results], sink: Sink, missing: _Say) -> Mapping[str, Results]:
    """The files without the results of cards that differ from the other cards of all files. They are findings; a card
    whose cases other cards of its run have run again is a warning."""
    cards: dict[tuple[str, int], list[Sentinel]] = {}
    names: dict[tuple[str, int], str] = {}
    counts: Counter[tuple[str, int]] = Counter()
    for file, results in parts.items():
        for one in results.sentinels:
            cards.setdefault((file, one.worker), []).append(one)
        names.update({(file, number): name for number, name in results.workers.items()})
        counts.update((file, one.worker) for one in results.results)
    marked = suspects(cards, {card: names.get(card, f"worker {card[1]}") for card in cards}, counts)
    if not marked:
        return parts
    for (file, _), suspect in marked.items():
        message = f"{suspect.card}: {suspect.message}"
        fix = f"test the card; remove {Path(file).name} and run its shard on another card"
        if suspect.discarded:
            missing("card-suspect", f"{message}; {suspect.discarded} results do not count", Span(file), fix=fix)
        else:
            sink.warning("card-suspect", message, Span(file), fix="test the card: other cards have run its cases again")
    found = {}
    for file, results in parts.items():
        left = tuple(one for one in results.results if (file, one.worker) not in marked)
        own = tuple(one for (where, _), one in marked.items() if where == file)
        found[file] = replace(results, results=left, suspects=(*results.suspects, *own))
    return found
