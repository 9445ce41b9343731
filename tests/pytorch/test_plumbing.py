"""Functions around operators: files, loaders, devices, compilation, the profiler, errors, and the switches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
import torch
from programs import HOUR
from torch import nn


def test_tensors_and_states_are_saved_and_loaded(droplet: Any, tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to(droplet)
    file = tmp_path / "state.pt"
    torch.save({"model": model.state_dict(), "view": torch.arange(6.0, device=droplet)[1::2]}, file)
    there = torch.load(file, weights_only=True)
    assert there["view"].device == droplet and there["view"].tolist() == [1.0, 3.0, 5.0]
    here = torch.load(file, map_location="cpu", weights_only=True)
    assert {value.device.type for value in here["model"].values()} == {"cpu"}
    again = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    again.load_state_dict(here["model"])
    assert all(torch.equal(value, model.state_dict()[name].cpu()) for name, value in again.state_dict().items())


def squares(index: int) -> torch.Tensor:
    return torch.tensor([float(index), float(index * index)])


class Squares(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 12

    def __getitem__(self, index: int) -> torch.Tensor:
        return squares(index)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_a_loader_are_pinned_and_arrive(workers: int, droplet: Any) -> None:
    loader = torch.utils.data.DataLoader(Squares(), batch_size=4, num_workers=workers, pin_memory=True)
    batches = []
    for batch in loader:
        assert batch.is_pinned()
        batches.append(batch.to(droplet, non_blocking=True))
    found = torch.cat(batches).cpu()
    assert torch.equal(found, torch.stack([squares(index) for index in range(12)]))


def test_several_devices(droplet: Any) -> None:
    module = torch.get_device_module("droplet")
    assert module.device_count() == 2
    first, second = torch.ones(4, device="droplet:0"), torch.full((4,), 2.0, device="droplet:1")
    assert torch.equal((first.to(second.device) + second).cpu(), torch.full((4,), 3.0))
    with pytest.raises(RuntimeError, match="same device"):
        first + second
    with module.device(1):
        assert torch.empty(1, device="droplet").device.index == 1 and torch.accelerator.current_device_index() == 1
    assert torch.accelerator.current_device_index() == 0
    assert [tensor.sum().item() for tensor in (first, second)] == [4.0, 8.0]


def test_compilation_through_aot_autograd(droplet: Any) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 2)).to(droplet)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    x = torch.randn(3, 5).to(droplet)
    results = []
    for form in (model, compiled):
        model.zero_grad()
        form(x).square().sum().backward()
        results.append([p.grad.cpu() for p in model.parameters()])
    assert results[0][0].abs().max() > 0
    for plain, other in zip(*results, strict=True):
        torch.testing.assert_close(other, plain)


def test_the_profiler_records_what_the_device_did(droplet: Any, tmp_path: Path) -> None:
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.PrivateUse1]
    a, on_cpu = torch.ones(256, 256, device=droplet), torch.ones(4)
    with torch.profiler.profile(activities=activities) as profile:
        ((a @ a).view(-1) + 1).relu().cpu()
        on_cpu.exp()
    file = tmp_path / "trace.json"
    profile.export_chrome_trace(str(file))
    events = json.loads(file.read_text())["traceEvents"]
    by_cpu = {event["name"]: event for event in events if event.get("cat") == "cpu_op"}
    by_device = [event for event in events if event.get("cat") == "kernel"]
    assert {"aten::matmul", "aten::mm", "aten::view", "aten::exp"} <= set(by_cpu)
    assert [event["name"] for event in by_device] == ["aten::mm", "aten::add", "aten::relu", "aten::_copy_from"]
    ends = [event["ts"] + event["dur"] for event in by_device]
    assert all(event["dur"] > 0 for event in by_device) and ends == sorted(ends)
    assert by_device[0]["ts"] >= by_cpu["aten::mm"]["ts"] - 100  # microseconds: the clocks are not one
    totals = {event.key: event.self_device_time_total for event in profile.key_averages() if event.device_time_total}
    assert totals["aten::mm"] == pytest.approx(by_device[0]["dur"], abs=1)


def test_an_error_names_operator_function_and_reason(droplet: Any) -> None:
    table, rows = torch.ones(3, 2, device=droplet), torch.tensor([[0, 7]], device=droplet)
    with pytest.raises(RuntimeError, match=r"aten::gather(\.out)?: diopiGather returns \d+: diopiGather: .*index"):
        torch.gather(table, 0, rows)
    assert (table + 1).sum().item() == 12


def test_the_three_levels_of_dumped_arguments(torch_droplet: Any, droplet: Any, capfd: Any) -> None:
    a = torch.full((2, 3), 1.5, device=droplet)
    reports = []
    for level in (1, 2, 3):
        capfd.readouterr()
        with torch_droplet.dump_arguments(level):
            torch.add(a, a)
        reports.append(capfd.readouterr().err)
    assert re.search(r"^diopi: add\.Tensor -> diopiAdd$", reports[0], re.M) and "[2, 3]" not in reports[0]
    assert "[2, 3]" in reports[1] and "stride [3, 1]" in reports[1] and "1.5" not in reports[1]
    assert "1.5" in reports[2]


def test_dumped_calls_say_why_they_ran_on_the_cpu(torch_droplet: Any, droplet: Any, capfd: Any) -> None:
    a = torch.eye(2, device=droplet)
    with torch_droplet.dump_arguments(1), torch_droplet.force_fallback("sin"):
        torch.geqrf(a)
        a.sin()
    report = capfd.readouterr().err
    assert "diopi: geqrf -> the CPU: no function of the interface serves it (Float)\n" in report
    assert "diopi: sin -> the CPU: DIOPI_FORCE_FALLBACK_OPS names it (Float)\n" in report


def test_operators_are_forced_to_the_cpu_by_expression(torch_droplet: Any, droplet: Any, fallbacks: Any) -> None:
    a = torch.ones(2, 3, device=droplet)
    with torch_droplet.force_fallback(r"add\..*,conv2d"):
        torch.add(a, a)
        torch.mul(a, a)
        nn.functional.conv2d(a.reshape(1, 1, 2, 3), torch.ones(1, 1, 1, 1, device=droplet))
    assert set(fallbacks()) == {"add.Tensor", "convolution_overrideable"}
    before = fallbacks()
    torch.add(a, a)
    assert fallbacks() == before


SHARED: dict[str, Callable[[torch.device], Any]] = {
    "tensor": lambda device: torch.ones(3, device=device),
    "parameter": lambda device: [nn.Parameter(torch.ones(3, device=device))],
    "storage": lambda device: torch.ones(3, device=device).untyped_storage(),
    "sparse tensor": lambda device: torch.eye(3, device=device).to_sparse(),
}


@pytest.mark.parametrize("what", SHARED)
def test_tensors_between_processes_are_refused_where_they_are_sent(what: str, droplet: Any) -> None:
    """A queue pickles in a thread of its own: who reads it gets the exception, and does not wait forever."""
    value, text = SHARED[what](droplet), r"droplet are not shared between processes: send tensor\.cpu\(\)"
    with pytest.raises(RuntimeError, match=text):
        ForkingPickler.dumps(value)
    queue = torch.multiprocessing.get_context("spawn").Queue()
    for sent in (value, torch.ones(3)):
        queue.put(sent)
    with pytest.raises(RuntimeError, match=text):
        queue.get(timeout=HOUR)
    assert torch.equal(queue.get(timeout=HOUR), torch.ones(3))


@pytest.mark.parametrize("devices", [[0], [0, 1], None])
def test_data_parallel_divides_a_batch(devices: list[int] | None, droplet: Any) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).to(droplet)
    parallel, batch = nn.DataParallel(module, device_ids=devices), torch.randn(5, 3)
    gradients = []
    for function in (module, parallel):
        module.zero_grad()
        result = function(batch.to(droplet))
        assert result.device == droplet
        result.square().sum().backward()
        gradients.append([result.detach(), *(one.grad.clone() for one in module.parameters())])
    torch.testing.assert_close(gradients[1], gradients[0])
