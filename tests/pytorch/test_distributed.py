"""torch.distributed on droplet: training in several processes has the losses of one process with the whole batch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch_build

PROGRAM = Path(__file__).with_name("rank_program.py")
PACKAGE = Path(__file__).parents[2] / "examples/droplet"


def settings(backend: Any) -> dict[str, str]:
    environment = {**os.environ, **backend.environment(), "OMP_NUM_THREADS": "1", "DIOPI_SIM_DEVICES": "1"}
    environment |= {"PYTHONPATH": torch_build.PYTHONPATH, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "DIOPI_FALLBACK": "log"}
    return environment | {"DIOPI_SIM_FABRIC_TIMEOUT": "60000"}


@pytest.fixture
def ranks(backend: Any, tmp_path: Path) -> Any:
    """Runs scenarios in so many processes; exit codes, and what each rank printed."""

    def run(count: int, *scenarios: str, **variables: str) -> list[tuple[int, str]]:
        environment = {**settings(backend), **variables}
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
            codes = [process.wait() for process in started]
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
    scenarios = ("ddp", "fsdp", "tensor_parallel", "accumulation", "batch_norm", "pipeline", "checkpoint", "uneven")
    check(ranks(2, *scenarios), *scenarios)


def test_collectives_that_training_does_not_call(ranks: Any) -> None:
    scenarios = ("calls", "coalesced", "gaps", "futures", "released", "aborted")
    check(ranks(2, *scenarios), *scenarios)


def test_groups_are_split_merged_and_shrunk(ranks: Any) -> None:
    check(ranks(3, "split", "merged"), "split", "merged")


@pytest.mark.parametrize("count", [pytest.param(2, marks=pytest.mark.slow), 3, pytest.param(4, marks=pytest.mark.slow)])
def test_messages_go_around_rings(ranks: Any, count: int) -> None:
    check(ranks(count, "rings", "blocking_rings"), "rings", "blocking_rings")


def test_groups_have_a_store_one_after_the_other(ranks: Any) -> None:
    check(ranks(3, "again"), "again")


@pytest.mark.parametrize("count", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_a_rank_that_never_comes_is_an_error_of_every_call(ranks: Any, count: int) -> None:
    """The fabric's own limit is longer than that of the test: the group's timeout ends the calls."""
    check(ranks(count, "absent", DIOPI_SIM_FABRIC_TIMEOUT="86400000"), "absent")


def test_parameters_in_bfloat16_train_nearly_as_in_float32(ranks: Any) -> None:
    check(ranks(2, "mixed"), "mixed", tolerance=0.04)  # two units of bfloat16 at 4, where the loss is


def test_mixed_precision_with_a_scaled_loss(ranks: Any) -> None:
    check(ranks(2, "amp"), "amp", tolerance=0.008)  # two units of float16 there


@pytest.mark.slow
def test_four_processes_train_as_one(ranks: Any) -> None:
    scenarios = ("ddp", "fsdp", "tensor_parallel", "two_dimensions", "pipeline", "uneven", "calls", "coalesced")
    check(ranks(4, *scenarios), *scenarios)


def test_the_end_of_a_rank_is_an_error_of_all_others(ranks: Any) -> None:
    *survivors, last = ranks(3, "killed")
    assert last[0] == -9
    for code, text in survivors:
        assert code == 7, text[-3000:]
        assert "the process of rank 2 has ended" in text


def test_a_rank_that_hangs_is_an_error_of_all_others(ranks: Any, tmp_path: Path) -> None:
    """The watchdog ends the group at its timeout, and writes what was called last."""
    *survivors, last = ranks(3, "hung", DIOPI_COLLECTIVES_DUMP=str(tmp_path / "dump"))
    assert last[0] == 0, last[1][-3000:]
    late = "has not finished within its timeout of 1000 ms"
    reasons = [late, "destroyed the communicator before its work was done"]  # by the rank that was late first
    failure = rf"ALLREDUCE of \[4\] Float \(number 2\).* ({'|'.join(reasons)})"
    dumps = [(tmp_path / f"dump.{rank}").read_text() for rank in range(2)]
    assert any(late in dump for dump in dumps), dumps
    for rank, (code, text) in enumerate(survivors):
        assert code == 7, text[-3000:]
        assert "RAISED" in text
        assert re.search(f"AFTERWARDS the process group has failed: {failure}", text), text[-3000:]
        dump = dumps[rank]
        assert re.search(f"rank {rank} of the process group '.+': {failure}", dump), dump
        assert re.search(r"^#1 BROADCAST of \[4\] Float: issued \d+ ms ago, finished after \d+ ms$", dump, re.M), dump
        assert re.search(r"^#2 ALLREDUCE of \[4\] Float: issued \d+ ms ago, not finished$", dump, re.M), dump


@pytest.mark.parametrize("processes", ["2", "droplet"])
def test_torchrun_starts_ranks(processes: str, backend: Any, tmp_path: Path) -> None:
    """By their number, and by the name of the device: one process for each."""
    package = tmp_path / "torch_droplet-0.dist-info"  # what pip leaves where the package is installed
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-droplet\nVersion: 0\n")
    (package / "entry_points.txt").write_text("[torch.backends]\ntorch_droplet = torch_droplet:_autoload\n")
    environment = settings(backend) | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "1", "DIOPI_SIM_DEVICES": "2"}
    environment["PYTHONPATH"] = os.pathsep.join([*torch_build.PATHS, str(tmp_path)])
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", processes]
    done = subprocess.run([*command, str(PROGRAM), "ddp"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    printed = [json.loads(line)["ddp"] for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(printed) == 2
    for found in printed:
        assert found["ranks"] == pytest.approx(found["whole"], abs=1e-6)
