"""Report of a run over cheats, as text and as JSON. Nothing is printed or written here."""

from __future__ import annotations

import json
from collections.abc import Sequence

from diopigen.output.table import ruled
from lab.cheats.campaign import record
from lab.cheats.model import CONTROL, Trial


def text(trials: Sequence[Trial]) -> str:
    """A row for each cheat, how cheats succeeded, and a summary."""
    rows = [["cheat", "kind", "exit", "accepted", "named", "verdict"]]
    for trial in trials:
        status = "none" if trial.status is None else str(trial.status)
        named = "yes" if trial.cheat.named and trial.named else "no" if trial.cheat.named else "-"
        accepted = "yes" if trial.gains else "no"
        rows.append([trial.cheat.name, trial.cheat.kind, status, accepted, named, trial.verdict])
    lines = ruled(rows, left=range(len(rows[0])))
    for trial in trials:
        if trial.gains and not trial.cheat.accepted:
            lines += ["", f"{trial.cheat.name} {trial.cheat.tries}:", *(f"  {gain}" for gain in trial.gains)]
            lines.append(f"  ended by: {trial.cheat.ended_by}")
        if not trial.named:
            lines += ["", f"{trial.cheat.name}: the output does not match '{trial.cheat.named}'"]
    return "\n".join([*lines, "", summary(trials)]) + "\n"


def summary(trials: Sequence[Trial]) -> str:
    """One line: how many cheats are accepted, and how many are not named."""
    tried = [trial for trial in trials if trial.cheat.kind != CONTROL]
    accepted, unnamed = sum(bool(t.gains) for t in tried), sum(not t.named for t in tried)
    bad = [trial.cheat.name for trial in trials if trial.cheat.kind == CONTROL and not trial.good]
    controls = f"; the controls fail: {', '.join(bad)}" if bad else ""
    seconds = sum(trial.seconds for trial in trials)
    return f"{len(tried)} cheats, {accepted} accepted, {unnamed} not named, {seconds:.0f} s{controls}"


def to_json(trials: Sequence[Trial]) -> str:
    """Everything, by cheat."""
    return json.dumps({"summary": summary(trials), "cheats": [record(trial) for trial in trials]}, indent=1) + "\n"
