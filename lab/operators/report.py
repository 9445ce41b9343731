"""Report of a run over injected faults, as text and as JSON. Nothing is printed or written here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from diopigen.output.table import ruled
from lab.operators.campaign import Outcome


def text(control: Mapping[str, str], outcomes: Sequence[Outcome]) -> str:
    """A row for each fault, and a summary."""
    rows = [["fault", "operator", "found", "failed calls", "axes", "what is wrong"]]
    for one in outcomes:
        axes = ", ".join(one.axes[:3]) + (", ..." if len(one.axes) > 3 else "")
        share = f"{one.failed} of {one.calls}"
        found = "yes" if one.is_found else "no"
        rows.append([one.fault.name, one.fault.operator, found, share, axes, one.fault.sentence])
    lines = ruled(rows, left=range(len(rows[0])))
    lines += [f"fails without a fault: {name} ({outcome})" for name, outcome in control.items()]
    return "\n".join([*lines, "", summary(control, outcomes)]) + "\n"


def summary(control: Mapping[str, str], outcomes: Sequence[Outcome]) -> str:
    """One line: how many faults are found."""
    found = sum(one.is_found for one in outcomes)
    return f"{len(outcomes)} faults, {found} found; {len(control)} calls fail without a fault"


def to_json(control: Mapping[str, str], outcomes: Sequence[Outcome]) -> str:
    """Everything, by fault."""
    faults = [
        {
            "name": one.fault.name, "operator": one.fault.operator, "what": one.fault.sentence, "found": one.is_found,
            "calls": one.calls, "failed": one.failed, "axes": list(one.axes), "example": one.example,
        }
        for one in outcomes
    ]  # fmt: skip
    return (
        json.dumps({"summary": summary(control, outcomes), "control": dict(control), "faults": faults}, indent=1) + "\n"
    )
