"""Cost of a step of a compiled graph: additions over a vendor's library with empty kernels.

The time of a step is the difference of two graphs, so that what a run costs once is not in it. The call through the
dispatch library, and the empty function, are.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.torch_dispatch import empty_vendor

PROMISED = 60.0
STEPS = (100, 500)
ROUNDS = 9
LOOPS = 300


def measured() -> float:
    """Nanoseconds of a step, in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        environment = empty_vendor.environment(empty_vendor.build(Path(name)))
        command = [sys.executable, "-m", "benchmarks.torch_compile.tape"]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


def row() -> bool:
    """Prints it; whether the promise is kept."""
    found = measured()
    retained = found <= PROMISED
    print(f"a step of a graph: {found:.1f} ns, the empty function included; promised {PROMISED:.0f}", end="")
    print("" if retained else " MISSED")
    return retained


def _graph(steps: int, x: Any) -> Any:
    """A chain of additions, as one graph."""
    import torch
    from torch._functorch.aot_autograd import aot_function

    from diopi_torch import graphs

    found = []

    def record(module: Any, inputs: Any) -> Any:
        found.append(graphs.compile_graph(module, inputs))
        return found[-1]

    def chain(x: Any) -> Any:
        for _ in range(steps):
            x = x + x
        return x

    with torch.no_grad():
        aot_function(chain, fw_compiler=record)(x)
    statistics = found[0].program(()).statistics()
    if statistics["steps"] != steps or statistics["dispatched"] or statistics["fused"]:
        raise RuntimeError(f"the graph is not what is measured: {statistics}")
    return found[0]


def _times() -> float:
    import torch
    import torch_droplet  # noqa: F401  # the device

    x = torch.empty(1, device="droplet")
    calls = [_graph(steps, x) for steps in STEPS]
    best = [float("inf")] * len(calls)
    with torch.no_grad():
        for _ in range(ROUNDS):
            for k, call in enumerate(calls):
                start = time.perf_counter()
                for _ in range(LOOPS):
                    call([x])
                best[k] = min(best[k], (time.perf_counter() - start) / LOOPS * 1e9)
    return (best[1] - best[0]) / (STEPS[1] - STEPS[0])


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.path[:0] = [str(root / "examples/droplet"), str(root / "diopi_torch/src")]
    print(_times())
