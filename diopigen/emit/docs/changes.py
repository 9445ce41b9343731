"""Changes between two versions of the interface, by effect."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diopigen.diagnostics import Diagnostic, Severity
from diopigen.emit.docs.facts import Changes
from diopigen.emit.docs.links import CHANGES_PAGE, RULES_PAGE, operator_path, to

_GROUPS = (
    (Severity.ERROR, "breaks-binaries"),
    (Severity.WARNING, "breaks-sources"),
    (Severity.NOTE, "breaks-nothing"),
)
_NAME = re.compile(r"'(diopi\w+)'")


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change. `href` leads to the function that its message names first, where it is still one."""

    rule: str
    rule_href: str
    message: str
    fix: str
    function: str
    href: str


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """The changes of one severity; `label` is a word of the frame."""

    label: str
    rows: tuple[ChangeRow, ...]


def change_groups(changes: Changes, operators: Mapping[str, str], rules: Mapping[str, str]) -> list[ChangeGroup]:
    """All changes, the weightiest first. `operators` has the operator of each C name."""
    return [
        ChangeGroup(label, tuple(_row(one, operators, rules) for one in changes.findings if one.severity is severity))
        for severity, label in _GROUPS
    ]


def _row(finding: Diagnostic, operators: Mapping[str, str], rules: Mapping[str, str]) -> ChangeRow:
    named: Sequence[str] = [name for name in _NAME.findall(finding.message) if name in operators]
    name = named[0] if named else ""
    href = to(operator_path(operators[name]), CHANGES_PAGE, name) if name else ""
    rule = to(RULES_PAGE, CHANGES_PAGE, finding.code) if finding.code in rules else ""
    return ChangeRow(finding.code, rule, finding.message, finding.fix or "", name, href)
