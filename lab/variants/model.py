"""Types of a run over legal variants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diopigen.conformance.model import CaseResult
from lab.mutation.model import Mutant


@dataclass(frozen=True, slots=True)
class VariantVerdict:
    """Outcome of a variant: the functions that it replaces, those of them in which it wrote no result of any case, the
    number of cases, the calls whose results it wrote, and the results that fail because of it."""

    variant: Mutant
    functions: tuple[str, ...]
    idle: tuple[str, ...]
    cases: int
    calls: int
    failures: tuple[CaseResult, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """A whole run: `unsound` names cases that fail without any variant, which count against the library alone."""

    verdicts: Sequence[VariantVerdict]
    library: str
    seconds: float
    unsound: Sequence[str] = ()

    @property
    def accepted(self) -> bool:
        """Returns whether every variant wrote results in each of its functions, and no case failed because of one."""
        return bool(self.verdicts) and all(v.calls and not v.idle and not v.failures for v in self.verdicts)
