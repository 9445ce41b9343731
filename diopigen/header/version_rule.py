"""The version that an interface must have after a change, and the versions that brought its functions.

What breaks raises the major number, what adds or widens the minor one, other words the patch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from diopigen.diagnostics import Diagnostic, Severity, Sink, Span
from diopigen.header.cdecl import CInterface
from diopigen.header.check import Version
from diopigen.header.compare import VERSION_MACROS
from diopigen.header.rules import ERROR, WARNING, Reporter, Rule, Rules

RULES: Rules = {
    "version-not-raised": Rule(ERROR, "the version of the interface does not tell what changed"),
    "function-since": Rule(ERROR, "the `since` of a function is the version that brought it"),
}
WORDS = frozenset(
    {
        "contract-meaning-reworded",
        "function-restored",
        "macro-changed",
        "parameter-const-changed",
        "parameter-renamed",
        "parameter-type-respelled",
    }
)
"""Rules about changes that no program can tell."""


class Number(NamedTuple):
    """The version of an interface."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, self))

    def after(self, changes: Iterable[Diagnostic]) -> Number:
        """The lowest version that an interface may have after these findings of `breaking`."""
        found = list(changes)
        if any(one.severity is Severity.ERROR for one in found):
            return Number(self.major + 1, 0)
        if any(one.code not in WORDS for one in found):
            return Number(self.major, self.minor + 1)
        return Number(self.major, self.minor, self.patch + 1) if found else self


def number_of(interface: CInterface) -> Number | None:
    """The version in the macros; None where it is missing, or 0.0.0, which `import-proto` writes for a missing one."""
    macros = dict(interface.macros)
    texts = [macros.get(f"{VERSION_MACROS}{part.upper()}", "") for part in Number._fields]
    number = Number(*map(int, texts)) if all(text.isdecimal() for text in texts) else None
    return number if number and any(number) else None


def check_version(old: Version, new: Version, changes: Iterable[Diagnostic], sink: Sink) -> None:
    """Reports a version that is too low for the changes from `old` to `new`, and functions with a wrong `since`."""
    before, after = number_of(old.declared), number_of(new.declared)
    if before is None or after is None:
        return
    report = Reporter(RULES, sink)
    due = before.after(one for one in changes if not _is_of_the_version(one))
    if after < due:
        values = ", ".join(f"{name}: {value}" for name, value in due._asdict().items())
        message = f"the version is {after}, and after these changes at least {due}"
        severity = ERROR if after[:2] < due[:2] else WARNING
        report("version-not-raised", message, _span(new), fix=f"version: {{{values}}}", severity=severity)
    if new.spec is None:
        return
    known = {function.name for function in old.declared.functions}
    newest = max(after, due)
    for function in new.spec.functions:
        since = Number(*map(int, function.since.split(".")))
        if function.name in known and since > before and "since" in function.spans:
            message = f"'{function.name}' is in version {before} already, and its since is {function.since}"
            report("function-since", message, function.at("since"), fix="restore its since")
        elif function.name not in known and not before[:2] < since[:2] <= newest[:2]:
            message = f"'{function.name}' came after version {before}, and its since is {function.since}"
            fix = f"since: '{newest.major}.{newest.minor}'"
            report("function-since", message, function.at("since"), fix=fix)


def _is_of_the_version(change: Diagnostic) -> bool:
    """Returns whether a macro changed that is the version itself."""
    return change.code == "macro-changed" and f"'{VERSION_MACROS}" in change.message


def _span(new: Version) -> Span | None:
    """The file of types of a spec, or the macro of a header."""
    if new.spec is not None:
        return next((Span(enum.span.file) for enum in new.spec.enums), None)
    return dict(new.declared.macro_spans).get(f"{VERSION_MACROS}MAJOR")
