"""Parts of all cases for machines that share the work.

A case belongs to a shard by its id alone, so that what is added to the spec moves no other case to another machine.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from diopigen.conformance.model import Case
from diopigen.diagnostics import failure

_SHARD = re.compile(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})\Z")


@dataclass(frozen=True, slots=True)
class Shard:
    """The part `index` (from 1) of `count`."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def holds(self, case_id: str) -> bool:
        """Returns whether a case is of this part."""
        return number_of(case_id) % self.count == self.index - 1


def number_of(text: str) -> int:
    """A number of 64 bits that has nothing to do with the order of texts."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def is_shard(text: str) -> bool:
    """Returns whether a text has the form of a shard, `I/N`."""
    return _SHARD.match(text) is not None


def parse_shard(text: str) -> Shard:
    """The shard that `I/N` names. Raises `Failure` for anything else."""
    found = _SHARD.match(text)
    if found is None or int(found[1]) > int(found[2]):
        raise failure("bad-shard", f"'{text}' is no shard", fix="write I/N, such as 1/4 for the first of four parts")
    return Shard(int(found[1]), int(found[2]))


def part(cases: Sequence[Case], shard: Shard | None) -> list[Case]:
    """The cases of a shard, in their order; all of them without one."""
    return [case for case in cases if shard is None or shard.holds(case.id)]


def divided(cases: Sequence[Case], count: int) -> list[list[Case]]:
    """The cases of all `count` shards, each in the order of `cases`."""
    parts: list[list[Case]] = [[] for _ in range(count)]
    for case in cases:
        parts[number_of(case.id) % count].append(case)
    return parts


def sample(cases: Sequence[Case], count: int) -> list[Case]:
    """At most `count` cases of each function, in their order: one of each axis in turn, which and in which turn follows
    from ids alone."""
    groups: dict[str, dict[str, list[Case]]] = {}
    for case in sorted(cases, key=lambda case: number_of(case.id)):
        groups.setdefault(case.function, {}).setdefault(case.axis, []).append(case)
    retained: set[str] = set()
    for function, axes in groups.items():
        turns = itertools.zip_longest(
            *(axes[axis] for axis in sorted(axes, key=lambda axis: number_of(function + axis)))
        )
        retained.update(case.id for case in itertools.islice((case for turn in turns for case in turn if case), count))
    return [case for case in cases if case.id in retained]
