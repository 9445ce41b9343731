"""Report of a mutation run, as text and as JSON. Nothing is printed or written here."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from diopigen.output.table import ruled
from lab.mutation.model import REQUIRED, MutantVerdict, Report, Trial

_NAMED = 8
"""So many functions of a survivor are named in the text; the JSON has all."""


def text(report: Report) -> str:
    """Tables by kind of fault and by family, what found the faults, the survivors by name, and a summary."""
    injected = report.injected
    parts = [_by_kind(injected), _by_family(injected), _found_as(injected)]
    survivors = [verdict for verdict in injected if verdict.outcome != "killed"]
    if survivors:
        parts.append("\n".join(["survivors:", *(line for verdict in survivors for line in _survivor(verdict))]))
    else:
        parts.append("survivors: none")
    lacking = [verdict.mutant.name for verdict in report.verdicts if verdict.outcome == "lacking"]
    if lacking:
        parts.append(f"the library lacks every function of: {', '.join(lacking)}")
    if report.unsound:
        text = f"{len(report.unsound)} cases fail without any fault and show nothing: {', '.join(report.unsound[:4])}"
        parts.append(text + (", ..." if len(report.unsound) > 4 else ""))
    return "\n\n".join([*parts, summary(report)]) + "\n"


def summary(report: Report) -> str:
    """One line: the shares of faults and of places that are found, and whether they suffice."""
    injected = report.injected
    found = sum(verdict.outcome in ("killed", "partly") for verdict in injected)
    everywhere = sum(verdict.outcome == "killed" for verdict in injected)
    trials = [trial for verdict in injected for trial in verdict.trials if trial.outcome != "not reached"]
    found_positions = sum(trial.outcome == "killed" for trial in trials)
    kinds, functions = len({v.mutant.kind for v in injected}), len({t.function for t in trials})
    needed = "" if report.strong else f"; {REQUIRED:.0%} are needed"
    if report.not_run:
        needed = f"; interrupted: {report.not_run} faults were not tried"
    return (
        f"{report.library}: {found} of {len(injected)} faults of {kinds} kinds killed ({report.faults_killed:.1%}), "
        f"{everywhere} of them wherever they act; "
        f"{found_positions} of {len(trials)} places in {functions} functions ({report.positions_killed:.1%}); "
        f"{report.cases} cases, {report.seconds:.0f} s{needed}"
    )


def _survivor(verdict: MutantVerdict) -> Iterable[str]:
    mutant = verdict.mutant
    if verdict.outcome == "not reached":
        yield f"  {mutant.name} ({mutant.kind}): {mutant.sentence}; not reached: no case lets it act"
        return
    if verdict.outcome == "unsound":
        failing = next(trial.case for trial in verdict.trials if trial.outcome == "unsound")
        yield f"  {mutant.name} ({mutant.kind}): {mutant.sentence}; {failing} fails although the fault has not acted"
        return
    names = [name.removeprefix("diopi") for name in verdict.of("survived")]
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    acted = sum(trial.outcome != "not reached" for trial in verdict.trials)
    yield f"  {mutant.name} ({mutant.kind}): {mutant.sentence}; acts in {acted} functions, not found in {shown}"


def _by_kind(injected: Sequence[MutantVerdict]) -> str:
    groups: dict[str, list[MutantVerdict]] = defaultdict(list)
    for verdict in injected:
        groups[verdict.mutant.kind].append(verdict)
    rows = [_row(kind, members) for kind, members in groups.items()]
    rows.append(_row("total", injected))
    return table(["kind of fault", "faults", "killed", "partly", "survived", "not reached", "places", "killed"], rows)


def _row(name: str, verdicts: Sequence[MutantVerdict]) -> list[str]:
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    trials = Counter(trial.outcome for verdict in verdicts for trial in verdict.trials)
    acted = trials["killed"] + trials["survived"]
    return [
        name, str(len(verdicts)), *(str(outcomes[word]) for word in ("killed", "partly", "survived", "not reached")),
        str(acted), str(trials["killed"]),
    ]  # fmt: skip


def _by_family(injected: Sequence[MutantVerdict]) -> str:
    groups: dict[str, list[tuple[str, Trial]]] = defaultdict(list)
    for verdict in injected:
        for trial in verdict.trials:
            if trial.outcome != "not reached":
                groups[trial.family].append((verdict.mutant.name, trial))
    rows = []
    for family, members in groups.items():
        killed = sum(trial.outcome == "killed" for _, trial in members)
        faults, functions = {name for name, _ in members}, {trial.function for _, trial in members}
        fraction = f"{killed / len(members):.1%}"
        rows.append([family, str(len(functions)), str(len(faults)), str(len(members)), str(killed), fraction])
    return table(["family", "functions", "faults", "places", "killed", ""], sorted(rows))


def _found_as(injected: Sequence[MutantVerdict]) -> str:
    kinds = Counter(t.found_as for v in injected for t in v.trials if t.outcome == "killed")
    rows = []
    for kind, count in kinds.most_common():
        example = next(t.case for v in injected for t in v.trials if t.found_as == kind)
        rows.append([kind, str(count), example])
    return table(["found as", "places", "for example by"], rows, left=(0, 2))


@dataclass(frozen=True, slots=True)
class AxisKills:
    """Places, a fault in a function where it acts, in functions that have cases of an axis: how many these cases find,
    and how many no case of another axis finds."""

    axis: str
    tried: int
    killed: int
    killed_by_no_other: int


def kills_by_axis(report: Report) -> list[AxisKills]:
    """The kills of each axis, most first, of a run that tried every axis."""
    acted = [t for v in report.injected for t in v.trials if t.outcome in ("killed", "survived")]
    tried = Counter(axis for trial in acted for axis in trial.axes)
    killed = Counter(axis for trial in acted for axis in trial.killing)
    sole = Counter(trial.killing[0] for trial in acted if len(trial.killing) == 1)
    return [AxisKills(axis, tried[axis], killed[axis], sole[axis]) for axis in sorted(tried, key=lambda a: -killed[a])]


def axes_text(report: Report) -> str:
    """The kills of each axis as a table."""
    rows = [
        [one.axis, str(one.tried), str(one.killed), f"{one.killed / one.tried:.1%}", str(one.killed_by_no_other)]
        for one in kills_by_axis(report)
    ]
    return table(["axis", "places", "killed", "", "by no other"], rows) + "\n\n"


def axes_to_json(report: Report, provenance: Mapping[str, str]) -> str:
    """The kills of each axis, with what the figures are from."""
    record = {
        **provenance,
        "faults": len(report.injected),
        "functions": len({trial.function for verdict in report.injected for trial in verdict.trials}),
        "axes": {
            one.axis: {"places": one.tried, "killed": one.killed, "by_no_other": one.killed_by_no_other}
            for one in kills_by_axis(report)
        },
    }
    return json.dumps(record, indent=1) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Rows under a header; columns are right-aligned but for those in `left`."""
    return "\n".join(ruled([header, *rows], left))


def to_json(report: Report) -> str:
    """Everything: each fault with its functions, outcomes, and the case that found it."""
    record = {
        "library": report.library,
        "seconds": round(report.seconds, 3),
        "cases": report.cases,
        "faults_killed": round(report.faults_killed, 4),
        "places_killed": round(report.positions_killed, 4),
        "unsound": list(report.unsound),
        "faults": [_record(verdict) for verdict in report.verdicts],
        **({"not_run": report.not_run} if report.not_run else {}),
    }
    return json.dumps(record, indent=1) + "\n"


def _record(verdict: MutantVerdict) -> dict[str, object]:
    mutant = verdict.mutant
    by_function = {
        trial.function: {"outcome": trial.outcome, "case": trial.case, "found_as": trial.found_as}
        for trial in verdict.trials
    }
    return {
        "name": mutant.name, "kind": mutant.kind, "sentence": mutant.sentence, "outcome": verdict.outcome,
        "seconds": round(verdict.seconds, 3), "functions": by_function,
    }  # fmt: skip
