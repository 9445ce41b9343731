"""What the example promises of itself: how much of it a person wrote, and how much of a chip that is."""

from __future__ import annotations

import re
from pathlib import Path

from diopigen.chip.reader import read_chip
from diopigen.diagnostics import Sink
from diopigen.emit.elementwise.kernels import expressible
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/droplet"
SOURCES = sorted(path for path in (EXAMPLE / "impl").rglob("*") if path.is_file())


def test_what_a_person_wrote_has_fewer_than_900_lines() -> None:
    """Comments, blank lines and the device functions included."""
    assert {path.suffix for path in SOURCES} == {".cpp", ".h"}
    lines = sum(len(path.read_text().splitlines()) for path in SOURCES)
    assert 300 < lines < 900
    assert f"106 native functions in {lines} lines" in (EXAMPLE / "README.md").read_text()


def test_the_chip_lists_what_there_is_a_kernel_for(interface: Interface) -> None:
    chip = read_chip(EXAMPLE / "droplet.yaml", "droplet.yaml", interface, Sink())
    assert chip is not None
    native = {operator.name for operator in chip.operators}
    written = {name for path in SOURCES for name in re.findall(r"^diopiError_t (diopi\w+)\(", path.read_text(), re.M)}
    generated = native & {function.name for function in expressible(interface)} - written
    assert native == written | generated
    assert (len(native), len(generated), len(written)) == (106, 74, 32)
