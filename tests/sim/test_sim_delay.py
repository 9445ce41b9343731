"""The delay mode: programs that lack a synchronisation pass by luck without it, and fail with it every time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sampling import first
from sim_build import run_case

SEED = 4
"""Under it the first work of stream 0 is late by 0.9 s, the second by 0.8 s, the first of stream 1 by 0.06 s."""
DELAY = {"DIOPI_SIM_DELAY": f"{SEED},1000000"}
LACKING = ["streams_without_synchronisation", "host_without_synchronisation"]


@pytest.mark.parametrize("name", LACKING)
def test_without_delays_the_fault_does_not_show(plain: Path, name: str) -> None:
    done = run_case(plain / "cases", name)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("name", first(LACKING))
def test_with_delays_it_shows_every_time(plain: Path, name: str) -> None:
    seen = set()
    for _ in range(3):
        done = run_case(plain / "cases", name, **DELAY)
        assert done.returncode == 1
        seen.add(done.stdout)
    assert len(seen) == 1
    printed = seen.pop()
    assert re.search(r"assertions: +\d+ +\| +\d+ passed +\| +1 failed \|", printed)
    assert re.search(r"cases_stream\.cpp:\d+: ERROR: CHECK\( (result\.values|found).* is NOT correct!", printed)


@pytest.mark.parametrize("seed", [1, 2, 3, SEED, 5])
def test_a_program_that_synchronises_passes_with_every_seed(plain: Path, seed: int) -> None:
    done = run_case(plain / "cases", "streams_with_synchronisation", DIOPI_SIM_DELAY=f"{seed},100000")
    assert done.returncode == 0, done.stdout
