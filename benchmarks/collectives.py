"""`python -m benchmarks.collectives`: collectives of droplet alongside those of gloo, in the same processes and run.

Needs torch; the backend of droplet is built where the environment does not name one (`tools/torch_build.py`). Times are
the smallest of several rounds, in which both take turns; each call is over before the next one begins, and on droplet
the host waits for the stream. Read the ratios. A row that misses what was promised of it ends in `MISSED`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.machine import describe

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 150
LOOPS = 4
"""Calls in a round: few, so that some rounds have the processors for themselves."""
BYTES = (4, 256, 4 << 10, 16 << 10, 64 << 10, 512 << 10, 4 << 20)
PROMISED = {4: 1.5, 4 << 20: 1.0}
"""Times of all_reduce on droplet, as multiples of gloo's, by bytes."""
OTHERS = 4 << 10
"""Bytes that a rank contributes to the other calls."""
LIMIT = 900
"""Seconds after which the ranks are ended."""

Call = Callable[[Any], Any]


def _calls() -> dict[str, tuple[int, Call]]:
    """A measured call with its size in bytes: it gets a tensor of that size, and must not need the host."""
    import torch
    import torch.distributed as dist

    found: dict[str, tuple[int, Call]] = {
        f"all_reduce of {_words(size)}": (size, lambda tensor: dist.all_reduce(tensor)) for size in BYTES
    }

    def waited(tensor: Any) -> None:
        work = dist.all_reduce(tensor, async_op=True)
        assert work is not None
        work.wait()

    def gathered(tensor: Any) -> None:
        dist.all_gather_single(torch.empty(dist.get_world_size() * len(tensor), device=tensor.device), tensor)

    found["all_reduce with async_op and wait(), 4 bytes"] = (4, waited)
    found[f"broadcast of {_words(OTHERS)}"] = (OTHERS, lambda tensor: dist.broadcast(tensor, 0))
    found[f"all_gather of {_words(OTHERS)}"] = (OTHERS, gathered)
    return found


def _words(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def _round(call: Call, tensor: Any) -> float:
    """Microseconds of one call."""
    import torch
    import torch.distributed as dist

    dist.barrier(device_ids=None, group=_host_group())
    start = time.perf_counter()
    for _ in range(LOOPS):
        call(tensor)
        if tensor.device.type != "cpu":
            torch.accelerator.current_stream().synchronize()
    return (time.perf_counter() - start) / LOOPS * 1e6


_groups: list[Any] = []


def _host_group() -> Any:
    """Ranks begin a round together, by a group that is not measured."""
    import torch.distributed as dist

    if not _groups:
        _groups.append(dist.new_group(backend="gloo"))
    return _groups[0]


def _measure(rank: int, ranks: int, store: str) -> bool:
    import torch
    import torch.distributed as dist
    import torch_droplet  # noqa: F401  (registers the device)

    torch.set_num_threads(1)
    dist.init_process_group("cpu:gloo,droplet:dicl", init_method=f"file://{store}", rank=rank, world_size=ranks)
    retained = True
    if rank == 0:
        print(f"{'microseconds, the smallest of rounds':<46}  {'gloo':>9}  {'droplet':>9}  {'ratio':>6}  promised")
    for name, (size, call) in _calls().items():
        tensors = {device: torch.ones(size // 4, device=device) / ranks for device in ("cpu", "droplet")}
        times = dict.fromkeys(tensors, float("inf"))
        for _ in range(ROUNDS):
            for device, tensor in tensors.items():
                times[device] = min(times[device], _round(call, tensor))
        ratio = times["droplet"] / times["cpu"]
        promised = PROMISED.get(size) if name.startswith("all_reduce of") else None
        missed = promised is not None and ratio > promised
        retained = retained and not missed
        if rank == 0:
            limit = "" if promised is None else f"{promised:.1f}{' MISSED' if missed else ''}"
            row = f"{name:<46}  {times['cpu']:>9.1f}  {times['droplet']:>9.1f}  {ratio:>6.2f}  {limit}"
            print(row.rstrip(), flush=True)
    dist.destroy_process_group()
    return retained


def _environment() -> dict[str, str]:
    sys.path[:0] = [str(ROOT / "tools")]
    import torch_build

    backend = torch_build.given() or torch_build.build()
    path = os.pathsep.join([str(ROOT), str(ROOT / "examples/droplet"), str(ROOT / "diopi_torch/src")])
    threads = {"OMP_NUM_THREADS": "1", "DIOPI_SIM_DEVICES": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    return {**os.environ, **backend.environment(), **threads, "PYTHONPATH": path}


def main() -> int:
    """Starts the ranks; 1 where something that was promised is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--ranks", type=int, default=2, help="processes")
    parser.add_argument("--rank", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--store", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank >= 0:
        return 0 if _measure(options.rank, options.ranks, options.store) else 1
    print(f"{describe()}; {options.ranks} ranks", flush=True)
    environment = _environment()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.collectives", "-n", str(options.ranks)]
        command += ["--store", str(Path(folder) / "store")]
        started = [
            subprocess.Popen([*command, "--rank", str(rank)], env=environment, cwd=ROOT)
            for rank in range(options.ranks)
        ]
        end = time.monotonic() + LIMIT
        try:
            codes = [process.wait(timeout=max(1.0, end - time.monotonic())) for process in started]
        finally:
            for process in started:
                process.kill()
    return max(codes[0], int(any(code not in (0, 1) for code in codes)))


if __name__ == "__main__":
    raise SystemExit(main())
