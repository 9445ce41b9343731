"""Reports of stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diopigen.diagnostics import Failure

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


@dataclass(frozen=True, slots=True)
class Report:
    """Result of a stage. `facts` are its own fields, such as counts of outcomes."""

    status: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    failures: Sequence[Mapping[str, Any]] = ()

    def event(self, stage: str, seconds: float) -> dict[str, Any]:
        """The event that tells the client."""
        head = {"event": "stage", "stage": stage, "status": self.status, "seconds": round(seconds, 3)}
        return {**head, **self.facts, **({"failures": list(self.failures)} if self.failures else {})}


def failed(message: str, cause: Mapping[str, str] | None = None, **facts: Any) -> Report:
    """A stage with one failure, which belongs to no case."""
    record: dict[str, Any] = {"message": message}
    if cause:
        record["likely_cause"] = cause
    return Report(FAILED, facts, (record,))


def failed_by(error: Failure, **facts: Any) -> Report:
    """A stage that a diagnostic ended."""
    one = error.diagnostics[0]
    return failed(one.message, {"code": one.code, "text": one.fix} if one.fix else None, **facts)
