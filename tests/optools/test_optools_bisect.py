"""The first wrong operator by checksums of two runs: forward, backward, optimizer, and late steps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from networks import perceptron, train
from optools.bisecting import suspected
from optools.checksums import Checksums, difference, read_events, step_rows

PROGRAM = """
import os, torch
from networks import MODELS
from faults import Injected, late, one_element, plainly, scaled, stale
{fault}
torch.manual_seed(3)
print("loss", MODELS["{model}"](os.environ["OPTOOLS_TEST_DEVICE"], 4))
"""
NONE = ("perceptron", "", "", "")
FORWARD = ("perceptron", 'Injected("gelu", scaled(1.002), phases="forward").start()', "gelu", "forward")
BACKWARD = (
    "transformer",
    'Injected("_softmax_backward_data", scaled(0.99)).start()',
    "_softmax_backward_data",
    "backward",
)
LATE = (
    "convolutional",
    'Injected("native_batch_norm_backward", late(2, lambda v: v * 1.01)).start()',
    "native_batch_norm_backward",
    "backward",
)
OPTIMIZER = ("perceptron", 'Injected("addcdiv_|_foreach_addcdiv_.*", scaled(1.01)).start()', "addcdiv_", "optimizer")


def bisected(
    case: tuple[str, str, str, str], tmp_path: Path, optools: Callable[..., Any]
) -> tuple[dict[str, Any], str]:
    """Findings and output of bisecting a program with a fault."""
    model, fault, op, _ = case
    (tmp_path / "train.py").write_text(PROGRAM.format(model=model, fault=fault))
    done = optools("bisect", "--folder", "b", "train.py", code=1 if op else 0)
    return json.loads((tmp_path / "b/bisect.json").read_text()), done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("case", [FORWARD, BACKWARD, LATE, OPTIMIZER], ids=["forward", "backward", "late", "optimizer"])
def test_the_first_wrong_operator_is_found_with_few_comparisons(
    case: tuple[str, str, str, str], tmp_path: Path, optools: Callable[..., Any]
) -> None:
    found, text = bisected(case, tmp_path, optools)
    _, _, op, phase = case
    assert op in found["finding"]["op"] and found["finding"]["where"]["phase"] == phase
    assert found["step"] == (2 if case is LATE else 0)
    assert found["runs"] == 3, found  # the suspects were the right ones
    assert found["compared"] < 80
    assert f"The first wrong operator is {found['finding']['op']}, in step {found['step']}, {phase}" in text


@pytest.mark.slow
def test_a_right_program_is_called_right(tmp_path: Path, optools: Callable[..., Any]) -> None:
    found, text = bisected(NONE, tmp_path, optools)
    assert found["step"] is None and found["runs"] == 2
    assert "The device's run is the CPU's, but for rounding." in text and text.count("\n") >= 5


def events_of(folder: Path, device: str, seed: int = 0, **options: Any) -> Any:
    """The checksums of two steps of a perceptron."""
    torch.manual_seed(seed)
    model, optimizer = perceptron(device)
    with Checksums(folder, **options):
        train(model, optimizer, device, 2)
    return read_events(folder)


def test_checksums_have_outputs_gradients_parameters_and_losses(tmp_path: Path, device: str) -> None:
    events = events_of(tmp_path / "a", device)
    names = {(event.kind, event.name) for event in events}
    assert ("output", "Perceptron.norm") in names and ("gradient", "Perceptron.norm") in names
    assert ("parameter gradient", "Perceptron.last.weight") in names and (
        "parameter",
        "Perceptron.last.weight",
    ) in names
    assert ("parameter", "initial first.weight") in names
    assert [event.step for event in events if event.kind == "loss"] == [0, 1]


def test_two_runs_from_one_seed_agree_and_from_two_do_not(tmp_path: Path, device: str) -> None:
    from optools.bisecting import same_start

    one, again = events_of(tmp_path / "a", device), events_of(tmp_path / "b", device, on_cpu=True)
    assert suspected(one, again) == [] and same_start(one, again)
    rows = step_rows(one, again, 256)
    assert [row.step for row in rows] == [0, 1] and not any(row.first for row in rows)
    assert rows[0].loss == pytest.approx(rows[0].other_loss, rel=1e-6)
    other = events_of(tmp_path / "c", device, seed=1)
    assert not same_start(one, other)


def test_a_checksum_sees_a_permutation_and_one_element(tmp_path: Path, device: str) -> None:
    def checksum(name: str, values: Any) -> Any:
        torch.manual_seed(0)
        layer = torch.nn.Identity()
        with Checksums(tmp_path / name):
            layer(values.to(device))
        return read_events(tmp_path / name)[0]

    values = torch.randn(1000)
    one = checksum("a", values)
    assert difference(one, checksum("b", values.flip(0))) > 0.01
    changed = values.clone()
    changed[500] += 1
    assert difference(one, checksum("c", changed)) > 0.01
    assert difference(one, checksum("d", values * (1 + 1e-7))) < 1e-5
    assert difference(one, checksum("e", torch.full((1000,), float("nan")))) == float("inf")


@pytest.mark.slow
def test_a_run_of_another_machine_is_compared_by_its_checksums(tmp_path: Path, optools: Callable[..., Any]) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(model="perceptron", fault=""))
    optools("checksums", "--folder", "one", "--seed", 1, "train.py")
    (tmp_path / "train.py").write_text(
        PROGRAM.format(model="perceptron", fault=LATE[1].replace("native_batch_norm_backward", "gelu"))
    )
    optools("checksums", "--folder", "two", "train.py")
    text = optools("diff", "one", "two", code=1).stdout
    lines = text.splitlines()
    assert lines[2].split()[-1] != "Perceptron" and "output of Perceptron" in lines[3]
