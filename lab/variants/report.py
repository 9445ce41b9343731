"""Report of a run over legal variants, as text and as JSON. Nothing is printed or written here."""

from __future__ import annotations

import json
from collections.abc import Iterator

from lab.mutation.report import table
from lab.variants.model import Report, VariantVerdict

_SHOWN = 5
"""So many failures of a variant are shown in the text; the JSON has all."""


def text(report: Report) -> str:
    """A row for each variant, its failures, and a summary."""
    rows = [
        [v.variant.name, str(len(v.functions)), str(v.cases), str(v.calls), str(len(v.failures))]
        for v in report.verdicts
    ]
    parts = [table(["variant", "functions", "cases", "calls replaced", "failures"], rows)]
    parts += ["\n".join(lines) for v in report.verdicts if (lines := list(_findings(v)))]
    if report.unsound:
        parts.append(f"{len(report.unsound)} cases fail without any variant: {', '.join(report.unsound[:4])}")
    return "\n\n".join([*parts, summary(report)]) + "\n"


def _findings(verdict: VariantVerdict) -> Iterator[str]:
    variant = verdict.variant
    if verdict.failures:
        yield f"{variant.name} ({variant.sentence}) is refused:"
    for result in verdict.failures[:_SHOWN]:
        fault = f"{result.faults[0].kind}: {result.faults[0].message}" if result.faults else result.outcome
        yield f"  {result.case.id}: {fault}"
    if len(verdict.failures) > _SHOWN:
        yield f"  and {len(verdict.failures) - _SHOWN} more"
    if verdict.idle or not verdict.calls:
        names = ", ".join(name.removeprefix("diopi") for name in verdict.idle) or "every function: the library has none"
        yield f"{variant.name} ({variant.sentence}) writes no result in {names}"


def summary(report: Report) -> str:
    """One line: how many variants pass, over how many cases."""
    passed = sum(not v.failures for v in report.verdicts)
    functions = {name for v in report.verdicts for name in v.functions}
    return (
        f"{report.library}: {passed} of {len(report.verdicts)} legal variants pass; "
        f"{sum(v.cases for v in report.verdicts)} cases of {len(functions)} functions, "
        f"{sum(len(v.failures) for v in report.verdicts)} false alarms, {report.seconds:.0f} s"
    )


def to_json(report: Report) -> str:
    """Everything: each variant with its functions, counts and failures."""
    record = {
        "library": report.library,
        "seconds": round(report.seconds, 3),
        "accepted": report.accepted,
        "unsound": list(report.unsound),
        "variants": [_record(verdict) for verdict in report.verdicts],
    }
    return json.dumps(record, indent=1) + "\n"


def _record(verdict: VariantVerdict) -> dict[str, object]:
    return {
        "name": verdict.variant.name, "kind": verdict.variant.kind, "sentence": verdict.variant.sentence,
        "functions": list(verdict.functions), "idle": list(verdict.idle), "cases": verdict.cases,
        "calls": verdict.calls,
        "failures": {result.case.id: [f.message for f in result.faults] for result in verdict.failures},
    }  # fmt: skip
