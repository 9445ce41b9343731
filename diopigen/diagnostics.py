"""Findings: what is wrong, where it stands, and what to do about it.

Every layer reports through a `Sink`, so that one run shows all findings and not only the first.
Only a fault that leaves nothing to work on (an unreadable file, say) is raised, as `Failure`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum


class Severity(str, Enum):
    """Severity of a finding: an error fails the run, a warning does so under `--strict`, a note never."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    def __str__(self) -> str:
        return self.value


class Correction(str):
    """A fix line that a program can carry out as well: in the span of the finding `wrong` becomes `right`.

    Where `right` is empty, `wrong` is removed: a line that is nothing else, an item of a list with its comma, and for
    `- name:` the whole item of a list that begins so. `is_certain` holds where there is no choice, such as another name
    that is as near.
    """

    wrong: str
    right: str
    is_certain: bool

    @classmethod
    def of(cls, text: str, wrong: str, right: str, *, is_certain: bool = True) -> Correction:
        """The fix line `text`."""
        created = cls(text)
        created.wrong, created.right, created.is_certain = wrong, right, is_certain
        return created


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a file. Lines and columns count from 1, the end is exclusive; columns count characters."""

    file: str
    line: int = 1
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def shifted(self, offset: int, length: int = 1) -> Span:
        """The span `offset` characters further on the same line, `length` wide (for text inside a YAML scalar)."""
        column = self.column + offset
        return Span(self.file, self.line, column, self.line, column + length)


@dataclass(frozen=True, slots=True)
class Note:
    """A second place or a remark that explains a finding."""

    message: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `code` is the id of the rule that found it (kebab-case, listed by `diopigen explain --rules`),
    `fix` says what to do next in the imperative.
    """

    code: str
    severity: Severity
    message: str
    span: Span | None = None
    notes: tuple[Note, ...] = ()
    fix: str | None = None

    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        span = self.span or Span("", 0, 0)
        return (span.file, span.line, span.column, _RANK[self.severity], self.code, self.message)


_NOT_DONE = frozenset({"file-not-text", "file-not-utf8", "file-too-large", "output-locked", "output-no-space"})


def prevents_work(diagnostic: Diagnostic) -> bool:
    """Returns whether a finding says that something could not be read or written at all, and not what is wrong in it:
    the command then ends with 2. Ids of such rules end in `-unreadable` or `-unwritable`, but for a few."""
    code = diagnostic.code
    return diagnostic.severity is Severity.ERROR and (
        code in _NOT_DONE or code.endswith(("-unreadable", "-unwritable"))
    )


class Failure(Exception):
    """Work cannot go on. Carries the diagnostics that say why; the command line prints them and exits with 2."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics


def failure(code: str, message: str, span: Span | None = None, fix: str | None = None) -> Failure:
    """A `Failure` with one error in it."""
    return Failure(Diagnostic(code, Severity.ERROR, message, span, (), fix))


@dataclass(slots=True)
class Sink:
    """Collects diagnostics; identical ones are kept once."""

    _found: dict[Diagnostic, None] = field(default_factory=dict)
    reported: int = 0
    """Count of findings that were added, those included that a project ignores: work without any may be cached."""

    def add(self, diagnostic: Diagnostic) -> None:
        self.reported += 1
        self._found.setdefault(diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    def error(
        self, code: str, message: str, span: Span | None = None, *, fix: str | None = None, notes: Iterable[Note] = ()
    ) -> None:
        self.add(Diagnostic(code, Severity.ERROR, message, span, tuple(notes), fix))

    def warning(
        self, code: str, message: str, span: Span | None = None, *, fix: str | None = None, notes: Iterable[Note] = ()
    ) -> None:
        self.add(Diagnostic(code, Severity.WARNING, message, span, tuple(notes), fix))

    def note(
        self, code: str, message: str, span: Span | None = None, *, fix: str | None = None, notes: Iterable[Note] = ()
    ) -> None:
        self.add(Diagnostic(code, Severity.NOTE, message, span, tuple(notes), fix))

    def sorted(self) -> list[Diagnostic]:
        """All findings by file, line, column, then severity and rule."""
        return sorted(self._found, key=Diagnostic.sort_key)

    def count(self, severity: Severity) -> int:
        return sum(d.severity is severity for d in self._found)

    @property
    def has_errors(self) -> bool:
        return self.count(Severity.ERROR) > 0

    def __len__(self) -> int:
        return len(self._found)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that `name` is most likely a slip of, or None; case is ignored, and so is a prefix `diopi`.

    A slip is one edit (a character more, less, another, or two exchanged), two where the longer name has eight
    characters or more; names of three characters are slips of each other only where two are exchanged.
    """
    expected = _bare(name)
    best: tuple[int, bool, bool, str] | None = None
    for candidate in sorted(candidates):
        other = _bare(candidate)
        longer = max(len(expected), len(other))
        limit = 2 if longer >= 8 else 1 if longer > 3 or sorted(expected) == sorted(other) else 0
        if best is not None:
            limit = min(limit, best[0])
        distance = _edits(expected, other, limit)
        if distance is None:
            continue
        # Of two that are as near, the one with the same prefix, then the one with the same characters: 'float46' is a
        # slip of 'float64'.
        prefix = name.lower().startswith("diopi") != candidate.lower().startswith("diopi")
        found = (distance, prefix, sorted(expected) != sorted(other), candidate)
        best = found if best is None else min(best, found)
    return best[3] if best else None


def _bare(name: str) -> str:
    return name.lower().removeprefix("diopi")


def _edits(one: str, two: str, limit: int) -> int | None:
    """Edit distance of two texts (optimal string alignment), or None for more than `limit`."""
    if limit < 0 or abs(len(one) - len(two)) > limit:
        return None
    before: list[int] = []
    above = list(range(len(two) + 1))
    for i, character in enumerate(one, 1):
        row = [i]
        for j, other in enumerate(two, 1):
            edits = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (character != other))
            if i > 1 and j > 1 and character == two[j - 2] and one[i - 2] == other:
                edits = min(edits, before[j - 2] + 1)
            row.append(edits)
        if min(row) > limit:
            return None
        before, above = above, row
    return above[-1] if above[-1] <= limit else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A fix line (`Correction`) that names the nearest candidate, or None where nothing is near. It is certain where no
    other candidate is as near."""
    known = list(candidates)
    found = nearest(name, known)
    if found is None:
        return None
    distance = _edits(_bare(name), _bare(found), 2) or 0
    is_only = all(_edits(_bare(name), _bare(other), distance) is None for other in set(known) - {found})
    return Correction.of(f"did you mean '{found}'?", name, found, is_certain=is_only)
