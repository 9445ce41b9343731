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
from sampling import first

PROGRAM = Path(__file__).with_name("special_values_program.py")
LEVELS = ("SSE41", "AVX", "AVX2", "AVX512_CORE", "AVX512_CORE_VNNI", "AVX512_CORE_BF16", "DEFAULT")


def outcomes(libraries: tuple[Path, Path], level: str) -> dict[str, list[str]]:
    """Errors by test, under a level."""
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": level}
    command = [sys.executable, str(PROGRAM), *map(str, libraries)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def names(libraries: tuple[Path, Path]) -> set[str]:
    """The tests that every level answers for."""
    found = set(outcomes(libraries, LEVELS[0]))
    assert len(found) >= 30
    return found


@pytest.mark.parametrize("level", first(LEVELS[::-1]))
def test_infinities_and_nan_are_what_the_terms_say(libraries: tuple[Path, Path], names: set[str], level: str) -> None:
    found = outcomes(libraries, level)
    assert set(found) == names
    wrong = {name: complaints for name, complaints in found.items() if complaints}
    assert wrong == {}, "\n".join(itertools.chain.from_iterable(wrong.values()))
