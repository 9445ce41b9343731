"""The score as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diopigen.chip.model import Peaks
from diopigen.conformance.speed.score import Finding, Row, Summary
from diopigen.conformance.speed.timing import Speed
from diopigen.output.table import ruled

FORMAT = 1
_HEAD = ("call", "outcome", "cold us", "warm us", "GB/s", "GFLOP/s", "of limit", "bound", "times ref")


@dataclass(frozen=True, slots=True)
class Score:
    """All rows, what follows from them, and what they are about. `left_out` are functions without a call of a size."""

    rows: Sequence[Row]
    findings: Sequence[Finding]
    summary: Summary
    peaks: Peaks
    library: str
    reference: str
    seed: int
    cache: int
    left_out: Mapping[str, Sequence[str]] = field(default_factory=dict)
    provenance: Mapping[str, str] = field(default_factory=dict)


def line(row: Row, peaks: Peaks) -> tuple[str, ...]:
    """The cells of a row."""
    cold = row.cold
    rate = None if cold is None else row.work.bytes / cold.seconds / 1e9
    operations = None if cold is None else (row.work.operations or 0.0) / cold.seconds / 1e9
    fraction, limit, ratio = row.fraction(peaks), row.limit(peaks), row.ratio
    return (
        row.case.id,
        row.outcome,
        _time(cold),
        _time(row.warm),
        _number(rate),
        _number(operations),
        "." if fraction is None else f"{fraction:.1%}",
        "." if limit is None else limit[1],
        "." if ratio is None else f"{ratio:.2f}",
    )


def _time(speed: Speed | None) -> str:
    return "." if speed is None else f"{speed.seconds * 1e6:.1f}{'~' if speed.is_coarse else ''}"


def _number(value: float | None) -> str:
    return "." if not value else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def text(score: Score) -> str:
    """The table, the findings, and the summary."""
    lines = ruled([_HEAD, *(line(row, score.peaks) for row in score.rows)], left=(0, 1, 7)) if score.rows else []
    lines.append("")
    lines += [f"{one.kind.upper()} {one.case}: {one.message}" for one in score.findings]
    equal = [row.case.id for row in score.rows if row.has_equal_copies and row.cold is not None]
    if equal:
        lines.append(f"equal data in each call, since no operand is free: {_few(equal)}")
    unknown = [row.case.id for row in score.rows if row.work.operations is None]
    if unknown and score.peaks.operations:
        lines.append(f"limit by bytes alone, since the spec has no `kernel` or `work`: {_few(unknown)}")
    lines += [f"no call of size {size}: {_few(names)}" for size, names in score.left_out.items() if names]
    lines += _summary(score)
    return "\n".join(lines) + "\n"


def _few(names: Sequence[str]) -> str:
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + rest


def _summary(score: Score) -> list[str]:
    found, right = score.summary, sum(row.is_right for row in score.rows)
    lines = [f"{right} of {len(score.rows)} calls are right on the timed data, {len(score.findings)} findings"]
    if found.fraction is not None:
        lines.append(f"fraction of the limit: {found.fraction:.1%} (geometric mean)")
    if found.compared:
        fast = ", ".join(f"fast_{p:g} {share:.2f}" for p, share in found.fast.items())
        ratio = "" if found.ratio is None else f", geometric mean of ratios {found.ratio:.2f}"
        lines.append(f"over {score.reference}: {fast}{ratio} ({found.compared} calls)")
    lines.append(f"--seed {score.seed}")
    return lines


def to_json(score: Score) -> str:
    """The score as one JSON document."""
    record = {
        "format": FORMAT,
        "library": score.library,
        "reference": score.reference,
        "seed": score.seed,
        "cache": score.cache,
        "peaks": {
            "bandwidth": score.peaks.bandwidth, "cache": score.peaks.cache, "operations": dict(score.peaks.operations),
        },
        "provenance": dict(score.provenance),
        "summary": {
            "calls": len(score.rows),
            "right": sum(row.is_right for row in score.rows),
            "compared": score.summary.compared,
            "fast": {f"{p:g}": share for p, share in score.summary.fast.items()},
            "ratio": score.summary.ratio,
            "fraction": score.summary.fraction,
        },
        "findings": [{"kind": one.kind, "case": one.case, "message": one.message} for one in score.findings],
        "left_out": {size: list(names) for size, names in score.left_out.items()},
        "rows": [row_record(row, score.peaks) for row in score.rows],
    }  # fmt: skip
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def row_record(row: Row, peaks: Peaks) -> dict[str, Any]:
    """A row as one JSON object."""
    limit = row.limit(peaks)
    return {
        "case": row.case.id,
        "function": row.case.function,
        "family": row.case.family,
        "dtype": row.case.dtype,
        "size": row.size,
        "from": row.case.about,
        "outcome": row.outcome,
        "read": row.work.read,
        "written": row.work.written,
        "operations": row.work.operations,
        "cold": _speed(row.cold),
        "warm": _speed(row.warm),
        "reference": {"cold": _speed(row.reference), "warm": _speed(row.reference_warm)},
        "limit": None if limit is None else {"seconds": limit[0], "bound": limit[1]},
        "fraction": row.fraction(peaks),
        "ratio": row.ratio,
    }


def _speed(speed: Speed | None) -> dict[str, Any] | None:
    if speed is None:
        return None
    return {"seconds": speed.seconds, "longest": speed.longest, "calls": speed.calls, "coarse": speed.is_coarse}
