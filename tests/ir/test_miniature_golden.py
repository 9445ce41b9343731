"""The lowered miniature spec, as a whole: `expected/miniature.txt` is read line by line in review."""

from __future__ import annotations

from pathlib import Path

from dump import interface_lines
from ir_helpers import miniature

EXPECTED = Path(__file__).parent / "expected" / "miniature.txt"


def test_the_lowered_spec_is_the_golden_one() -> None:
    assert "\n".join(interface_lines(miniature())) + "\n" == EXPECTED.read_text()
