"""The suite of collectives over droplet, and what the fabric does when a fault is switched on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from artefacts import artefact
from collective_runs import axes, run_collectives


def run(tmp_path: Path, *options: str, **variables: str) -> tuple[int, str, list[dict[str, Any]]]:
    return run_collectives(artefact("droplet/injected/libdiopi_impl.so"), tmp_path, *options, **variables)


def test_cases_pass_in_three_processes(tmp_path: Path) -> None:
    selected = axes("count", "place", "group", "order", "streams", "refusal")
    code, text, results = run(tmp_path, "-n", "3", *selected)
    assert code == 0, text
    assert {result["status"] for result in results} == {"passed"}
    assert len(results) > 100


def test_dtypes_pass_in_two_processes(tmp_path: Path) -> None:
    code, text, results = run(tmp_path, "-n", "2", *axes("dtype"), DIOPI_SIM_FABRIC_CHECK="1")
    assert code == 0, text
    assert {result["status"] for result in results} == {"passed"}


def test_the_end_of_a_rank_ends_the_calls_of_all_others(tmp_path: Path) -> None:
    code, text, results = run(tmp_path, "-n", "3", "--ops", "AllReduce", *axes("ended"))
    assert code == 0, text
    assert len(results) == 1


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("torn=1:2", "a message of rank 1 is torn"),
        ("dead=1:1", "the process of rank 1 ended with signal 9"),
    ],
)
def test_a_fault_is_reported_with_its_rank(fault: str, expected: str, tmp_path: Path) -> None:
    cases = ["-n", "2", "--ops", "AllReduce", *axes("count")]
    code, text, results = run(tmp_path, *cases, "--time-limit", "20", DIOPI_SIM_FABRIC_FAULT=fault)
    assert code == 1
    assert any(expected in result.get("reason", "") for result in results), text


def test_late_and_reordered_ranks_have_the_same_results(tmp_path: Path) -> None:
    faults = "delay=7:2000,reorder=3:3000,slow=1:500"
    code, text, _ = run(tmp_path, "-n", "2", *axes("order", "streams"), DIOPI_SIM_FABRIC_FAULT=faults)
    assert code == 0, text


def test_a_fault_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):  # no results
        run(tmp_path, "-n", "2", DIOPI_SIM_FABRIC_FAULT="lost=1:2")
