"""The first wrong operator of a program: checksums of two runs, then only the operators of what differs first.

1. The program on the device, with checksums. 2. The same with every operator on the CPU; random numbers are the
device's in both. 3. The program on the device once more, where only the calls of suspected modules in the first step
that differs are compared with the CPU; if none is wrong, all calls of that step, then all of the program.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from optools.checksums import (
    GRADIENT,
    LOSS,
    OUTPUT,
    PARAMETER,
    PARAMETER_GRADIENT,
    Deviation,
    Event,
    StepRow,
    deviations,
    read_events,
    step_rows,
)
from optools.text import shortened, table

BEYOND = 256.0
"""Units of a dtype's precision from which on a deviation is suspected. What is suspected for nothing costs time alone:
operators are then compared by their own errors."""
JUMP = 8.0
"""Ratio of a suspected deviation to all before it in its step."""
SUSPECTS = 6


@dataclass
class Bisection:
    """Findings, and the runs that led to them. `finding` is that of `compare`; empty where no operator is wrong by
    itself."""

    rows: list[StepRow] = field(default_factory=list)
    suspects: list[str] = field(default_factory=list)
    step: int | None = None
    finding: dict[str, Any] = field(default_factory=dict)
    runs: int = 0
    compared: int = 0
    """Operator calls that were compared with the CPU."""
    seeded: bool = True

    @property
    def op(self) -> str:
        """The first wrong operator."""
        return str(self.finding.get("op", ""))

    def text(self) -> str:
        """The report for people."""
        lines = [steps_table(self.rows)]
        if not self.seeded:
            lines.append("The runs do not start from the same parameters: seed the program, or pass --seed.")
        elif self.step is None:
            lines.append("The device's run is the CPU's, but for rounding.")
        elif not self.finding:
            lines.append(f"The runs differ from step {self.step} on ({', '.join(self.suspects)}), but no operator is")
            lines.append("wrong by itself on its own inputs: the differences accumulate, or come from outside.")
        else:
            where = self.finding["where"]
            lines.append(f"The first wrong operator is {self.op}, in step {where['step']}, {where['phase']}")
            for key in ("module", "node", "api", "source"):
                if where[key]:
                    lines.append(f"  {key}: {where[key]}")
            lines += [f"  {hint}" for hint in self.finding["hints"]]
            lines.append(f"  compared {self.compared} calls in {self.runs} runs")
            if self.finding["case"]:
                lines.append(f"  captured: optools replay {self.finding['case']}")
        return "\n".join(lines)


def steps_table(rows: Sequence[StepRow]) -> str:
    """Steps of two runs."""
    cells = []
    for row in rows:
        losses = ["" if loss is None else f"{loss:.8g}" for loss in (row.loss, row.other_loss)]
        cells.append(
            [str(row.step), *losses, f"{row.gradients:.2g}", f"{row.parameters:.2g}", shortened(row.first, 60)]
        )
    return table(["step", "loss", "on the CPU", "gradients", "parameters", "first beyond rounding"], cells, left=0)


def bisect(program: Sequence[str], folder: Path, seed: int | None = 0, python: str = sys.executable) -> Bisection:
    """Runs the program several times in processes of its own. Raises `RuntimeError` where it fails."""
    folder.mkdir(parents=True, exist_ok=True)
    found = Bisection()
    common = [] if seed is None else ["--seed", str(seed)]

    def run(*words: str) -> None:
        command = [python, "-m", "optools", *words, *program]
        environment = {name: value for name, value in os.environ.items() if name != "OPTOOLS"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        found.runs += 1
        (folder / f"run{found.runs}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")

    run("checksums", "--folder", str(folder / "device"), *common)
    run("checksums", "--folder", str(folder / "cpu"), "--on-cpu", *common)
    events, others = read_events(folder / "device"), read_events(folder / "cpu")
    found.rows = step_rows(events, others, BEYOND)
    found.seeded = same_start(events, others)
    suspects = suspected(events, others)
    if not suspects or not found.seeded:
        (folder / "bisect.json").write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
        return found
    found.step = suspects[0].event.step
    found.suspects = [f"{one.event.kind} of {one.event.name}" for one in suspects]
    modules = ",".join(sorted({re.escape(name) for one in suspects for name in around(one, events)}))
    steps = str(found.step)
    attempts: list[list[str]] = [["--steps", steps], []]
    if modules:
        attempts.insert(0, ["--modules", modules, "--steps", steps])
    if suspects[0].event.kind == PARAMETER:
        attempts.insert(0, ["--phases", "optimizer", "--steps", steps])
    for number, words in enumerate(attempts):
        target = folder / f"compare{number}"
        run("compare", "--folder", str(target), "--stop-after", "1", *words, *common)
        report = json.loads(_report(target).read_text(encoding="utf-8"))
        found.compared += sum(total["calls"] for total in report["totals"].values())
        if report["findings"]:
            found.finding = report["findings"][0]
            break
    (folder / "bisect.json").write_text(json.dumps(asdict(found), indent=1) + "\n", encoding="utf-8")
    return found


def _report(folder: Path) -> Path:
    """The report of a comparison; a program whose suspected calls never come has an empty one."""
    path = folder / "compare.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"findings": [], "totals": {}}', encoding="utf-8")
    return path


def same_start(events: Sequence[Event], others: Sequence[Event]) -> bool:
    """Returns whether both runs begin with the same parameters, but for rounding."""
    start = [one for one in deviations(events, others) if one.event.name.startswith("initial ")]
    return not start or max(one.units for one in start) < BEYOND


def suspected(events: Sequence[Event], others: Sequence[Event]) -> list[Deviation]:
    """The deviations of the first step that differs beyond rounding: the first, and those that jump."""
    found: list[Deviation] = []
    level = BEYOND / JUMP
    for one in deviations(events, others):
        if found and one.event.step != found[0].event.step:
            break
        if one.event.kind == LOSS or one.event.name.startswith("initial "):
            continue
        if one.units > JUMP * level and len(found) < SUSPECTS:
            found.append(one)
        level = max(level, one.units)
    return found


def around(one: Deviation, events: Sequence[Event]) -> list[str]:
    """The modules whose operators may have made an event differ: its own and, of a gradient, those that run between it
    and the event before it."""
    name = re.sub(r"\[\d+\]$", "", one.event.name)
    if one.event.kind == OUTPUT:
        before = _previous(one.event, events, OUTPUT)
        return [name, *_parents(name), *([before] if before else [])]
    if one.event.kind == GRADIENT:
        before = _previous(one.event, events, GRADIENT)
        return [name, *_parents(name), *([before] if before else [])]
    if one.event.kind == PARAMETER_GRADIENT:
        return [name.rpartition(".")[0]]
    return []


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def _previous(event: Event, events: Sequence[Event], kind: str) -> str:
    before = ""
    for one in events:
        if one.key == event.key:
            return before
        if one.kind == kind:
            before = re.sub(r"\[\d+\]$", "", one.name)
    return before
