"""torch.distributed on droplet: training in several processes has the losses of one process with the whole batch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).with_name("rank_program.py")
PACKAGE = Path(__file__).parents[2] / "examples/droplet"
LIMIT = 300
"""Seconds after which all ranks are ended: nothing may hang."""


@pytest.fixture
def ranks(backend: Any, tmp_path: Path) -> Any:
    """Runs scenarios in so many processes; exit codes, and what each rank printed."""

    def run(count: int, *scenarios: str) -> list[tuple[int, str]]:
        environment = {**os.environ, **backend.environment(), "OMP_NUM_THREADS": "1", "DIOPI_SIM_DEVICES": "1"}
        environment |= {"PYTHONPATH": str(PACKAGE), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "DIOPI_FALLBACK": "log"}
        environment["DIOPI_SIM_FABRIC_TIMEOUT"] = "60000"
        outputs = [(tmp_path / f"{rank}.out").open("w+") for rank in range(count)]
        store = tmp_path / "store"
        started = [
            subprocess.Popen(
                [sys.executable, str(PROGRAM), ",".join(scenarios), str(rank), str(count), str(store)],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            for rank, output in enumerate(outputs)
        ]
        try:
            codes = [process.wait(timeout=LIMIT) for process in started]
        finally:
            for process in started:
                process.kill()
        texts = []
        for output in outputs:
            output.seek(0)
            texts.append(output.read())
            output.close()
        return list(zip(codes, texts, strict=True))

    return run


def losses(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("{"):
            found.update(json.loads(line))
    return found


def check(ended: list[tuple[int, str]], *scenarios: str, tolerance: float = 1e-6) -> None:
    for code, text in ended:
        assert code == 0, text[-3000:]
        found = losses(text)
        for name in scenarios:
            assert found[name]["ranks"] == pytest.approx(found[name]["whole"], abs=tolerance), name


def test_two_processes_train_as_one(ranks: Any) -> None:
    scenarios = (
        "ddp",
        "fsdp",
        "tensor_parallel",
        "accumulation",
        "batch_norm",
        "pipeline",
        "checkpoint",
        "calls",
        "uneven",
    )
    check(ranks(2, *scenarios), *scenarios)


def test_parameters_in_bfloat16_train_nearly_as_in_float32(ranks: Any) -> None:
    check(ranks(2, "mixed"), "mixed", tolerance=0.04)  # two units of bfloat16 at 4, where the loss is


@pytest.mark.slow
def test_four_processes_train_as_one(ranks: Any) -> None:
    scenarios = ("ddp", "fsdp", "tensor_parallel", "two_dimensions", "pipeline", "calls")
    check(ranks(4, *scenarios), *scenarios)


def test_the_end_of_a_rank_is_an_error_of_all_others(ranks: Any) -> None:
    *survivors, last = ranks(3, "killed")
    assert last[0] == -9
    for code, text in survivors:
        assert code == 7, text[-3000:]
        assert "the process of rank 2 has ended" in text
