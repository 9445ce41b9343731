"""Report of a campaign over sources, as text and as JSON. Nothing is written here."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from lab.mutation.report import table
from lab.mutation.sources.model import OUTCOMES, REQUIRED, Point, Result, score, short, to_record

_NAMED = 6
"""So many functions of a survivor are named."""


def text(results: Sequence[Result], files: Mapping[str, bytes]) -> str:
    """Tables by family and kind, the holes one by one, and a summary."""
    holes = [result for result in results if result.outcome in ("survived", "not reached")]
    parts = [
        _counted(results, "family", lambda point: point.family),
        _counted(results, "kind of fault", lambda point: point.kind),
    ]
    if holes:
        parts.append("\n".join(["holes:", *(line for hole in holes for line in _hole(hole, files))]))
    else:
        parts.append("holes: none")
    return "\n\n".join([*parts, summary(results)]) + "\n"


def summary(results: Sequence[Result]) -> str:
    """One line: how many faults were injected, how many count, and how many of these are found."""
    found = score(results)
    counts = {outcome: sum(result.outcome == outcome for result in results) for outcome in OUTCOMES}
    needed = "" if found.fraction >= REQUIRED else f"; {REQUIRED:.0%} are needed"
    return (
        f"{len(results)} faults in {len({r.point.file for r in results})} sources: {counts['killed']} of "
        f"{found.counted} found ({found.fraction:.1%}), {counts['survived']} survived, "
        f"{counts['not reached']} not reached; "
        f"{counts['equivalent']} shown equivalent, {counts['stillborn']} do not compile{needed}"
    )


def _counted(results: Sequence[Result], head: str, group: Callable[[Point], str]) -> str:
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[group(result.point)].append(result)
    rows = [_row(name, members) for name, members in sorted(groups.items())]
    return table([head, "faults", *OUTCOMES, "found"], [*rows, _row("total", results)])


def _row(name: str, results: Sequence[Result]) -> list[str]:
    counts = [str(sum(result.outcome == outcome for result in results)) for outcome in OUTCOMES]
    found = score(results)
    return [name, str(len(results)), *counts, f"{found.fraction:.1%}" if found.counted else "-"]


def _hole(result: Result, files: Mapping[str, bytes]) -> Iterable[str]:
    point = result.point
    line = files[point.file].decode(errors="replace").split("\n")[point.line - 1].strip()
    yield f"  {point.file}:{point.line}:{point.column} in {point.function} ({point.kind})"
    yield f"    - {short(line, 110)}"
    yield f"    + {short(point.original)} -> {short(point.replacement)}"
    if result.outcome == "not reached":
        yield "    no case evaluates it"
        return
    names = [name.removeprefix("diopi") for name in result.functions]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    yield f"    {result.cases} cases of {', '.join(names[:_NAMED])}{more} reach it and pass"


def to_json(results: Sequence[Result], about: Mapping[str, object]) -> str:
    """Everything, with what was asked for in `about`."""
    found = score(results)
    record = {
        **about,
        "counted": found.counted,
        "killed": found.killed,
        "share": round(found.fraction, 4),
        "faults": [to_record(result) for result in results],
    }
    return json.dumps(record, indent=1) + "\n"
