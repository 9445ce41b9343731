"""Captures: what is written, chosen, and run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from networks import perceptron, train
from optools.capturing import Capture
from optools.replaying import list_table, replay, show
from optools.store import FolderError, Stored, content_path, read_calls


def captured(folder: Path, device: str, **options: Any) -> list[Stored]:
    """The calls of two steps of a perceptron."""
    model, optimizer = perceptron(device)
    with Capture(folder, **options):
        train(model, optimizer, device)
    return list(read_calls(folder))


def test_forward_and_backward_calls_have_all_names(tmp_path: Path, device: str) -> None:
    calls = captured(tmp_path / "a", device)
    norm = next(call.line for call in calls if call.op == "native_layer_norm")
    assert norm["module"] == "Perceptron.norm" and norm["phase"] == "forward" and norm["step"] == 0
    assert norm["api"] == "torch.nn.functional.layer_norm" and norm["node"] == ""
    assert Path(norm["source"].rpartition(":")[0]).name == "networks.py"
    back = next(call.line for call in calls if call.op == "native_layer_norm_backward")
    assert back["module"] == "Perceptron.norm" and back["phase"] == "backward"
    assert back["node"] == "NativeLayerNormBackward0" and back["api"] == "torch.nn.functional.layer_norm"
    assert back["source"] == norm["source"]
    phases = [call.line["phase"] for call in calls]
    assert set(phases) == {"forward", "backward", "optimizer"} and {call.line["step"] for call in calls} >= {0, 1}


def test_a_capture_runs_again_with_the_same_bits(tmp_path: Path, device: str) -> None:
    captured(tmp_path / "a", device)
    outcomes = replay(tmp_path / "a")
    assert {one.state for one in outcomes} == {"right", "skipped"}
    assert all(one.same for one in outcomes if one.state == "right")
    assert sum(one.state == "right" for one in outcomes) > 40
    assert {one.call.op for one in replay(tmp_path / "a", device="cpu") if one.state == "wrong"} == set()


def test_each_content_is_stored_once(tmp_path: Path, device: str) -> None:
    x = torch.randn(64, 64).to(device)
    with Capture(tmp_path / "a") as tool:
        for _ in range(5):
            torch.mm(x, x)
    assert tool.store.used == 2 * 64 * 64 * 4


def test_the_budget_leaves_shapes(tmp_path: Path, device: str) -> None:
    x = torch.randn(64, 64).to(device)
    with Capture(tmp_path / "a", budget=64 * 64 * 4 * 2 + 1) as tool:
        torch.mm(x, x)
        torch.add(x, x)
    first, second = read_calls(tmp_path / "a")
    assert first.has_operands and not second.has_operands
    assert "beyond the budget" in second.line["why"] and second.line["args"][0]["shape"] == [64, 64]
    assert tool.skipped == {"operands beyond the budget; shapes were captured": 1}
    with pytest.raises(FolderError, match="beyond the budget"):
        second.operands()
    with Capture(tmp_path / "b", budget=0) as tool:
        torch.mm(x, x)
    (third,) = read_calls(tmp_path / "b")
    assert not third.has_operands and tool.store.over == 1


def test_strides_and_shared_memory_are_retained(tmp_path: Path, device: str) -> None:
    base = torch.arange(24.0).to(device)
    wide = base[:1].expand(6)
    with Capture(tmp_path / "a", "add.Tensor,mul_.Tensor"):
        torch.add(base.view(4, 6).t()[1:4], wide[:4])
        base[2:8].mul_(base[8:14])
    add, mul = read_calls(tmp_path / "a")
    args, _ = add.operands().thaw("cpu")
    assert args[0].stride() == (1, 6) and args[1].stride() == (0,)
    assert args[0].untyped_storage().data_ptr() == args[1].untyped_storage().data_ptr()
    assert args[0].tolist() == torch.arange(24.0).view(4, 6).t()[1:4].tolist()
    before, after = mul.operands().thaw("cpu")[0][0], mul.written().thaw("cpu")[1]["self"]
    assert before.tolist() == [2.0, 3, 4, 5, 6, 7] and after.tolist() == [16.0, 27, 40, 55, 72, 91]


def test_operands_of_several_dtypes_in_one_storage(tmp_path: Path, device: str) -> None:
    memory = torch.zeros(16, dtype=torch.uint8).to(device)
    floats, integers = memory[:8].view(torch.float32), memory[8:].view(torch.int64)
    floats += 1.5
    integers += 3
    with Capture(tmp_path / "a"):
        torch.add(floats, integers)
    (call,) = read_calls(tmp_path / "a")
    args, _ = call.operands().thaw("cpu")
    assert args[0].tolist() == [1.5, 1.5] and args[1].tolist() == [3]


def test_random_calls_repeat_from_their_generator(tmp_path: Path, device: str) -> None:
    own = torch.Generator(device).manual_seed(3)
    with Capture(tmp_path / "a"):
        torch.rand(100, device=device)
        torch.rand(100, device=device, generator=own)
        torch.empty(50, device=device).normal_()
    outcomes = [one for one in replay(tmp_path / "a") if "empty" not in one.call.op]
    assert [one.state for one in outcomes] == ["right"] * len(outcomes) and len(outcomes) >= 3


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ops": "native_layer_norm"}, {"native_layer_norm"}),
        ({"ops": "layer_norm", "phases": "backward"}, {"native_layer_norm_backward"}),
        ({"ops": "torch.nn.functional.gelu", "phases": "forward"}, {"gelu"}),
        ({"modules": r".*\.norm", "steps": "1"}, {"native_layer_norm", "native_layer_norm_backward"}),
        ({"ops": "native.*", "exclude": ".*backward"}, {"native_layer_norm", "native_dropout"}),
    ],
)
def test_calls_are_selected(options: dict[str, Any], expected: set[str], tmp_path: Path, device: str) -> None:
    found = {call.op for call in captured(tmp_path / "a", device, **options)}
    assert found and found <= expected and not found - expected


def test_a_sample_is_a_fraction(tmp_path: Path, device: str) -> None:
    x = torch.ones(2).to(device)
    with Capture(tmp_path / "a", sample=0.1, operands=False) as tool:
        for _ in range(2000):
            torch.add(x, x)
    assert 120 < tool.count < 280  # 200 and six standard deviations
    with pytest.raises(ValueError, match="sample=0 is no fraction"):
        Capture(tmp_path / "b", sample=0)


def test_shapes_alone_need_no_contents(tmp_path: Path, device: str) -> None:
    calls = captured(tmp_path / "a", device, operands=False)
    assert not list((tmp_path / "a/contents").iterdir())
    with_operands = captured(tmp_path / "b", device)
    assert [call.op for call in calls] == [call.op for call in with_operands]
    assert "Perceptron.norm" in list_table(calls)
    assert all(one.state == "skipped" for one in replay(tmp_path / "a"))


def test_nothing_is_installed_when_off(tmp_path: Path, device: str) -> None:
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    captured(tmp_path / "a", device)
    assert _get_current_dispatch_mode() is None and torch._C._len_torch_function_stack() == 0
    hooks = torch.nn.modules.module
    assert not hooks._global_forward_hooks and not hooks._global_forward_pre_hooks


def test_captures_of_a_device_that_torch_does_not_know_are_replayed_elsewhere(tmp_path: Path) -> None:
    with Capture(tmp_path / "a"):
        torch.full((3,), 2.0, device="cpu")
        torch.ones(3) + 1
    lines = tmp_path / "a/calls.jsonl"
    lines.write_text(lines.read_text().replace('"cpu"', '"unheard:0"'))
    outcomes = {one.call.op: one for one in replay(tmp_path / "a", device="cpu")}
    assert outcomes["full"].state == "right" and outcomes["add.Tensor"].state == "right"
    failed = {one.call.op: one for one in replay(tmp_path / "a")}["add.Tensor"]
    assert failed.state == "failed" and "unheard" in failed.why


def test_damaged_folders_are_named(tmp_path: Path, device: str) -> None:
    with pytest.raises(FolderError, match="has no captures"):
        list(read_calls(tmp_path))
    x = torch.ones(3).to(device)
    with Capture(tmp_path / "a"):
        torch.add(x, x)
    with pytest.raises(FolderError, match="has captures already"):
        Capture(tmp_path / "a").start()
    (call,) = read_calls(tmp_path / "a")
    path = content_path(tmp_path / "a", call.line["args"][0]["tensor"])
    path.write_bytes(b"123456789012")
    with pytest.raises(FolderError, match="is damaged"):
        call.operands()
    path.unlink()
    with pytest.raises(FolderError, match="cannot be read"):
        call.operands()


def written_capture(folder: Path, op: str, *args: Any) -> Path:
    """A capture of one call that no program made."""
    folder.mkdir()
    names = {"module": "", "node": "", "api": "", "source": "t.py:2", "step": 0, "phase": "forward"}
    line = {"call": 0, "op": op, "stored": True, "args": args, "kwargs": {}, "outputs": [], "written": {}, **names}
    (folder / "calls.jsonl").write_text(json.dumps(line) + "\n")
    return folder


@pytest.mark.parametrize(
    ("op", "args", "why"),
    [
        ("from_file", ["VICTIM", True, 4], "it opens a file"),
        ("manual_seed", [1], "it returns no tensor"),
        ("_cufft_clear_plan_cache", [0], "it returns no tensor"),
        ("mine::add", [1, 2], "no operator 'mine::add'"),
        ("load_library::__func__.__globals__", [], "no operator"),
        ("load_library::__call__", ["VICTIM"], "no operator"),
        ("optools_test::twice", [1.0], "runs only where --namespace names it"),
    ],
)
def test_a_capture_calls_only_operators_that_compute(tmp_path: Path, op: str, args: list[Any], why: str) -> None:
    with torch.library._scoped_library("optools_test", "DEF") as library:
        library.define("twice(float x) -> Tensor")
        called: list[float] = []

        def twice(x: float) -> torch.Tensor:
            called.append(x)
            return torch.full((), 2 * x)

        library.impl("twice", twice, "CompositeExplicitAutograd")
        victim = tmp_path / "victim"
        folder = written_capture(tmp_path / "a", op, *[str(victim) if one == "VICTIM" else one for one in args])
        (outcome,) = replay(folder)
        assert outcome.state == "skipped" and why in outcome.why
        assert not victim.exists() and not called
        replay(folder, namespaces=["optools_test"])
        assert bool(called) == op.startswith("optools_test")


@pytest.mark.parametrize(
    "operand", [{"tensor": 3, "dtype": "float32"}, {"torch": 1}, {"generator": "zz", "device": ""}]
)
def test_a_line_that_no_capture_wrote_fails_in_one_sentence(tmp_path: Path, operand: dict[str, Any]) -> None:
    (outcome,) = replay(written_capture(tmp_path / "a", "neg", operand))
    assert outcome.state in ("failed", "skipped") and outcome.why


def test_show_has_operands_and_ranges(tmp_path: Path, device: str) -> None:
    x = torch.tensor([1.0, -2, float("inf")]).to(device)
    with Capture(tmp_path / "a"):
        torch.mul(x, 2.0)
    (call,) = read_calls(tmp_path / "a")
    text = show(call)
    assert "self: float32[3]" in text and "-2 to 1, 1 not finite" in text and "-4 to 2, 1 not finite" in text


PROGRAM = """
import os, sys, torch
device = os.environ["OPTOOLS_TEST_DEVICE"]
model = torch.nn.Linear(4, 3).to(device)
model(torch.ones(2, 4).to(device)).sum().backward()
print("arguments", sys.argv[1:])
"""


@pytest.mark.slow
def test_the_commands_capture_list_show_and_replay(tmp_path: Path, optools: Callable[..., Any], device: str) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = optools("capture", "--folder", "kept", "train.py", "--one", "two")
    assert "arguments ['--one', 'two']" in done.stdout and "bytes of operands in kept" in done.stdout
    listed = optools("list", "kept", "--ops", "addmm").stdout
    number = listed.splitlines()[1].split()[0]
    assert "Linear" in listed and "train.py:5" in listed
    assert "module: Linear" in optools("show", "kept", number).stdout
    again = optools("replay", "kept", number)
    assert "1 right, 0 wrong, 0 failed, 0 skipped" in again.stdout
    assert "has no call 9999" in optools("show", "kept", 9999, code=2).stderr
    run = json.loads((tmp_path / "kept/run.json").read_text())
    assert run["torch"] == torch.__version__
