"""Infinities and NaN come out the same on every processor: products and convolutions, under each level of oneDNN.

The expected values come from loops over all terms in float64. A processor that lacks a level runs the best
that it has.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("special_values_program.py")
LEVELS = ("SSE41", "AVX", "AVX2", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16", "DEFAULT")


@pytest.fixture(scope="module")
def outcomes(libraries: tuple[Path, Path]) -> dict[str, dict[str, list[str]]]:
    """What was wrong by level and test; all levels answer for the same tests."""
    found = {}
    for level in LEVELS:
        environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": level}
        command = [sys.executable, str(PROGRAM), *map(str, libraries)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[level] = json.loads(done.stdout)
    assert all(set(one) == set(found[LEVELS[0]]) and len(one) >= 30 for one in found.values())
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_infinities_and_nan_are_what_the_terms_say(outcomes: dict[str, dict[str, list[str]]], level: str) -> None:
    wrong = {name: complaints for name, complaints in outcomes[level].items() if complaints}
    assert wrong == {}, "\n".join(itertools.chain.from_iterable(wrong.values()))
