"""The suite of collectives over a second implementation, whose engine is gloo: what it expects is not our fabric's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from artefacts import artefact
from collective_runs import axes, run_collectives

LACKING = "DtypeNotSupported"
"""Reductions that gloo does not have: unsigned integers of more than a byte, products of complex numbers."""


def run(tmp_path: Path, *options: str) -> tuple[int, str, list[dict[str, Any]]]:
    # gloo's ranks meet in a file, and talk over the loopback.
    variables = {"TMPDIR": str(tmp_path), "GLOO_SOCKET_IFNAME": "lo", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    return run_collectives(artefact("droplet/gloo/libdiopi_impl.so"), tmp_path, *options, **variables)


def test_cases_pass_in_three_processes(tmp_path: Path) -> None:
    code, text, results = run(tmp_path, "-n", "3", *axes("count", "place", "group", "order", "streams", "refusal"))
    assert code == 0, text
    assert {result["status"] for result in results} == {"passed"}
    assert len(results) > 100


def test_dtypes_pass_in_two_processes(tmp_path: Path) -> None:
    code, text, results = run(tmp_path, "-n", "2", *axes("dtype"))
    assert code == 0, text
    skipped = [result for result in results if result["status"] == "skipped"]
    assert all(LACKING in result["reason"] for result in skipped)
    assert {result["status"] for result in results} == {"passed", "skipped"}
    assert len(skipped) < len(results) / 3


@pytest.mark.slow
def test_the_end_of_a_rank_ends_the_calls_of_all_others(tmp_path: Path) -> None:
    code, text, results = run(tmp_path, "-n", "3", "--ops", "AllReduce", "--ops", "Broadcast", *axes("ended"))
    assert code == 0, text
    assert len(results) == 2
