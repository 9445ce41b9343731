"""Types of a campaign over sources: locations that can be changed, and the outcome of each change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

REQUIRED = 0.92
"""The share of faults not shown equivalent that the suite has to find."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A change of one expression or statement of a source file.

    `file` is relative to the root of the sources, `start` and `end` are byte offsets, `replacement` is what comes in
    their place. `statement` tells a statement, its semicolon included, from an expression. `function` encloses it.
    """

    file: str
    start: int
    end: int
    replacement: str
    kind: str
    function: str
    line: int
    column: int
    original: str
    statement: bool = False
    occurrence: int = 0

    @property
    def key(self) -> str:
        """The same for as long as the function that it is in reads the same there, wherever in the file that is.
        `occurrence` counts changes of one function that read the same."""
        parts = (self.file, self.function, self.kind, self.original, self.replacement, str(self.occurrence))
        return "|".join(" ".join(part.split()) for part in parts)

    @property
    def id(self) -> str:
        """Readable and unique within one state of the sources."""
        return f"{self.file}:{self.line}:{self.column} {self.kind} {short(self.original)} -> {short(self.replacement)}"

    @property
    def family(self) -> str:
        """The group that sampling treats as one: a folder of functions, the common sources, or the generated loops."""
        parts = self.file.split("/")
        if "functions" in parts:
            return parts[parts.index("functions") + 1]
        return "generated" if parts[0] == "generated" else "common"


def short(text: str, limit: int = 60) -> str:
    """Text on one line, cut in the middle where it is long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit // 2 - 2]} .. {flat[-limit // 2 + 2 :]}"


OUTCOMES = ("killed", "survived", "not reached", "equivalent", "stillborn")


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome of a fault.

    `killed`: the case `case` fails, as `found_as`. `survived`: `cases` cases reach it and all pass. `not reached`: no
    case evaluates it. `equivalent`: `reason` shows that it changes nothing, either as the compiler makes the same
    object code of it or as a waiver argues. `stillborn`: it does not compile. `functions` are those that reach it.
    """

    point: Point
    outcome: str
    case: str = ""
    found_as: str = ""
    cases: int = 0
    functions: tuple[str, ...] = ()
    reason: str = ""
    seconds: float = 0.0


def to_record(result: Result) -> dict[str, Any]:
    """A result as JSON values."""
    return {**asdict(result), "functions": list(result.functions), "id": result.point.id}


def from_record(record: dict[str, Any]) -> Result:
    """The result that `to_record` wrote."""
    rest = {key: value for key, value in record.items() if key not in ("id", "point", "functions")}
    return Result(Point(**record["point"]), functions=tuple(record["functions"]), **rest)


@dataclass(frozen=True, slots=True)
class Score:
    """Number of counted faults, and of detected ones."""

    counted: int
    killed: int

    @property
    def fraction(self) -> float:
        """The share of faults found, of those that compile and are not shown equivalent."""
        return self.killed / self.counted if self.counted else 0.0


def score(results: Sequence[Result]) -> Score:
    """The share found: faults that do not compile or that are shown equivalent do not count, all others do."""
    counted = [result for result in results if result.outcome not in ("equivalent", "stillborn")]
    return Score(len(counted), sum(result.outcome == "killed" for result in counted))
