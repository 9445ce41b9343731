"""A report of fallbacks read back: what the dispatch library and the PyTorch package append to the file that
`DIOPI_FALLBACK_REPORT` names."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.conformance.report.left import check_of
from diopigen.diagnostics import Failure, Span, failure

RULES = {"fallback-report": "A report of fallbacks is what `DIOPI_FALLBACK_REPORT=FILE` makes a program write."}


@dataclass(frozen=True, slots=True)
class Fallback:
    """Calls that fell back for one reason. `function` is that of the vendor, "" where none was asked; `overload` that
    of ATen, "" where another host made the calls. `status` is "" where the library has no such function, `reason` the
    text of the library in one of the calls, "" where it has none."""

    function: str
    overload: str
    status: str
    reason: str
    calls: int

    @property
    def operator(self) -> str:
        """Name of the called operator."""
        return self.function or self.overload

    @property
    def why(self) -> str:
        """The reason, or that there is none."""
        if self.reason:
            return self.reason
        return f"{self.status} without a text" if self.status else "the chip has no such operator"


def read_fallbacks(paths: Iterable[Path]) -> tuple[Fallback, ...]:
    """The calls of all reports, by operator and check, most frequent first. Raises `Failure` where a file is no report.

    Reasons that differ in the tensor that they name, or in its dtype or shape, count as one.
    """
    calls: Counter[tuple[str, str, str, str]] = Counter()
    first: dict[tuple[str, str, str, str], str] = {}
    for path in paths:
        for number, line in enumerate(_lines(path), 1):
            one = _fallback(path, number, line)
            key = (one.function, one.overload, one.status, check_of(one.reason))
            calls[key] += one.calls
            first.setdefault(key, one.reason)
    found = (Fallback(*key[:3], first[key], count) for key, count in calls.items())
    return tuple(sorted(found, key=lambda one: (-one.calls, one.operator, one.reason)))


def _lines(path: Path) -> Sequence[str]:
    try:
        if path.exists() and not path.is_file():  # a pipe is never read: what it holds may never come
            raise _fault(path, "is no file")
        return path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise _fault(path, f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise _fault(path, "is no text in UTF-8") from None


def _fallback(path: Path, number: int, line: str) -> Fallback:
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise _fault(path, "the line is no JSON", number) from None
    if not isinstance(entry, dict):
        raise _fault(path, "the line is no JSON object", number)
    texts = [entry.get(name, "") for name in ("function", "overload", "status", "reason")]
    calls = entry.get("calls")
    if not all(isinstance(text, str) for text in texts) or not (texts[0] or texts[1]):
        raise _fault(path, "the line has no 'function' or 'overload', or one that is no text", number)
    if not isinstance(calls, int) or isinstance(calls, bool) or calls < 1:
        raise _fault(path, "the line has no number of 'calls'", number)
    function, overload, status, reason = texts
    return Fallback(function, overload, status, reason, calls)


def _fault(path: Path, message: str, line: int = 1) -> Failure:
    fix = "let a program write it: DIOPI_FALLBACK_REPORT=FILE (docs/dispatch.md)"
    return failure("fallback-report", message, Span(str(path), line, 1), fix)
