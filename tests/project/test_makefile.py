"""The Makefile gives each variable one meaning: recipes see the last of several definitions, wherever they stand."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFINITION = re.compile(r"^(\w+) *[:?]?= *(.*)$", re.MULTILINE)


def test_a_variable_is_not_defined_again_but_from_itself() -> None:
    found = DEFINITION.findall((ROOT / "Makefile").read_text(encoding="utf-8"))
    first = Counter(name for name, value in found if f"$({name}" not in value)
    assert len(first) > 5
    assert [name for name, count in first.items() if count > 1] == []
