"""Findings with the severity that a project gives to their rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from diopigen.diagnostics import Diagnostic, Note, Severity, Sink

_LOWERABLE = ("diopigen.completeness.", "diopigen.header.", "diopigen.vendor.doctor")
"""Modules whose errors do not keep a command from its work. What has another error is left out of what is read, so that
a command would go on with a part of it as if it were all."""

_RANK = {Severity.ERROR: 2, Severity.WARNING: 1, Severity.NOTE: 0, None: -1}


class WeightedSink(Sink):
    """A sink that gives findings of some rules another severity, or leaves them out (None)."""

    def __init__(self, severity: Mapping[str, Severity | None], file: str) -> None:
        super().__init__()
        self._severity = severity
        self._file = file

    def add(self, diagnostic: Diagnostic) -> None:
        weighted = self._weighted(diagnostic)
        if weighted is None:
            self.reported += 1
        else:
            super().add(weighted)

    def _weighted(self, diagnostic: Diagnostic) -> Diagnostic | None:
        if diagnostic.code not in self._severity:
            return diagnostic
        severity = self._severity[diagnostic.code]
        is_lower = _RANK[severity] < _RANK[diagnostic.severity]
        if is_lower and diagnostic.severity is Severity.ERROR and not _is_lowerable(diagnostic.code):
            note = Note(f"{self._file} cannot lower it: what has this error is not read")
            return replace(diagnostic, notes=(*diagnostic.notes, note))
        return None if severity is None else replace(diagnostic, severity=severity)


def _is_lowerable(rule: str) -> bool:
    from diopigen.rulebook.rules import module_of

    return f"{module_of(rule)}.".startswith(_LOWERABLE)
