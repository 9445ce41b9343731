"""Rules as data: what a rule is for and how much a finding of it weighs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from diopigen.diagnostics import Diagnostic, Note, Severity, Sink, Span


@dataclass(frozen=True, slots=True)
class Rule:
    """Purpose of a rule, in one line, and the severity of its findings."""

    severity: Severity
    purpose: str


Rules = Mapping[str, Rule]

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True, slots=True)
class Reporter:
    """Adds findings of one rule table to a sink; a rule id that the table lacks is a KeyError."""

    rules: Rules
    sink: Sink

    def __call__(
        self,
        rule: str,
        message: str,
        span: Span | None,
        *,
        fix: str | None = None,
        notes: Iterable[Note] = (),
        severity: Severity | None = None,
    ) -> None:
        weight = severity or self.rules[rule].severity
        self.sink.add(Diagnostic(rule, weight, message, span, tuple(notes), fix))
