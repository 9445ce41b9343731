"""Overflow, time, cast and fallback."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from networks import MODELS
from optools.casting import Cast, dtypes_of
from optools.expression import ExpressionError
from optools.falling_back import Fallback
from optools.overflowing import Overflows
from optools.timing import RING, Row, Timing, comparison, quantile, read_csv
from sampling import first


def test_the_first_operator_that_overflows_is_named(device: str) -> None:
    x = torch.full((8,), 300.0, dtype=torch.float16).to(device)
    with Overflows(quiet=True) as tool:
        y = x * x
        z = y - y
        z.add_(1)
    assert [one.op for one in tool.found] == ["mul.Tensor"]
    assert tool.first is not None and tool.first.values == "inf in 8 of 8 elements of 0"
    assert tool.first.operands == "self 300, other 300" and tool.first.dtype == "float16"


def test_overflow_in_place_is_seen_and_followed(device: str) -> None:
    x = torch.full((8,), 300.0, dtype=torch.float16).to(device)
    with Overflows(quiet=True) as tool:
        x.mul_(300)
        x.add_(1)
        x.fill_(2.0)
        x.mul_(40000)
        x.mul_(2)
    assert [one.op for one in tool.found] == ["mul_.Tensor", "mul_.Tensor"]


def test_infinities_that_a_program_passes_are_no_overflow(device: str) -> None:
    x = torch.zeros(4, 4).to(device)
    mask = torch.ones(4, 4, dtype=torch.bool).triu(1).to(device)
    with Overflows(quiet=True) as tool:
        x.masked_fill(mask, float("-inf")).softmax(-1)
        torch.full((3,), float("inf"), device=device) * 2
        torch.empty(100, device=device)
    assert tool.found == []


def test_ranges_are_retained_by_operator_dtype_and_step(tmp_path: Path, device: str) -> None:
    with Overflows(folder=tmp_path / "a") as tool:
        MODELS["half"](device, 3)
    assert tool.found == []
    one = tool.ranges["addmm", "float16"]
    assert set(one.steps) == {0, 1, 2} and max(one.steps.values()) == one.largest and one.module.startswith("Half.")
    saved = json.loads((tmp_path / "a/overflow.json").read_text())
    assert any(entry["op"] == "addmm" and entry["dtype"] == "float16" for entry in saved["ranges"])
    assert tool.table().splitlines()[1].split()[1] == "float16"


@pytest.mark.parametrize("synchronous", [False, True])
def test_times_have_counts_shapes_and_phases(synchronous: bool, tmp_path: Path, device: str) -> None:
    with Timing(folder=tmp_path / "a", synchronous=synchronous) as tool:
        MODELS["perceptron"](device, 2)
    rows = {(row.op, row.phase, row.shapes): row for row in tool.rows()}
    linear = rows["addmm", "forward", "float32[32], float32[6, 12], float32[12, 32]"]
    assert linear.count == 2 and 0 < linear.p50 <= linear.p99 <= linear.total
    assert {row.phase for row in tool.rows()} == {"forward", "backward", "optimizer"}
    assert [row.op for row in read_csv(tmp_path / "a")] == [row.op for row in tool.rows()]
    with (tmp_path / "a/time.csv").open() as lines:
        assert len(list(csv.reader(lines))) == len(rows) + 1
    trace = json.loads((tmp_path / "a/trace.json").read_text())["traceEvents"]
    events = [event for event in trace if event["ph"] == "X"]
    assert len(events) == sum(row.count for row in rows.values()) and all(event["dur"] >= 0 for event in events)
    assert {"Perceptron.norm"} <= {event["args"]["module"] for event in events}


def test_a_ring_of_events_is_read_later(device: str) -> None:
    x = torch.ones(2).to(device)
    with Timing(shapes=False) as tool:
        for _ in range(RING + 100):
            torch.add(x, x)
    (row,) = tool.rows()
    assert row.count == RING + 100 and row.shapes == ""


def test_quantiles_are_times_that_were_measured() -> None:
    times = [float(value) for value in range(1, 101)]
    assert quantile(times, 0.5) == 50 and quantile(times, 0.99) == 99 and quantile([3.0], 0.99) == 3


def test_two_runs_are_compared() -> None:
    one = [Row("mm", "forward", "a", 2, 20.0, 10.0, 10.0), Row("exp", "forward", "b", 1, 1.0, 1.0, 1.0)]
    two = [Row("mm", "forward", "a", 2, 60.0, 30.0, 30.0), Row("log", "forward", "b", 1, 5.0, 5.0, 5.0)]
    lines = comparison(one, two).splitlines()
    assert lines[1].split() == ["mm", "forward", "a", "2", "2", "10.0", "30.0", "3.00", "+40.0"]
    assert [line.split()[0] for line in lines[2:]] == ["log", "exp"]


def test_a_cast_computes_in_another_dtype_and_keeps_the_programs(device: str) -> None:
    x = torch.full((1000,), 1.0, dtype=torch.float16).to(device)
    with Cast("sum.*,mul.*", "float16->float32") as tool:
        total = (x * 60).sum()
        assert total.dtype == torch.float16
        y = x.clone().mul_(1.0009765625)
    assert float(total) == 60000 and y.dtype == torch.float16 and tool.counts["mul_.Tensor"] == 1
    with Cast("add.*", "float32->float16"):
        assert float(torch.tensor(1.0).to(device) + 2**-13) == 1.0
    assert float(torch.tensor(1.0).to(device) + 2**-13) > 1.0


def test_a_cast_trains_as_the_program_does(device: str) -> None:
    torch.manual_seed(0)
    plain = MODELS["perceptron"](device, 3)
    torch.manual_seed(0)
    with Cast(dtypes="float32->float64") as tool:
        wide = MODELS["perceptron"](device, 3)
    assert wide == pytest.approx(plain, rel=1e-5) and tool.counts["addmm"] == 6


@pytest.mark.parametrize("text", ["float16", "half->int8", "x->y", ""])
def test_dtypes_are_read_or_rejected(text: str) -> None:
    if text == "float16":
        assert torch.float32 in dtypes_of(text) and torch.float16 not in dtypes_of(text)
        return
    with pytest.raises(ExpressionError, match="write float16->float32"):
        dtypes_of(text)


@pytest.mark.parametrize("model", MODELS)
def test_a_program_on_the_cpu_by_fallback_trains_the_same(model: str, device: str) -> None:
    torch.manual_seed(0)
    plain = MODELS[model](device, 2)
    torch.manual_seed(0)
    with Fallback() as tool:
        found = MODELS[model](device, 2)
    assert found == pytest.approx(plain, rel=2e-3 if model == "half" else 1e-4)
    assert sum(tool.counts.values()) > 50


def test_a_fallback_goes_around_a_wrong_operator(device: str) -> None:
    from faults import Injected, scaled

    x = torch.ones(3, 3).to(device)
    with Injected("mm", scaled(2.0)):
        assert float((x @ x)[0, 0]) == 6
        with Fallback("mm") as tool:
            assert float((x @ x)[0, 0]) == 3
    assert tool.counts == {"mm": 1}


def test_a_fallback_writes_where_the_program_does(device: str) -> None:
    base = torch.arange(6.0).to(device)
    out = torch.empty(3).to(device)
    with Fallback():
        view = base[1:4].mul_(10)
        torch.add(base[:3], 1, out=out)
        values, indices = base.max(0)
        lists = torch._foreach_add([base, out], 1)
    assert base.tolist() == [0, 10, 20, 30, 4, 5] and view.data_ptr() == base[1:].data_ptr()
    assert out.tolist() == [1, 11, 21] and float(values) == 30 and int(indices) == 3
    assert lists[1].tolist() == [2, 12, 22] and lists[0].device == base.device


PROGRAM = """
import os, torch
x = torch.full((4,), 300.0).half().to(os.environ["OPTOOLS_TEST_DEVICE"])
print("sum", (x * {factor}).sum().item())
"""


@pytest.mark.parametrize(
    ("words", "factor", "code", "expected"),
    first(
        [
            (("overflow",), 300, 1, "the first is\nmul.Tensor made inf in 4 of 4 elements of 0 in float16"),
            (("overflow",), 1, 0, "no operator makes inf or NaN"),
            (("time", "--rows", "2"), 1, 0, "p99 us"),
            (
                ("cast", "--ops", "mul.*"),
                1,
                0,
                "calls that were cast, float16->float32,bfloat16->float32: mul.Tensor 1",
            ),
            (("fallback", "--ops", "mul.*"), 1, 0, "calls that were run on the CPU: mul.Tensor 1"),
        ]
    ),
    ids=["overflow", "no-overflow", "time", "cast", "fallback"],
)
def test_commands(
    words: tuple[str, ...], factor: int, code: int, expected: str, tmp_path: Path, optools: Callable[..., Any]
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM.format(factor=factor))
    done = optools(*words, "train.py", code=code)
    assert expected in done.stdout and "sum " in done.stdout
