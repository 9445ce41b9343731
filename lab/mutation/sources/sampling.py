"""Chooses faults: a share of each family, by numbers that follow from what the fault is and from the seed alone.

What is added elsewhere in the sources moves few faults into the sample or out of it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from diopigen.conformance.model import Case
from diopigen.diagnostics import did_you_mean, failure
from lab.mutation.sources.model import Point

LEAST = 12
"""So many faults of a family at least, where it has as many."""


def selected(
    points: Sequence[Point], *, families: Sequence[str], files: Sequence[str], kinds: Sequence[str]
) -> list[Point]:
    """The points of these families, files (globs) and kinds; an empty list admits all. Raises `Failure` for a name that
    nothing has."""
    _require("family", families, {point.family for point in points})
    _require("kind", kinds, {point.kind for point in points})
    every = {point.file for point in points}
    for glob in files:
        if not any(fnmatchcase(file, glob) for file in every):
            raise failure("unknown-source", f"there is no source '{glob}' with faults", fix=did_you_mean(glob, every))
    return [
        point
        for point in points
        if (not families or point.family in families)
        and (not files or any(fnmatchcase(point.file, glob) for glob in files))
        and (not kinds or point.kind in kinds)
    ]


def _require(what: str, names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            fix = did_you_mean(name, known) or f"one of: {', '.join(sorted(known))}"
            raise failure("unknown-source", f"no fault is of the {what} '{name}'", fix=fix)


def sample(points: Sequence[Point], count: int, seed: int) -> list[Point]:
    """`count` of the points, 0 for all: of each family as many as its share of the square roots of sizes, so that small
    ones count, and of each of its files in turn, so that none is left out for long."""
    if not count or count >= len(points):
        return sorted(points)
    families: dict[str, list[Point]] = defaultdict(list)
    for point in points:
        families[point.family].append(point)
    queues = {name: _in_turn(members, seed) for name, members in sorted(families.items())}
    weights = {name: len(members) ** 0.5 for name, members in families.items()}
    found: list[Point] = []
    taken = dict.fromkeys(queues, 0)
    while len(found) < count and queues:
        # The family that is furthest behind its share; every one has its least number first.
        name = min(queues, key=lambda name: (taken[name] >= LEAST, taken[name] / weights[name], name))
        following = next(queues[name], None)
        if following is None:
            del queues[name]
            continue
        taken[name] += 1
        found.append(following)
    return sorted(found)


def one_dtype_each(cases: Sequence[Case]) -> list[Case]:
    """Of the cases that differ in dtype alone one each, which one follows from their ids: a third of all cases, which
    find most faults."""
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.id.replace(f"/{case.dtype}/", "/")].append(case)
    retained = {min(members, key=lambda case: _digest(case.id)).id for members in groups.values()}
    return [case for case in cases if case.id in retained]


def _in_turn(points: Sequence[Point], seed: int) -> Iterator[Point]:
    """The points of a family, ordered by number, but one from each line of code that has none yet first."""
    numbered = sorted(points, key=lambda point: _number(point, seed))
    seen: set[tuple[str, int]] = set()
    later = []
    for point in numbered:
        line = (point.file, point.line)
        if line in seen:
            later.append(point)
        else:
            seen.add(line)
            yield point
    yield from later


def _number(point: Point, seed: int) -> bytes:
    return _digest(f"{seed}:{point.key}")


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
