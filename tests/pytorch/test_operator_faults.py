"""Faults injected into custom operators, of which the suite has to find each that it claims to; all with `slow`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.ir.model import Interface
from lab.commands.operators import operators
from lab.operators.campaign import Campaign, selected
from lab.operators.faults import FAULTS

WITHIN_BOUNDS = {"half_sigmoid", "truncated_bfloat16"}
UNSEEN = {"index_clamped"}
"""Meta functions see no index."""


def _found(interface: Interface, folder: Path, *names: str) -> set[str]:
    control, outcomes = Campaign(interface, folder).run(selected(names))
    assert control == {}
    assert all(one.calls > 0 for one in outcomes)
    return {one.fault.name for one in outcomes if one.is_found}


def test_faults_are_found_and_right_operators_pass(interface: Interface, tmp_path: Path) -> None:
    names = {"scalar_rejected", "rest_of_list", "zero_times_nan", "index_clamped"}
    assert _found(interface, tmp_path, *names) == names - UNSEEN


@pytest.mark.slow
def test_all_faults_but_those_within_bounds_are_found(interface: Interface, tmp_path: Path) -> None:
    assert len(FAULTS) >= 30
    assert _found(interface, tmp_path) == {one.name for one in FAULTS} - WITHIN_BOUNDS - UNSEEN


def test_the_command_lists_its_faults() -> None:
    done = CliRunner().invoke(operators, ["--list"])
    assert (done.exit_code, done.exception) == (0, None)
    assert len(done.output.splitlines()) == len(FAULTS)


def test_each_fault_has_a_kernel_of_its_own() -> None:
    assert len({one.name for one in FAULTS}) == len(FAULTS)
    assert len({one.kernel() for one in FAULTS}) == len(FAULTS)
