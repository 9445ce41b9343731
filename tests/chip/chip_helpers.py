"""Reads the file of a chip in tests."""

from __future__ import annotations

from pathlib import Path

from diopigen.chip.model import Chip
from diopigen.chip.reader import read_chip
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
DROPLET = ROOT / "examples/droplet/droplet.yaml"

SMALLEST = """\
chip: pebble
doc: It is small.
dtypes: [float32]
max_rank: 4
alignment: 16
operators:
  - names: [diopiAdd]
"""


def read(text: str, folder: Path, interface: Interface) -> tuple[Chip | None, list[str]]:
    """The chip of a text, and the findings as `line:column: error[rule]: message (fix)`."""
    path = folder / "chip.yaml"
    path.write_text(text, encoding="utf-8")
    sink = Sink()
    chip = read_chip(path, "chip.yaml", interface, sink)
    found = [
        f"{one.span.line}:{one.span.column}: {one.severity}[{one.code}]: {one.message} ({one.fix})"
        for one in sink.sorted()
        if one.span
    ]
    return chip, found
