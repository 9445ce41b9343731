"""The trends of a history as one HTML file that holds all it needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diopigen.conformance.report.html import embedded
from diopigen.emit.templates import render

TEMPLATE = "conformance/history.html.j2"


def to_html(found: Mapping[str, Any], templates: Path) -> str:
    """The page of some trends."""
    runs = found["runs"]
    latest = runs[-1] if runs else {}
    verdict = "No runs" if not runs else f"{latest['failing']} of {latest['cases']} cases fail in the latest run"
    values = {
        "title": "Conformance over time",
        "verdict": verdict,
        "share": "",
        "good": bool(runs) and not (latest["failing"] or latest["not_run"] or latest["suspects"]),
        "facts": [
            ("runs", str(len(runs))),
            *([("from", runs[0]["at"]), ("to", latest["at"])] if runs else []),
            *([("library", f"{latest['vendor']} {latest['version']}".strip())] if runs else []),
        ],
        "suspects": latest.get("suspects", []),
        "counts": {name: len(found[name]) for name in ("broken", "fixed", "failing", "unsteady", "drift")},
        "data": embedded(found),
    }
    return render(templates, TEMPLATE, values).decode()
