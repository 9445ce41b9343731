"""`python -m benchmarks.torch_compile`: graphs of the backend `diopi` alongside eager and, on the CPU, inductor.

Needs torch; the backend of droplet is built where the environment does not name one (`tools/torch_build.py`). Times are
the smallest of several rounds in one process, in which the columns take turns: read the ratios. A row that misses what
was promised of it ends in `MISSED`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.torch_compile import tape

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 60
PROMISED_CHAIN = 3.0
PROMISED_DECODER = 3.0
PROMISED_EXPORT = 5.0
PROMISED_TRAINING = 1.0


def _backend() -> dict[str, str]:
    sys.path[:0] = [str(ROOT / name) for name in ("tools", "examples", "examples/droplet", "diopi_torch/src")]
    import torch_build

    return (torch_build.given() or torch_build.build()).environment()


def best(calls: dict[str, Callable[[], Any]], loops: int) -> dict[str, float]:
    """Microseconds of each call, the smallest of all rounds; with `--processor-time` those of all threads.

    Rounds are short, so that some of them have the processors for themselves where other work runs.
    """
    found: dict[str, float] = {}
    clock = time.process_time if "--processor-time" in sys.argv else time.perf_counter
    for call in calls.values():
        for _ in range(3):
            call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            call()  # what ran before has left other data in the caches
            start = clock()
            for _ in range(loops):
                call()
            found[name] = min((clock() - start) / loops * 1e6, found.get(name, float("inf")))
    return found


def _row(name: str, times: dict[str, float], promised: float | None) -> bool:
    ratio = times["eager"] / times["diopi"]
    retained = promised is None or ratio >= promised
    cells = "  ".join(f"{times.get(column, float('nan')):>9.1f}" for column in COLUMNS)
    limit = "" if promised is None else f"{promised:.1f}{'' if retained else ' MISSED'}"
    print(f"{name:<34}  {cells}  {ratio:>11.2f}  {limit}")
    return retained


COLUMNS = ("eager", "diopi", "no dynamo", "empty", "cpu eager", "inductor")
"""`no dynamo`: the graph alone. `empty`: a compiled function whose graph does nothing, which is what torch.compile
itself takes."""


def bias_gelu(x: Any, b: Any) -> Any:
    """Gelu written out after a bias."""
    import torch

    x = x + b
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def gated(x: Any, b: Any) -> Any:
    """A gate and its branch."""
    import torch

    return torch.nn.functional.silu(x) * b + x * 0.5 - b * 2


def arithmetic(x: Any, b: Any) -> Any:
    """Eight operators that move little more than memory."""
    for _ in range(4):
        x = x * 1.5 + b
    return x


def forty(x: Any, b: Any) -> Any:
    """Forty operators."""
    for _ in range(20):
        x = x * 1.01 + b
    return x


def scores(x: Any, b: Any) -> Any:
    """A softmax with a scale and a mask."""
    import torch

    return torch.softmax(x * 0.25 + b, -1)


def layer_norm(x: Any, b: Any) -> Any:
    """A norm written out."""
    import torch

    distance = x - x.mean(-1, keepdim=True)
    return distance * torch.rsqrt((distance * distance).mean(-1, keepdim=True) + 1e-5) * b


def _compiled(function: Callable[..., Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The function as dynamo calls it, and its graphs once it is called."""
    import torch

    from diopi_torch import direct, graphs

    found: list[Any] = []

    def record(module: Any, inputs: Any) -> Any:
        with direct.collected() as compiled:
            call = graphs.backend(module, inputs)
        found.extend(compiled)
        return call

    return torch.compile(function, backend=record), found


def _empty(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled by a backend that computes nothing and returns a tensor that is there already."""
    import torch

    def nothing(module: Any, inputs: Any) -> Any:
        result = (torch.empty(1, device="droplet"),)
        return lambda *arguments: result

    return torch.compile(function, backend=nothing)


def chains(with_inductor: bool) -> bool:
    """Chains of elementwise operators at three sizes."""
    import torch

    module = torch.get_device_module("droplet")
    retained = True
    for function in (bias_gelu, gated, arithmetic, forty, scores, layer_norm):
        for shape in ((1,), (64, 64), (1024, 1024)):
            if function in (scores, layer_norm) and shape == (1,):
                continue
            torch._dynamo.reset()
            x, b = torch.rand(shape), torch.rand(shape[-1:])
            own = x.to("droplet"), b.to("droplet")
            compiled, found = _compiled(function)
            with torch.no_grad():
                result = compiled(*own)
                torch.testing.assert_close(result.cpu(), function(x, b), rtol=1e-5, atol=1e-5)
                graph, empty = found[0], _empty(lambda x, b, f=function: f(x, b))
                calls: dict[str, Callable[[], Any]] = {
                    "eager": lambda own=own, f=function: (f(*own), module.synchronize()),
                    "diopi": lambda own=own, f=compiled: (f(*own), module.synchronize()),
                    "no dynamo": lambda own=own, f=graph: (f(list(own)), module.synchronize()),
                    "empty": lambda own=own, f=empty: f(*own),
                    "cpu eager": lambda x=x, b=b, f=function: f(x, b),
                }
                if with_inductor:
                    inductor = torch.compile(function)
                    calls["inductor"] = lambda x=x, b=b, f=inductor: f(x, b)
                loops = 1 if shape == (1024, 1024) else 8
                label = f"{function.__name__} {'x'.join(map(str, shape))}"
                retained &= _row(label, best(calls, loops), PROMISED_CHAIN)
    return retained


def _inputs_of(graph: Any, compiled: Callable[..., Any], *arguments: Any) -> list[Any]:
    """The arguments that dynamo passes to a graph."""
    seen: list[Any] = []
    runner = graph._runner

    def record(inputs: list[Any]) -> list[Any]:
        seen[:] = inputs
        return list(runner(inputs))

    graph._runner = record
    try:
        compiled(*arguments)
    finally:
        graph._runner = runner
    return seen


def decoders() -> bool:
    """The decoder of the examples: one token, sixteen, and a training step."""
    import torch
    from models.attention import LlamaDecoder

    module = torch.get_device_module("droplet")
    retained = True
    for length, promised in ((1, PROMISED_DECODER), (16, None)):
        torch._dynamo.reset()
        torch.manual_seed(0)
        model = LlamaDecoder().eval()
        tokens = torch.randint(64, (1, length))
        expected = model(tokens)
        model.to("droplet")
        own = tokens.to("droplet")
        compiled, found = _compiled(model)
        with torch.no_grad():
            torch.testing.assert_close(compiled(own).cpu(), expected, rtol=1e-4, atol=1e-4)
            graph = found[0]
            inputs = _inputs_of(graph, compiled, own)
            calls: dict[str, Callable[[], Any]] = {
                "eager": lambda m=model, t=own: (m(t), module.synchronize()),
                "diopi": lambda m=compiled, t=own: (m(t), module.synchronize()),
                "no dynamo": lambda g=graph, i=inputs: (g(list(i)), module.synchronize()),
            }
            times = best(calls, 3)
            retained &= _row(f"decoder, {length} tokens", times, promised)
            statistics = [graph.program(()).statistics() for graph in found]
            print(f"    {statistics}")
            if length == 1:
                retained &= exported(model, own, times["eager"])
    return retained & training()


def exported(model: Any, tokens: Any, eager: float) -> bool:
    """The decoder as a file: neither dynamo nor guards."""
    import torch

    from diopi_torch import export

    module = torch.get_device_module("droplet")
    with tempfile.TemporaryDirectory() as folder:
        export.save(model, (tokens,), Path(folder) / "decoder.diopi")
        loaded = export.load(Path(folder) / "decoder.diopi")
    with torch.no_grad():
        torch.testing.assert_close(loaded(tokens)[0].cpu(), model(tokens).cpu(), rtol=1e-4, atol=1e-4)
        times = best(
            {
                "eager": lambda: (model(tokens), module.synchronize()),
                "diopi": lambda: (loaded(tokens), module.synchronize()),
            },
            3,
        )
    return _row("decoder, 1 token, from a file", {**times, "eager": min(eager, times["eager"])}, PROMISED_EXPORT)


def training() -> bool:
    """Forward, backward and a step of SGD of the decoder, with its loss in eager mode and in the graph; the optimizer
    runs as in eager mode in all."""
    import torch
    from models.attention import LlamaDecoder

    from diopi_torch import graphs

    module = torch.get_device_module("droplet")
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = LlamaDecoder().to("droplet")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    tokens = torch.randint(64, (2, 16)).to("droplet")

    def loss(call: Callable[..., Any]) -> Any:
        scores = call(tokens[:, :-1]).flatten(0, 1)
        return torch.nn.functional.cross_entropy(scores, tokens[:, 1:].flatten())

    def step(find: Callable[[], Any]) -> None:
        optimizer.zero_grad()
        find().backward()
        optimizer.step()
        module.synchronize()

    compiled = torch.compile(model, backend=graphs.backend)
    whole = torch.compile(lambda: loss(model), backend=graphs.backend)
    calls = {
        "eager": lambda: step(lambda: loss(model)),
        "diopi": lambda: step(lambda: loss(compiled)),
        "whole": lambda: step(whole),
    }
    times = best(calls, 1)
    retained = _row("decoder, training step", times, PROMISED_TRAINING)
    return _row("the same, its loss in the graph", {**times, "diopi": times["whole"]}, PROMISED_TRAINING) & retained


def optimizer() -> bool:
    """A step of AdamW over forty parameters of four sizes."""
    import torch

    from diopi_torch import graphs

    module = torch.get_device_module("droplet")
    torch._dynamo.reset()
    torch.manual_seed(0)
    shapes = [(64, 64), (64,), (64, 256), (256,)] * 10

    def step(wraps: Callable[[Any], Any]) -> Callable[[], Any]:
        own = [torch.randn(shape).to("droplet").requires_grad_() for shape in shapes]
        for one in own:
            one.grad = torch.randn_like(one)
        call = wraps(torch.optim.AdamW(own, lr=1e-3, foreach=True, capturable=True).step)
        return lambda: (call(), module.synchronize())

    compiled = step(lambda call: torch.compile(call, backend=graphs.backend))
    times = best({"eager": step(lambda call: call), "diopi": compiled}, 1)
    return _row("AdamW, 40 parameters", times, None)


def main() -> int:
    """Prints the tables; exit code 1 where a promise is missed."""
    os.environ.update(_backend())
    import torch
    import torch_droplet  # noqa: F401  # the device

    torch.set_num_threads(1)
    header = "  ".join(f"{column:>9}" for column in COLUMNS)
    print(f"{'microseconds':<34}  {header}  eager/diopi  promised")
    retained = True if "--decoders" in sys.argv else chains("--inductor" in sys.argv)
    if "--chains" not in sys.argv:
        retained &= decoders()
        retained &= optimizer()
        retained &= tape.row()
    return 0 if retained else 1


if __name__ == "__main__":
    sys.exit(main())
