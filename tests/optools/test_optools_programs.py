"""Programs as they are: environment variable, aliases, checkpointing, custom functions, transforms, subclasses,
torch.compile, several processes."""

from __future__ import annotations

import json
import math
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from networks import perceptron, train
from optools.capturing import Capture
from optools.comparing import Compare
from optools.mode import compiled_graphs
from optools.overflowing import Overflows
from optools.store import Stored, read_calls
from optools.timing import Timing
from torch.utils.checkpoint import checkpoint

import optools as tools

SOURCES = Path(__file__).resolve().parents[2] / "optools/src"


def calls_of(tmp_path: Path, action: Callable[[], Any], **options: Any) -> list[Stored]:
    """The calls of an action, without their operands."""
    with Capture(tmp_path / "a", operands=False, **options):
        action()
    return list(read_calls(tmp_path / "a"))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_has_a_phase_of_its_own(reentrant: bool, tmp_path: Path, device: str) -> None:
    model, _ = perceptron(device)
    x = torch.randn(4, 12).to(device).requires_grad_()

    def run() -> None:
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()

    calls = calls_of(tmp_path, run)
    norms = [(call.line["phase"], call.line["module"]) for call in calls if call.op.startswith("native_layer_norm")]
    assert norms == [(phase, "Perceptron.norm") for phase in ("forward", "recompute", "backward")]
    with Compare() as tool:
        run()
    assert not tool.report.findings


class Doubled(torch.autograd.Function):
    """A function whose backward is written by hand."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.mul(2).exp().log()


def test_custom_autograd_functions_are_seen(tmp_path: Path, device: str) -> None:
    x = torch.ones(4).to(device).requires_grad_()
    calls = calls_of(tmp_path, lambda: Doubled.apply(x).sum().backward())
    nodes = {call.op: call.line["node"] for call in calls if call.line["phase"] == "backward"}
    assert nodes["exp"] == nodes["log"] == "DoubledBackward"


def test_functional_transforms_are_seen(tmp_path: Path, device: str) -> None:
    x = torch.randn(3, 5).to(device)

    def run() -> Any:
        torch.func.vmap(lambda row: row.sin())(x)
        return torch.func.grad(lambda value: (value.cos() ** 2).sum())(x)

    calls = calls_of(tmp_path, run)
    assert {"sin", "cos", "neg", "pow.Tensor_Scalar"} <= {call.op for call in calls}
    with Compare() as tool:
        run()
    assert not tool.report.findings and tool.report.totals["cos"].calls == 1


class Wrapped(torch.Tensor):
    """A subclass with operators of its own."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, device=inner.device)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls(func(*[one.inner if isinstance(one, cls) else one for one in args], **(kwargs or {})))


class Named(torch.Tensor):
    """A subclass without any."""


def test_subclasses_are_counted_by_name_and_their_inner_operators_are_seen(device: str) -> None:
    x = torch.ones(4).to(device)
    wrapped = Wrapped(x)
    with Compare() as tool:
        found = wrapped + 1
        x.as_subclass(Named) * 2
    assert isinstance(found, Wrapped)
    (reason,) = tool.skipped
    assert reason.endswith("test_optools_programs.Wrapped") and reason.startswith("tensors of ")
    assert tool.report.totals["add.Tensor"].calls == 1 and tool.report.totals["mul.Tensor"].calls == 1


@pytest.mark.parametrize("compiled_before", [False, True])
def test_compiled_graphs_are_counted_and_named(compiled_before: bool, device: str) -> None:
    torch._dynamo.reset()
    function = torch.compile(lambda value: (value.sin() + 1).sum(), backend="aot_eager")
    x = torch.ones(5).to(device)
    if compiled_before:
        function(x)
    graphs = compiled_graphs()
    with Compare() as tool:
        found = function(x)
    assert float(found) == pytest.approx(5 * (1 + math.sin(1)), rel=1e-6) and not tool.report.findings
    assert compiled_graphs() == graphs + 1  # compiled as without the tool
    (reason,) = tool.skipped
    assert reason.startswith("torch.compile: graphs, of which their kernels or none are seen")


def test_a_wrong_operator_to_try_the_tools_with(device: str) -> None:
    x = torch.ones(4).to(device).requires_grad_()
    with tools.wrong("exp", 2.0, phases="forward"), Compare(quiet=True) as tool:
        x.exp().sum().backward()
    assert [one.op for one in tool.report.findings] == ["exp"]


def test_steps_can_be_ended_by_hand(tmp_path: Path, device: str) -> None:
    x = torch.ones(2).to(device)

    def run() -> None:
        for _ in range(3):
            torch.add(x, x)
            tools.step()

    assert [call.line["step"] for call in calls_of(tmp_path, run)] == [0, 1, 2]


def test_two_optimizers_are_one_step(tmp_path: Path, device: str) -> None:
    one, two = (torch.nn.Linear(3, 3).to(device) for _ in range(2))
    optimizers = [torch.optim.SGD(model.parameters(), 0.1) for model in (one, two)]

    def run() -> None:
        for _ in range(2):
            two(one(torch.ones(1, 3).to(device))).sum().backward()
            for optimizer in optimizers:
                optimizer.step()

    calls = calls_of(tmp_path, run, ops="addmm")
    assert [call.line["step"] for call in calls if call.line["phase"] == "forward"] == [0, 0, 1, 1]


def test_tools_may_stop_in_any_order(tmp_path: Path, device: str) -> None:
    x = torch.ones(2).to(device)
    one, two = Capture(tmp_path / "a", operands=False), Timing()
    one.start()
    two.start()
    torch.add(x, x)
    one.stop()
    torch.add(x, x)
    two.stop()
    torch.add(x, x)
    assert one.count == 1 and two.rows()[0].count == 2
    with pytest.raises(RuntimeError, match="Overflows is already started"):
        tool = Overflows().start()
        try:
            tool.start()
        finally:
            tool.stop()


LISTS = [
    ("OpCapture", "OP_CAPTURE", "count"),
    ("OpAutoCompare", "OP_AUTOCOMPARE", "calls_seen"),
    ("OpTimeMeasure", "OP_TIME_MEASURE", "calls_seen"),
    ("OpFallback", "OP_FALLBACK", "calls_seen"),
    ("OpOverflowCheck", "OP_OVERFLOW_CHECK", "calls_seen"),
    ("OpDtypeCast", "OP_DTYPE_CAST", "calls_seen"),
]


@pytest.mark.parametrize(("name", "lists", "counter"), LISTS, ids=[one[0] for one in LISTS])
def test_aliases_start_stop_and_read_their_lists(
    name: str, lists: str, counter: str, tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x = torch.ones(2).to(device)

    def seen(**variables: str) -> int:
        with monkeypatch.context() as patch:
            for key, value in variables.items():
                patch.setenv(key, value)
            words = (f"folder{len(list(tmp_path.iterdir()))}",) if name == "OpCapture" else ()
            tool = getattr(tools, name)(*words)
            tool.start()
            torch.add(x, x)
            torch.mul(x, x)
            tool.stop()
            return int(getattr(tool, counter))

    assert seen() == 2
    assert seen(**{f"{lists}_LIST": "torch.add"}) == 1
    assert seen(**{f"{lists}_DISABLE_LIST": "torch.add,torch.mul"}) == 0
    assert seen(**{f"{lists}_LIST": ".*", f"{lists}_DISABLE_LIST": "mul.*"}) == 1


def test_the_alias_for_casts_reads_its_dtypes(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OP_DTYPE_CAST_DICT", "torch.float32->torch.float16")
    x = torch.full((2,), 1.0 + 2**-20).to(device)
    with tools.OpDtypeCast():
        y = x * 1
    assert y.dtype == torch.float32 and y.tolist() == [1.0, 1.0]


PROGRAM = """
import os, torch
x = torch.ones(3).to(os.environ["OPTOOLS_TEST_DEVICE"])
print((x + x).sum().item())
"""


def entry_point(folder: Path) -> str:
    """A search path on which torch finds optools as an installed package."""
    info = folder / "site/diopi_optools-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: diopi-optools\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\noptools = optools.environment:autoload\n")
    return os.pathsep.join([str(info.parent), str(SOURCES), os.environ.get("PYTHONPATH", "")])


def test_the_environment_starts_a_tool_without_a_change_of_the_program(
    tmp_path: Path, python: Callable[..., Any], device: str
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    path = entry_point(tmp_path)
    done = python("train.py", OPTOOLS="compare --ops add", PYTHONPATH=path)
    assert "6.0" in done.stdout and "add.Tensor" in done.stdout and "no operator is wrong" in done.stdout
    assert "sum" not in done.stdout
    off = python("train.py", PYTHONPATH=path)
    assert off.stdout.strip() == "6.0" and not off.stderr.strip().startswith("optools")
    broken = python("train.py", OPTOOLS="compare --sample 7", PYTHONPATH=path, code=2)
    assert "OPTOOLS=compare --sample 7: sample=7.0 is no fraction" in broken.stderr


def test_the_entry_point_imports_nothing_where_no_tool_is_asked_for(python: Callable[..., Any]) -> None:
    text = """if True:
        import sys
        from optools.environment import autoload
        autoload()
        print(sorted(name for name in sys.modules if name.startswith("optools")))"""
    done = python("-c", text, OPTOOLS="")
    assert done.stdout.strip() == "['optools', 'optools.environment']"


PARALLEL = """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
import optools
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 3))
with optools.capture("captures"), optools.compare() as found, optools.timing() as times:
    model(torch.ones(2, 4) * (1 + dist.get_rank())).sum().backward()
    dist.all_reduce(torch.ones(3))
assert not found.report.findings
print(sorted({row.op for row in times.rows() if "reduce" in row.op}))
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_each_rank_has_a_folder(tmp_path: Path, python: Callable[..., Any]) -> None:
    (tmp_path / "train.py").write_text(PARALLEL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = ("-m", "torch.distributed.run", "--nproc-per-node=2", "--master-addr=127.0.0.1", f"--master-port={port}")
    done = python(*words, "train.py")
    assert "allreduce" in done.stdout
    assert sorted(path.name for path in (tmp_path / "captures").iterdir()) == ["rank0", "rank1"]
    for rank in (0, 1):
        assert json.loads((tmp_path / f"captures/rank{rank}/run.json").read_text())["rank"] == rank
        linear = next(call for call in read_calls(tmp_path / f"captures/rank{rank}") if call.op == "addmm")
        assert linear.line["module"] == "DistributedDataParallel.module"
        assert float(linear.operands().thaw("cpu")[0][1][0, 0]) == 1 + rank
    assert len(list(read_calls(tmp_path / "captures"))) > 10


def test_workers_that_load_data_are_left_alone(tmp_path: Path, device: str) -> None:
    from torch.utils.data import DataLoader

    model, optimizer = perceptron(device)
    with Capture(tmp_path / "a", operands=False) as tool:
        if device == "cpu":  # a device forbids to fork after its first use
            assert len(list(DataLoader(torch.ones(8, 12), batch_size=2, num_workers=1))) == 4
        train(model, optimizer, device, 1)
    numbers = [call.number for call in read_calls(tmp_path / "a")]
    assert numbers == list(range(tool.count))
