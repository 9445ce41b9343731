"""Graphs of captured work: torch.accelerator.Graph, torch_<vendor>.graph, modes of torch.compile that use them."""

from __future__ import annotations

import functools
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch_build

pytestmark = pytest.mark.usefixtures("nothing_left")


def captured(torch_droplet: ModuleType, work: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    """A graph of the work, and what the work returned."""
    graph = torch_droplet.Graph()
    with torch_droplet.graph(graph, **options):
        result = work()
    return graph, result


def test_a_replay_reads_what_inputs_have_become(torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Softmax(-1))
    model.to(droplet).requires_grad_(False)
    values = torch.randn(4, 3, 6).to(droplet)
    x = torch.zeros(3, 6, device=droplet)
    runs = torch.zeros((), device=droplet)
    graph, (y, _) = captured(torch_droplet, lambda: (model(x), runs.add_(1)))
    assert runs.item() == 0, "nothing runs in a capture"
    for value in values:
        x.copy_(value)
        graph.replay()
        assert torch.equal(y, model(value))
    with torch.no_grad():
        model[0].weight.mul_(2)
    graph.replay()
    assert torch.equal(y, model(values[-1])) and runs.item() == 5


def test_the_class_of_torch(droplet: Any) -> None:
    import torch

    x = torch.ones(5, device=droplet)
    graph = torch.accelerator.Graph()
    with torch.Stream(), graph:
        assert torch.droplet.is_current_stream_capturing()
        y = x + 1
    assert not torch.droplet.is_current_stream_capturing()
    for factor in (1, 2):
        x.fill_(factor)
        graph.replay()
        assert y.tolist() == [factor + 1] * 5
    with pytest.raises(RuntimeError, match=r"has been captured: reset\(\) it first"), torch.Stream(), graph:
        pass
    graph.reset()
    with torch.Stream(), graph:
        y = x * 5
    graph.replay()
    assert y.tolist() == [10] * 5


def test_memory_is_reserved_while_the_graph_lives(torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    x, size = torch.ones(1000, device=droplet), 123_457
    torch.accelerator.empty_cache()
    reserved = torch.droplet.memory_reserved()
    stream = torch.Stream()

    def work() -> tuple[int, torch.Tensor]:
        temporary = torch.empty(size, device=droplet)
        return temporary.data_ptr(), x + temporary.fill_(1)[:1000]

    graph, (inside, y) = captured(torch_droplet, work, stream=stream)

    def addresses() -> set[int]:
        with stream:
            return {one.data_ptr() for one in [torch.empty(size, device=droplet) for _ in range(4)]}

    assert inside not in addresses()
    torch.accelerator.empty_cache()
    assert inside not in addresses()
    graph.replay()
    assert y.sum() == 2000
    second, again = captured(torch_droplet, lambda: torch.empty(size, device=droplet).data_ptr(), pool=graph.pool(),
                             stream=stream)  # fmt: skip
    assert again == inside, "graphs may share a pool"
    graph.reset()
    assert inside not in addresses()
    second.reset()
    assert inside in addresses()
    del y
    torch.accelerator.empty_cache()
    assert torch.droplet.memory_reserved() == reserved


def test_random_numbers_differ_from_replay_to_replay(torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    x = torch.ones(4000, device=droplet)
    own = torch.Generator(droplet)

    def work() -> list[torch.Tensor]:
        numbers = [torch.nn.functional.dropout(x, 0.25), torch.rand(4000, device=droplet)]
        return [*numbers, torch.empty_like(x).normal_(generator=own), torch.randn(4000, device=droplet)]

    graph, results = captured(torch_droplet, work)

    def replayed(seed: int | None = None) -> list[list[float]]:
        if seed is not None:
            torch.manual_seed(seed)
            own.manual_seed(seed)
        graph.replay()
        return [one.tolist() for one in results]

    first, second = replayed(3), replayed()
    assert replayed(3) == first and replayed() == second
    assert all(a != b for a, b in zip([*first, *first[1:3]], [*second, *first[2:4]], strict=True))
    torch.manual_seed(3)
    own.manual_seed(3)
    assert [one.tolist() for one in work()] == first, "as without a graph"
    assert [one.tolist() for one in work()] == second
    replayed(3)
    assert torch.droplet.get_rng_state()[8:].view(torch.int64).item() == 3 * 4, "three calls of the default generator"
    dropped = results[0]
    torch.testing.assert_close(dropped.unique().cpu(), torch.tensor([0, 4 / 3]))
    assert abs(dropped.mean().item() - 1) < 0.05


def test_two_streams(torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    x, other = torch.ones(64, 64, device=droplet), torch.Stream()

    def forked(joins: bool) -> torch.Tensor:
        main = torch.accelerator.current_stream()
        a = x * 2
        other.wait_stream(main)
        with other:
            assert torch.droplet.is_current_stream_capturing()
            b = a @ a
        a.record_stream(other)
        c = a + 1
        if joins:
            main.wait_stream(other)
            b.record_stream(main)
            return c + b
        return c

    graph, y = captured(torch_droplet, lambda: forked(True))
    for value in (1.0, 3.0):
        x.fill_(value)
        graph.replay()
        assert torch.equal(y, 2 * x + 1 + 4 * x @ x)
    with pytest.raises(
        RuntimeError, match=r"has joined the capture of .*, which does not wait for the end of its work"
    ):
        captured(torch_droplet, lambda: forked(False))
    with other:
        assert not torch.droplet.is_current_stream_capturing()


REJECTED: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "item": (r"a graph cannot capture item\(\), which waits for the device$", lambda torch, x: x.sum().item()),
    "tolist": ("a graph cannot capture a copy from or to memory of the host: pin it", lambda torch, x: x.tolist()),
    "upload": ("a graph cannot capture a copy from or to memory", lambda torch, x: x.copy_(torch.ones(6))),
    "fallback": (r"cannot capture special_i1.out, which runs on the CPU: ", lambda torch, x: torch.special.i1(x)),
    "reference": ("diopiSort: a graph cannot capture a function that runs on the CPU", lambda torch, x: x.sort()),
    "seed in an argument": ("cannot capture random numbers of a function", lambda torch, x: x.bernoulli_(0.5)),
    "seed": ("cannot capture a change of the state of a generator", lambda torch, x: torch.manual_seed(1)),
    "wait": ("cannot capture a wait of the host for the device", lambda torch, x: torch.accelerator.synchronize()),
    "event": ("was recorded in a capture", lambda torch, x: torch.accelerator.current_stream().record_event().query()),
    "event before": ("from outside of the capture", lambda torch, x: torch.accelerator.current_stream().wait_event(x)),
    "optimizer": (
        "a graph captures a step of Adam only with capturable=True",
        lambda torch, x: torch.optim.Adam([x], foreach=False).step(),
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_what_cannot_be_captured_is_rejected(torch_droplet: ModuleType, droplet: Any, name: str) -> None:
    import torch

    text, work = REJECTED[name]
    x = torch.arange(6.0, device=droplet)
    operand = torch.accelerator.current_stream().record_event() if name == "event before" else x
    graph = torch_droplet.Graph()
    with pytest.raises(RuntimeError, match=text), torch_droplet.graph(graph):
        work(torch, operand)
    with pytest.raises(RuntimeError, match="the graph has not been captured"):
        graph.replay()
    assert not torch.droplet.is_current_stream_capturing() and x.sum().item() == 15
    with torch_droplet.graph(graph):
        y = x + 1
    graph.replay()
    assert y.sum().item() == 21


def test_an_empty_graph_and_the_default_stream(torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    graph, _ = captured(torch_droplet, lambda: None)
    graph.replay()
    with pytest.raises(RuntimeError, match="the default stream cannot be captured: other threads may use it"):
        torch.accelerator.Graph().capture_begin()
    with pytest.raises(RuntimeError, match="no capture of the graph has begun"):
        torch.accelerator.Graph().capture_end()


def test_a_graph_that_ends_before_its_replay(torch_droplet: ModuleType, droplet: Any) -> None:
    """Its launches finish first, and what is allocated meanwhile has other memory."""
    import torch

    x = torch.full((300, 300), 1e-3, device=droplet)
    stream = torch.Stream()

    def work() -> torch.Tensor:
        y = x
        for _ in range(6):
            y = y @ x + x
        return y.clone()

    graph, y = captured(torch_droplet, work, stream=stream)
    expected = work()
    graph.replay()
    del graph
    gc.collect()
    with stream:
        others = [torch.full((300, 300), 7.0, device=droplet) for _ in range(8)]
    stream.synchronize()
    assert torch.equal(y, expected) and all(one.eq(7).all() for one in others)


def test_pinned_memory_is_read_in_each_replay(torch_droplet: ModuleType, droplet: Any) -> None:
    import torch

    pinned, x = torch.zeros(4).pin_memory(), torch.zeros(4, device=droplet)
    graph, _ = captured(torch_droplet, lambda: x.copy_(pinned, non_blocking=True))
    for value in (1.0, 2.0):
        pinned.fill_(value)
        graph.replay()
        assert x.tolist() == [value] * 4
    pinned = torch.ones(4)
    graph.replay()
    assert x.tolist() == [2] * 4, "the graph owns the memory"


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_a_training_step(torch_droplet: ModuleType, droplet: Any, name: str) -> None:
    """Forward, backward, whose thread is another one, and the step of an optimizer."""
    import torch

    torch.manual_seed(0)
    data = torch.randn(5, 8, 4).to(droplet)
    options: dict[str, Any] = {"lr": 0.1, "momentum": 0.9} if name == "sgd" else {"lr": 0.01, "capturable": True}
    kind = torch.optim.SGD if name == "sgd" else torch.optim.Adam
    initial = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).state_dict()

    def training() -> tuple[Any, Callable[[torch.Tensor], torch.Tensor]]:
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        model.load_state_dict(initial)
        model.to(droplet)
        optimizer = kind(model.parameters(), **options)

        def step(x: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad(set_to_none=True)
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return model, step

    eager, step = training()
    for x in data:
        step(x)
    model, step = training()
    x = torch.empty(8, 4, device=droplet)
    stream = torch.Stream()
    stream.wait_stream(torch.accelerator.current_stream())
    with stream:
        step(x.copy_(data[0]))  # makes the state of the optimizer
    graph, _ = captured(torch_droplet, lambda: step(x), stream=stream)
    for value in data[1:]:
        x.copy_(value)
        graph.replay()
    for mine, other in zip(model.parameters(), eager.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_a_compiled_function_in_a_capture(torch_droplet: ModuleType, droplet: Any, fresh_compiler: None) -> None:
    """The graph owns its temporary memory, constants and kernels: they outlive the program."""
    import torch

    x = torch.randn(16, 8).to(droplet)
    stream = torch.Stream()

    def function(x: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(8, device=x.device)
        return torch.softmax(torch.sin(x * 2 + positions) @ x.T, -1)[:, :8] @ x.T

    compiled = torch.compile(function, backend="diopi")
    with stream:
        expected = compiled(x)  # which makes an arena for the stream
    graph, y = captured(torch_droplet, functools.partial(compiled, x), stream=stream)
    graph.replay()
    assert torch.equal(y, expected)
    x.mul_(-1)
    expected = compiled(x).cpu()
    del compiled
    torch._dynamo.reset()
    gc.collect()
    with stream:
        others = [torch.full((size,), 7.0, device=droplet) for size in (8, 64, 128, 256, 512) for _ in range(8)]
    graph.replay()
    assert torch.equal(y.cpu(), expected)
    stream.synchronize()
    assert all(one.eq(7).all() for one in others)


def test_reduce_overhead_replays_a_capture(torch_droplet: ModuleType, droplet: Any, fresh_compiler: None) -> None:
    import torch

    from diopi_torch import replayed

    made: list[Any] = []

    class Spied(replayed.Replayed):
        def __init__(self, runner: Any) -> None:
            super().__init__(runner)
            made.append(self)

    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).to(droplet)
    data = torch.randn(5, 4, 6).to(droplet)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(replayed, "Replayed", Spied)
        compiled = torch.compile(model, backend="diopi", mode="reduce-overhead")
        results, expected = [], []
        for x in data:
            model.zero_grad()
            model(x).square().mean().backward()
            expected.append([model(x), *(p.grad.clone() for p in model.parameters())])
            model.zero_grad()
            y = compiled(x)
            y.square().mean().backward()
            results.append([y, *(p.grad for p in model.parameters())])
            with torch.no_grad():
                for p in model.parameters():
                    p.sub_(0.1 * p.grad)
    for mine, others in zip(results, expected, strict=True):
        torch.testing.assert_close(mine, others)
    assert len(made) == 2 and all(one._graph is not None for one in made), "forward and backward"


def test_reduce_overhead_with_writes_and_random_numbers(droplet: Any, fresh_compiler: None) -> None:
    import torch

    cache = torch.zeros(4, device=droplet)

    def step(x: torch.Tensor) -> torch.Tensor:
        cache.add_(x)
        return torch.nn.functional.dropout(cache * 2, 0.5)

    compiled = torch.compile(step, backend="diopi", mode="reduce-overhead")
    zeros = set()
    for i in range(1, 30):
        y = compiled(torch.full((4,), 1.0, device=droplet))
        assert cache.tolist() == [i] * 4 and set(y.tolist()) <= {0, 4 * i}
        zeros.add(tuple((y == 0).tolist()))
    assert len(zeros) > 4 and cache._version == 2 * 29, "as without a capture"


@pytest.mark.slow
def test_a_library_without_captures(backend: Any, tmp_path: Path) -> None:
    """Without a table of the host: one sentence, and compiled graphs that run as they do without a mode."""
    source, library = tmp_path / "forgets.c", tmp_path / "forgets.so"
    source.write_text("int diopigenRegisterStreamCapture(const void* table) { return table == 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    program = """
import torch, torch_droplet
x = torch.ones(3, device="droplet")
compiled = torch.compile(lambda x: x * 2 + 1, backend="diopi", mode="reduce-overhead")
print([compiled(x).tolist() for _ in range(3)])
try:
    with torch_droplet.graph(torch_droplet.Graph()):
        x + 1
except NotImplementedError as error:
    print(str(error).splitlines()[0], torch.accelerator.current_stream().stream_id)
"""
    environment = {**os.environ, **backend.environment(), "LD_PRELOAD": str(library)}
    environment["PYTHONPATH"] = os.pathsep.join(torch_build.PATHS)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.stdout == (
        "[[3.0, 3.0, 3.0], [3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]\nthe library of droplet registers no capture of streams "
        "(diopigen/stream_capture.h): work cannot be captured into a graph 0\n"
    ), done.stderr
