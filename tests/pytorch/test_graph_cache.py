"""Planned graphs in PyTorch's cache: what was compiled once is found again, and nothing else is."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch_build

pytestmark = pytest.mark.usefixtures("fresh_compiler")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder in which PyTorch caches graphs in a test."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("DIOPI_COMPILE_CACHE", "1")
    return tmp_path / "aotautograd"


def outcome(call: Callable[[], Any]) -> tuple[Any, dict[str, int]]:
    """As in another process: nothing of the compiler is left but its cache. Gives what the cache counted as well."""
    import torch
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    result = call()
    prefix = "autograd_cache_"
    counted = counters["aot_autograd"].items()
    return result, {key.removeprefix(prefix): value for key, value in counted if key.startswith(prefix)}


def training(graphs: ModuleType, droplet: Any) -> Callable[[], list[Any]]:
    """A step of a net with a constant mask, and its gradients."""
    import torch

    torch.manual_seed(0)
    layers = [torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8)]
    model = torch.nn.Sequential(*layers).to(droplet)
    x = torch.randn(4, 8).to(droplet)

    def step() -> list[Any]:
        def loss(x: Any) -> Any:
            mask = torch.arange(8, device=x.device).float() * 0.5
            return (model(x) * mask).square().mean()

        model.zero_grad()
        value = torch.compile(loss, backend=graphs.backend)(x)
        value.backward()
        return [value.detach().cpu(), *(p.grad.cpu() for p in model.parameters())]

    return step


def assert_equal(one: list[Any], other: list[Any]) -> None:
    import torch

    assert all(torch.equal(first, second) for first, second in zip(one, other, strict=True))


def test_a_second_process_plans_nothing(
    graphs: ModuleType, torch_droplet: ModuleType, droplet: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = training(graphs, droplet)
    first, counted = outcome(step)
    assert counted == {"miss": 1, "saved": 1}

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("planned again")

    monkeypatch.setattr(graphs, "plan", never)
    monkeypatch.setattr(graphs, "compile_graph", never)
    second, counted = outcome(step)
    assert counted == {"hit": 1}
    assert_equal(first, second)
    torch_droplet.reset_fallback_report()
    with torch_droplet.force_fallback("native_layer_norm"):  # a plan without fused kernels is kept as well
        watched, _ = outcome(step)
    assert torch_droplet.fallback_report() == {"native_layer_norm": 1}
    assert all(one.allclose(other, atol=1e-6) for one, other in zip(watched, first, strict=True))


def test_what_a_plan_follows_from_is_in_the_key(
    graphs: ModuleType, droplet: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another library, another version of the package, other switches."""
    step = training(graphs, droplet)
    outcome(step)
    monkeypatch.setenv("DIOPI_COMPILE_FUSION", "0")
    assert outcome(step)[1] == {"miss": 1, "saved": 1}
    monkeypatch.delenv("DIOPI_COMPILE_FUSION")
    assert outcome(step)[1] == {"hit": 1}
    cache = importlib.import_module("diopi_torch.graph_cache")
    assert any("libtorch_droplet" in path.name for path in cache._libraries())
    assert any("libdiopi_impl" in path.name for path in cache._libraries())
    monkeypatch.setattr(cache, "_files", lambda: "another library")
    assert outcome(step)[1] == {"miss": 1, "saved": 1}


def test_a_plan_whose_kernels_were_not_compiled_is_not_kept(
    graphs: ModuleType, droplet: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a compiler that is installed later would have no effect."""
    import torch

    def run() -> Any:
        return torch.compile(lambda x: x * 1.6875 - 0.4375, backend=graphs.backend)(torch.ones(3, device=droplet)).cpu()

    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        first, counted = outcome(run)
    assert counted == {"miss": 1, "bypass": 1}
    second, counted = outcome(run)
    assert counted == {"miss": 1, "saved": 1}
    assert torch.equal(first, second)


def test_torn_files_are_made_again(graphs: ModuleType, droplet: Any, folder: Path) -> None:
    step = training(graphs, droplet)
    first, _ = outcome(step)
    (entry,) = folder.glob("*/*")
    entry.write_bytes(entry.read_bytes()[:100])
    second, counted = outcome(step)
    assert counted == {"miss": 1, "saved": 1}
    assert_equal(first, second)
    assert outcome(step)[1] == {"hit": 1}


def test_graphs_that_are_not_kept(
    graphs: ModuleType, droplet: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any where the switch is off or plans are shown."""
    step = training(graphs, droplet)
    for name, value in (("DIOPI_COMPILE_CACHE", "0"), ("DIOPI_COMPILE_LOG", "pattern")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert outcome(step)[1] == {}
    assert not list(folder.glob("*/*"))


def test_graphs_with_symbols(
    graphs: ModuleType, torch_droplet: ModuleType, droplet: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found for any sizes; those that the plan is not for are planned from the graph that was kept."""
    import torch

    weight = torch.randn(4, requires_grad=True, device=droplet)

    def function(x: Any) -> Any:
        places = torch.arange(x.shape[1], device=x.device).float()
        return ((x * weight[:1] + places).sum(-1, keepdim=True) * x).softmax(-1) * x.shape[0]

    def run(*sizes: tuple[int, int]) -> Any:
        call = torch.compile(function, backend=graphs.backend, dynamic=True)

        def once() -> list[Any]:
            found = []
            for rows, columns in sizes:
                x = torch.linspace(-1, 1, rows * columns).reshape(rows, columns).to(droplet)
                weight.grad = None
                value = call(x)
                value.square().mean().backward()
                found += [value.detach().cpu(), weight.grad.cpu()]
                expected = function(x.cpu().to(droplet))
                torch.testing.assert_close(value.detach().cpu(), expected.detach().cpu(), rtol=1e-4, atol=1e-5)
            return found

        return once

    first, counted = outcome(run((5, 6), (9, 7)))
    assert counted == {"miss": 1, "saved": 1}
    planned: list[Any] = []
    original = graphs.plan

    def counted_plan(*args: Any, **options: Any) -> Any:
        planned.append(args)
        return original(*args, **options)

    monkeypatch.setattr(graphs, "plan", counted_plan)
    second, counted = outcome(run((5, 6), (9, 7)))
    assert counted == {"hit": 1} and not planned
    assert_equal(first, second)
    _, counted = outcome(run((8, 3), (3, 20000), (5, 4)))
    assert counted == {"hit": 1} and planned


@pytest.mark.slow
def test_another_process(graphs: ModuleType, droplet: Any, folder: Path) -> None:
    """Both at once, then a third: each gets the same."""
    code = (
        "import torch, torch_droplet\n"
        "from diopi_torch import graphs\n"
        "from torch._dynamo.utils import counters\n"
        "torch.manual_seed(0)\n"
        "model = torch.nn.Linear(4, 4).to('droplet')\n"
        "call = torch.compile(model, backend=graphs.backend)\n"
        "value = call(torch.ones(2, 4, device='droplet')).sum()\n"
        "value.backward()\n"
        "print(counters['aot_autograd']['autograd_cache_hit'], float(value), float(model.weight.grad.sum()))\n"
    )
    command = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": torch_build.PYTHONPATH}
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [process.communicate()[0].split() for process in running]
    third = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert third.returncode == 0, third.stderr
    texts.append(third.stdout.split())
    assert texts[2][0] == "1" and texts[0][1:] == texts[1][1:] == texts[2][1:]
