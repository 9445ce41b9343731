"""`python -m benchmarks.cuda --lib libdiopi_impl_cuda.so --runtime libdiopirt.so [--check]`.

A line for each case: microseconds of both sides by CUDA events, on one stream, after a warm-up; the ratio (PyTorch's
time over ours) and the share of the measured copy bandwidth. Exit code 1 where a group's geometric mean is below its
floor, or a memory-bound case below 85 per cent of the bandwidth. `--check` compares results instead, with few elements;
with the emulated library it needs no GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import geometric_mean
from benchmarks.cuda.case import Case
from benchmarks.cuda.cases import cases

FRACTION = 0.85
"""Of the copy bandwidth, that memory-bound operators reach."""
_SMALL = 64 * 1024


def check(case: Case) -> bool:
    """Returns whether both sides give the same, as far as their dtype tells."""
    case.ours()
    expected = case.torch().to(torch.float64)
    actual = case.out.to(torch.float64)
    bound = {torch.float32: 2e-4, torch.float16: 2e-2, torch.bfloat16: 1e-1}[case.out.dtype]
    good = torch.allclose(
        actual.reshape(expected.shape), expected, rtol=bound, atol=bound * float(expected.abs().max())
    )
    print(f"{'same' if good else 'DIFFERS':<8} {case.group:<12} {case.name}")
    return good


def seconds(call: Callable[[], object], ahead: Callable[[], object], repeats: int = 10, calls: int = 10) -> float:
    """The best time of a call on the current stream, in seconds.

    `ahead` is work that keeps the device busy until the host has queued the calls: what Python takes for a call is no
    part of the time. Its data also take the place of the calls' own in the cache of the device.
    """
    for _ in range(3):
        call()
    best = math.inf
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        ahead()
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) * 1e-3 / calls)
    return best


def main() -> int:
    """Checks results only, or measures, prints and compares with the limits."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cuda")
    parser.add_argument("--lib", type=Path, required=True)
    parser.add_argument("--runtime", type=Path, required=True)
    parser.add_argument("--elements", type=int, default=16 * 1024 * 1024)
    parser.add_argument("--check", action="store_true", help="compare results instead of times")
    options = parser.parse_args()
    device = Device(options.lib, options.runtime)
    if options.check:
        torch_device = "cuda" if torch.cuda.is_available() else "cpu"
        return 0 if all([check(case) for case in cases(device, torch_device, _SMALL)]) else 1
    if not torch.cuda.is_available():
        print("PyTorch finds no GPU here: nothing is measured", file=sys.stderr)
        return 1
    # The library does not round float32 to TF32; PyTorch does so in convolutions unless it is told not to.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    handle = ctypes.c_void_p()
    device.host.functions["diopiGetStream"](device.context, ctypes.byref(handle))
    found: dict[str, list[float]] = defaultdict(list)
    floors: dict[str, float] = {}
    missed = []
    with torch.cuda.stream(torch.cuda.ExternalStream(handle.value or 0)):
        source = torch.zeros(options.elements * 4, device="cuda")
        target = torch.empty_like(source)

        def ahead() -> None:
            for _ in range(10):
                target.copy_(source)

        bandwidth = 2 * source.numel() * 4 / seconds(lambda: target.copy_(source), ahead)
        print(f"{torch.cuda.get_device_name()}, copy bandwidth {bandwidth / 1e9:.0f} GB/s, torch {torch.__version__}")
        for case in cases(device, "cuda", options.elements):
            ours, theirs = seconds(case.ours, ahead), seconds(case.torch, ahead)
            fraction = case.bytes / ours / bandwidth
            found[case.group].append(theirs / ours)
            floors[case.group] = case.floor
            times = f"{ours * 1e6:>9.1f} {theirs * 1e6:>9.1f} {theirs / ours:>6.2f} {fraction:>6.0%}"
            print(f"{case.group:<12} {case.name:<32} {times}")
            if case.bytes and fraction < FRACTION:
                missed.append(f"{case.name}: {fraction:.0%} of the copy bandwidth, {FRACTION:.0%} promised")
    for group, ratios in found.items():
        mean = geometric_mean(ratios)
        print(f"{group:<12} geometric mean {mean:.2f} over {len(ratios)}")
        if mean < floors[group]:
            missed.append(f"{group}: {mean:.2f} of PyTorch's speed, {floors[group]} promised")
    for text in missed:
        print(f"MISSED {text}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
