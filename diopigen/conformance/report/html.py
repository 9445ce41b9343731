"""Results as one HTML file that holds all it needs: styles, script and data."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diopigen.conformance.cases.choices import primary_dtypes
from diopigen.conformance.cases.suite import AXES
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import FAILURES, OUTCOMES, CaseResult, Results
from diopigen.conformance.report.accuracy import recorded, rows_of, to_records
from diopigen.conformance.report.overloads import overloads_of
from diopigen.conformance.report.results import (
    distinct_endings,
    ending_text,
    exception_uses,
    repro,
    suspect_text,
    unended,
)
from diopigen.conformance.report.vendor_accuracy import converted_counts, declared_uses
from diopigen.emit.templates import render
from diopigen.ir.model import Interface

TEMPLATE = "conformance/report.html.j2"

MAX_FAILURES = 50
"""Failures of one function that are shown in full: a library where everything fails must not make a page that no
browser opens."""


def to_html(results: Results, interface: Interface, templates: Path) -> str:
    """The page. `interface` says which dtypes a function should be reached with."""
    data = page_data(results, interface)
    total = len(results.results)
    failed = len(results.failures)
    passed = results.counts.get("passed", 0)
    name = " ".join(word for word in (results.vendor, results.library_version) if word) or Path(results.library).name
    verdict = f"{failed} of {total} cases failed" if failed else "No case failed"
    if results.endings:
        verdict += f"; {unended(results)}"
    if results.not_run:
        verdict += f"; interrupted, {results.not_run} cases were not run"
    if results.suspects:
        verdict += f"; suspect: {', '.join(one.card for one in results.suspects)}"
    facts = [
        ("device" if results.binding == "aten" else "library", results.library),
        ("functions", str(len(data["functions"]))),
        ("cases", str(total)),
        ("time", f"{results.seconds:.1f} s"),
        ("seed", str(results.seed)),
        *([("shard", results.shard)] if results.shard else []),
    ]
    values = {
        "title": f"Conformance of {name}",
        "facts": facts,
        "good": results.good,
        "verdict": verdict,
        "endings": [
            *(ending_text(*entry) for entry in distinct_endings(results)),
            *(suspect_text(suspect) for suspect in results.suspects),
        ],
        "share": f"{_percent(passed, total)} of all cases passed",
        "failures": failed,
        "exceptions": len(data["exceptions"]),
        "vendor": len(data["declared"]) + len(data["converted"]),
        "counts": {outcome: count for outcome in OUTCOMES if (count := results.counts.get(outcome, 0))},
        "outcomes": OUTCOMES,
        "overloads": overloads_of(results),
        "data": embedded(data),
    }
    return render(templates, TEMPLATE, values).decode()


def _percent(part: int, total: int) -> str:
    """A share that says 100 % only where it is all of them."""
    fraction = 100 * part / total if total else 0.0
    text = f"{fraction:.1f}"
    return f"{'99.9' if text == '100.0' and part < total else text} %"


def embedded(data: Any) -> str:
    """JSON that can be inside a script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def page_data(results: Results, interface: Interface) -> dict[str, Any]:
    """Data of the page's script: functions with their counts by dtype, axis and outcome, and their failures."""
    groups: dict[str, list[CaseResult]] = defaultdict(list)
    for result in results.results:
        groups[result.case.function].append(result)
    listed = {f.name: primary_dtypes(f) for f in interface.functions if f.name in groups}
    named = {result.case.dtype for result in results.results} | {d for dtypes in listed.values() for d in dtypes}
    dtypes = [dtype for dtype in (*STORAGE, "none") if dtype in named]
    dtypes += sorted(named - set(dtypes))
    used = {result.case.axis for result in results.results}
    axes = [axis for axis in AXES if axis in used] + sorted(used - set(AXES))
    return {
        "total": len(results.results),
        "failures": len(results.failures),
        "outcomes": list(OUTCOMES),
        "dtypes": dtypes,
        "axes": axes,
        "functions": [
            _function(name, members, results, listed.get(name, ()), dtypes, axes) for name, members in groups.items()
        ],
        "recorded": [[one.name, one.version] for one in recorded()],
        "accuracy": to_records(rows_of(results.results)),
        "declared": [asdict(use) for use in declared_uses(results)],
        "converted": [
            [function, casts, ran, alone]
            for (function, casts), (ran, alone) in converted_counts(results.results).items()
        ],
        "exceptions": [
            {
                "where": use.waiver.where,
                "kind": f"tolerance ×{use.waiver.factor:g}" if use.waiver.kind == "tolerance" else use.waiver.kind,
                "reason": use.waiver.reason,
                "cases": use.cases,
                "excepted": use.excepted,
            }
            for use in exception_uses(results.results)
        ]
        + _known(results),
    }


def _known(results: Results) -> list[dict[str, Any]]:
    """The failures that are excepted without an exception of the vendor, by reason."""
    reasons = Counter(one.reason for one in results.results if one.outcome == "excepted" and not one.case.waiver)
    return [
        {"where": "PyTorch", "kind": kind, "reason": reason, "cases": count, "excepted": count}
        for (kind, _, reason), count in ((text.partition(": "), count) for text, count in reasons.items())
    ]


def _function(
    name: str,
    members: Sequence[CaseResult],
    results: Results,
    listed: Sequence[str],
    dtypes: Sequence[str],
    axes: Sequence[str],
) -> dict[str, Any]:
    outcomes = list(OUTCOMES)
    cells = Counter((r.case.dtype, r.case.axis, r.outcome) for r in members)
    failures = [result for result in members if result.outcome in FAILURES]
    reached = {result.case.dtype for result in members}
    return {
        "name": name,
        "family": members[0].case.family,
        "cases": len(members),
        "seconds": round(sum(result.seconds for result in members), 4),
        "counts": dict(Counter(result.outcome for result in members)),
        "cells": [[dtypes.index(d), axes.index(a), outcomes.index(o), count] for (d, a, o), count in cells.items()],
        "holes": [dtype for dtype in listed if dtype not in reached],
        "failures": [_failure(result, results) for result in failures[:MAX_FAILURES]],
        "more": max(0, len(failures) - MAX_FAILURES),
    }


def _failure(result: CaseResult, results: Results) -> dict[str, Any]:
    names = ("kind", "parameter", "message", "expected", "actual")
    return {
        "id": result.case.id,
        "outcome": result.outcome,
        "faults": [{name: getattr(fault, name) for name in names} for fault in result.faults],
        "operands": list(result.operands),
        "repeat": repro(result.case, results, result.outcome),
    }
