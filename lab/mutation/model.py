"""Types of a mutation run: injected faults, and their outcome in each function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

REQUIRED = 0.95
"""The share of injected faults that the suite has to find."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault that can be injected: `sentence` says what the faulty library does, `functions` where it does it."""

    name: str
    kind: str
    sentence: str
    functions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A fault in one function. `outcome` is `killed`, `survived` (it acted, and every case passed), `not reached` (no
    case lets it act) or `unsound` (a case fails before it acts); `case` and `found_as` say which case fails, and as
    what."""

    function: str
    family: str
    outcome: str
    case: str = ""
    found_as: str = ""
    axes: tuple[str, ...] = ()
    """Axes of the cases that were tried, and of those that fail, where each axis was tried; else one that is empty."""
    killing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MutantVerdict:
    """Outcome of a fault in the functions of the library."""

    mutant: Mutant
    trials: tuple[Trial, ...]
    seconds: float

    @property
    def outcome(self) -> str:
        """`killed` where it is found in every function in which it acts, `partly` where in some of them, `survived`
        where in none; `not reached` where it never acts, `unsound` where a case fails before it does, `lacking` where
        the library has none of the functions."""
        if not self.trials:
            return "lacking"
        if any(trial.outcome == "unsound" for trial in self.trials):
            return "unsound"
        survived, killed = bool(self.of("survived")), bool(self.of("killed"))
        if killed:
            return "partly" if survived else "killed"
        return "survived" if survived else "not reached"

    def of(self, outcome: str) -> tuple[str, ...]:
        """The functions with an outcome."""
        return tuple(trial.function for trial in self.trials if trial.outcome == outcome)


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run: `unsound` names cases that fail without any fault, which show nothing."""

    verdicts: Sequence[MutantVerdict]
    library: str
    cases: int
    seconds: float
    unsound: Sequence[str] = ()
    not_run: int = 0
    """Faults without a verdict, since the run was interrupted."""

    @property
    def injected(self) -> tuple[MutantVerdict, ...]:
        """The faults that the library has functions for."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome != "lacking")

    @property
    def faults_killed(self) -> float:
        """The share of faults that are found, be it not in every function in which they act."""
        return _fraction([verdict.outcome in ("killed", "partly") for verdict in self.injected])

    @property
    def positions_killed(self) -> float:
        """The share of places, a fault in a function where it acts, that are found."""
        acted = [t for v in self.injected for t in v.trials if t.outcome != "not reached"]
        return _fraction([trial.outcome == "killed" for trial in acted])

    @property
    def strong(self) -> bool:
        """Returns whether every fault was tried and both shares are as large as they have to be."""
        return not self.not_run and min(self.faults_killed, self.positions_killed) >= REQUIRED


def _fraction(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 0.0
