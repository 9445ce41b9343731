"""Effects on the loss: runs the program once for each operator on the CPU or in another dtype."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optools.checksums import LOSS, OUTPUT, read_events
from optools.store import read_calls
from optools.text import table


@dataclass(frozen=True)
class Effect:
    """The last loss with one operator changed, and without."""

    op: str
    loss: float
    plain: float

    @property
    def change(self) -> float:
        """The relative change of the loss."""
        return abs(self.loss - self.plain) / max(abs(self.plain), 1e-30)


def effects(
    program: Sequence[str], folder: Path, change: Sequence[str], ops: Sequence[str] = (), seed: int = 0
) -> list[Effect]:
    """Runs the program once for each operator; the largest change first. `change` are options of `checksums`, such as
    `--fallback`. Raises `RuntimeError` where a run fails."""
    folder.mkdir(parents=True, exist_ok=True)

    def run(name: str, *words: str) -> Path:
        command = [sys.executable, "-m", "optools", *words, "--seed", str(seed), *program]
        environment = {key: value for key, value in os.environ.items() if key != "OPTOOLS"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if "Traceback" in done.stderr or done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
        return folder / name

    if not ops:
        shapes = folder / "shapes"
        if not (shapes / "calls.jsonl").exists():
            run("shapes", "capture", "--shapes", "--folder", str(shapes))
        ops = sorted({call.op for call in read_calls(shapes) if _counts(call.op)})
    plain = last_loss(run("plain", "checksums", "--folder", str(folder / "plain")))
    found = []
    for number, op in enumerate(ops):
        name = f"run{number}"
        words = ["checksums", "--folder", str(folder / name), *change, "--changed", op]
        found.append(Effect(op, last_loss(run(name, *words)), plain))
    return sorted(found, key=lambda one: -one.change)


def _counts(op: str) -> bool:
    """Returns whether an operator computes floating results that can be cast or fall back."""
    from optools.schema import facts_of, overload_of

    try:
        facts = facts_of(overload_of(op))
    except LookupError:
        return False
    return facts.computes and not facts.random and not facts.collective


def last_loss(folder: Path) -> float:
    """The last loss of a run, or the last output of its outermost module where nothing was differentiated."""
    events = read_events(folder)
    losses = [event.total for event in events if event.kind == LOSS] or [
        event.total for event in events if event.kind == OUTPUT
    ]
    if not losses:
        raise RuntimeError(f"{folder}: the program has neither a loss nor a module")
    return losses[-1]


def effect_table(found: Sequence[Effect]) -> str:
    """The operators, the largest change first."""
    rows = [[one.op, f"{one.plain:.8g}", f"{one.loss:.8g}", f"{one.change:.2g}"] for one in found]
    return table(["operator", "loss", "loss with the change", "relative change"], rows)
