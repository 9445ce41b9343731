"""A coverage report read back: what `diopigen coverage --json FILE` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Failure, Span, failure
from diopigen.emit.docs.facts import VendorStates
from diopigen.vendor.coverage import STATES

RULES = {"coverage-file": "A file of coverage is what `diopigen coverage --json` writes."}


def read_coverage(path: Path) -> VendorStates:
    """The state of each function in a report. Raises `Failure` where the file is none."""
    try:
        if path.exists() and not path.is_file():  # a pipe is never read: what it holds may never come
            raise _fault(path, "is no file")
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _fault(path, f"cannot be read: {error.strerror or error}") from None
    except json.JSONDecodeError as error:
        raise _fault(path, f"is no JSON: {error.msg}", error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        raise _fault(path, f"is no JSON: {error or 'too deep'}") from None
    vendor = report.get("vendor") if isinstance(report, dict) else None
    functions = report.get("functions") if isinstance(report, dict) else None
    if not isinstance(vendor, str) or not vendor:
        raise _fault(path, "has no 'vendor'")
    if not isinstance(functions, list):
        raise _fault(path, "has no list 'functions'")
    return VendorStates(vendor, dict(_state(path, number, one) for number, one in enumerate(functions, 1)))


def _state(path: Path, number: int, entry: Any) -> tuple[str, str]:
    name, state = (entry.get("name"), entry.get("state")) if isinstance(entry, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(state, str):
        raise _fault(path, f"entry {number} of 'functions' has no 'name' and 'state'")
    if state not in STATES:
        raise _fault(path, f"entry {number} of 'functions': '{state}' is none of {', '.join(STATES)}")
    return name, state


def _fault(path: Path, message: str, line: int = 1, column: int = 1) -> Failure:
    fix = "write it with `diopigen coverage DIR --json FILE`"
    return failure("coverage-file", message, Span(str(path), line, column), fix)
