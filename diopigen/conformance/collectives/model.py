"""Calls of the suite of collectives, and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CollectiveCase:
    """One step of all ranks. `members` of the `group` call `function`; the others do nothing.

    `axis` says what the case is about: `dtype`, `count`, `place`, `group`, `order`, `streams`, `refusal`, `ended`.
    """

    function: str
    axis: str
    dtype: str = "float32"
    count: int = 7
    op: str = ""
    root: int = -1
    in_place: bool = False
    group: str = "world"
    repeats: int = 1
    """So many calls one after the other, without waiting in between."""
    second: str = ""
    """A group whose calls run at the same time, on another stream."""
    wrong: Mapping[str, int] = field(default_factory=dict)
    """Arguments that break a constraint, which is named by `breaks`."""
    breaks: str = ""
    error: str = ""
    """The status that such a call returns."""

    @property
    def id(self) -> str:
        """The name of the case in reports: `diopiAllReduce/dtype/float32-7-sum`."""
        words = [self.dtype, str(self.count), self.op, f"root{self.root}" if self.root >= 0 else ""]
        words += ["inplace" if self.in_place else "", self.group if self.group != "world" else ""]
        words += [f"x{self.repeats}" if self.repeats > 1 else "", f"with-{self.second}" if self.second else ""]
        words += [f"{name}={value}" for name, value in self.wrong.items()]
        return f"{self.function}/{self.axis}/{'-'.join(word for word in words if word)}"


def groups(nranks: int) -> dict[str, tuple[int, ...]]:
    """The communicators of a run by name: `world` and a second one of all ranks, and sub-groups."""
    everyone = tuple(range(nranks))
    found = {"world": everyone, "twin": everyone, "even": everyone[::2], "odd": everyone[1::2]}
    if nranks > 2:
        found["reversed"] = everyone[:0:-1]
    return {name: members for name, members in found.items() if members}


@dataclass(frozen=True, slots=True)
class RankOutcome:
    """Result of a case on one rank: empty `problem` for success, `skipped` if the library does not have the dtype or
    the function; a digest of the received data."""

    problem: str = ""
    skipped: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class CollectiveResult:
    """The outcome of a case: `passed`, `failed` or `skipped`, with the reason."""

    case: CollectiveCase
    status: str
    reason: str = ""
