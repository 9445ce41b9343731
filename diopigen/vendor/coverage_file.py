"""A coverage report read back: what `diopigen coverage --json FILE` wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Failure, Span, failure
from diopigen.emit.docs.facts import VendorStates
from diopigen.spec.json_form import Form, FormFault, read_json
from diopigen.vendor.coverage import STATES, Coverage, FunctionCoverage, ModelCoverage, Suggestion

RULES = {"coverage-file": "A file of coverage is what `diopigen coverage --json` writes."}
_CODE = "coverage-file"
_FIX = "write it with `diopigen coverage DIR --json FILE`"


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


def read_report(path: Path) -> Coverage:
    """A report without its recorded calls and the descriptions of models. Raises `Failure` where the file is none."""
    document = read_json(path, _CODE, _FIX)
    try:
        functions = tuple(
            FunctionCoverage(one["name"].text(), one["family"].text(), _known(one["state"]), one["skeleton"].truth())
            for one in document["functions"].items()
        )
        suggestions = tuple(
            Suggestion(one["function"].text(), _known(one["state"]), _texts(one["models"]), one["share"].number())
            for one in document["next"].items()
        )
        models = tuple(map(_model, document["models"].items()))
        return Coverage(document["vendor"].text(), functions, models, suggestions)
    except FormFault as error:
        raise failure(_CODE, f"holds no coverage: {error}", Span(str(path)), _FIX) from None


def _model(record: Form) -> ModelCoverage:
    calls = {_known(Form(state)): count.whole(0) for state, count in record["calls"].entries()}
    lists = (_texts(record[key]) for key in ("blocked", "on the host", "without a function"))
    return ModelCoverage(record["name"].text(), "", calls, *lists)


def _texts(record: Form) -> tuple[str, ...]:
    return tuple(one.text() for one in record.items())


def _known(record: Form) -> str:
    if record.text() not in STATES:
        raise record.fault(f"one of {', '.join(STATES)}")
    return record.text()


def _state(path: Path, number: int, entry: Any) -> tuple[str, str]:
    name, state = (entry.get("name"), entry.get("state")) if isinstance(entry, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(state, str):
        raise _fault(path, f"entry {number} of 'functions' has no 'name' and 'state'")
    if state not in STATES:
        raise _fault(path, f"entry {number} of 'functions': '{state}' is none of {', '.join(STATES)}")
    return name, state


def _fault(path: Path, message: str, line: int = 1, column: int = 1) -> Failure:
    return failure(_CODE, message, Span(str(path), line, column), _FIX)
