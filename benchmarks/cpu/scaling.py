"""`python -m benchmarks.cpu.scaling --lib libdiopi_impl.so --runtime libdiopirt.so [--group GLOB]`.

How work is shared by 1, 2, 4, 8 and 16 threads, on a machine that may have fewer processors: each thread's own time on
a processor is read from the kernel. `work` is the time of all threads together, compared with one thread: what is done
twice, and lines of caches that threads take from each other. `speed-up` is the time of one thread over that of the
busiest of n: what n processors would give at best. With `--two` it compares the time that passes with one and two
threads, and the 99th percentile of 50 calls with the median. Exit code 1 where a limit is missed.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cpu.selection import parser_of, selected_cases

ROOT = Path(__file__).resolve().parents[2]
THREADS = (1, 2, 4, 8, 16)
REPRESENTATIVES = {
    "elementwise": ("diopiAdd", "16M*"),
    "layout": ("diopiAdd", "1M*"),
    "cast": ("diopiCastDtype", "1M*"),
    "reduction": ("diopiSum", "16M*"),
    "softmax": ("diopiSoftmax", "4096*"),
    "norm": ("diopiLayerNorm", "1M*"),
    "loss": ("diopiCrossEntropyLoss", "4096*"),
    "matmul": ("diopiMm*", "f32*"),
    "convolution": ("diopiConvolution2d", "f32*"),
    "pool": ("diopiAvgPool2d", "8x64*"),
    "attention": ("diopiFlashAttention*", "bf16*"),
    "shape": ("diopiPermute", "1M*"),
    "indexing": ("diopiIndexSelect*", "1M*"),
    "sort": ("diopiSort", "*"),
    "random": ("diopiUniformInp", "1M*"),
    "detection": ("*RoiAlign*", "*"),
    "serving": ("*TemperaturePenalty*", "*"),
}
"""A case of each group: the first whose name and size match."""
LEAST_SPEEDUP = {2: 1.5, 4: 2.4}
"""The least that 2 and 4 processors must be able to give."""
MOST_WORK = 1.6
LONG = 0.001
"""Seconds of a call from which it must keep these limits: below, to wake a thread is a good part of it."""
ACCEPTED = {"sort": "parts of a row are sorted, and merged"}
"""Groups that need not, and why."""
SLOWER = 1.05
STEADY = 2.0
CALLS = 50
SECONDS = 0.15


def _times_of_threads() -> dict[str, int]:
    """Nanoseconds on a processor of each thread of this process."""
    found = {}
    for folder in Path("/proc/self/task").iterdir():
        found[folder.name] = int((folder / "schedstat").read_text().split()[0])
    return found


def _cases(options: argparse.Namespace) -> Iterator[Any]:
    from benchmarks.cpu.device import Device

    device = Device(options.lib, options.runtime)
    if options.two:
        yield from selected_cases(device, options)
        return
    for group, (name, size) in REPRESENTATIVES.items():
        if fnmatch.fnmatch(group, options.group):
            requested = argparse.Namespace(group=group, only=name, size=size)
            yield next(selected_cases(device, requested))


def _measured(case: Any) -> dict[str, float]:
    """Processor time of a call, that of its busiest thread, the shortest and median time that passes, and the 99th
    percentile, in seconds."""
    case.ours()
    start = time.perf_counter()
    case.ours()
    calls = max(3, min(CALLS, math.ceil(SECONDS / (time.perf_counter() - start))))
    passed = []
    before = _times_of_threads()
    for _ in range(calls):
        start = time.perf_counter()
        case.ours()
        passed.append(time.perf_counter() - start)
    after = _times_of_threads()
    spent = [(after[thread] - before.get(thread, 0)) / calls / 1e9 for thread in after]
    passed.sort()
    return {
        "total": sum(spent),
        "busiest": max(spent),
        "best": passed[0],
        "median": median(passed),
        "late": passed[math.ceil(0.99 * calls) - 1],
        "calls": calls,
    }


def _child(options: argparse.Namespace) -> None:
    import torch

    torch.set_num_threads(1)
    if not options.two:  # one processor for all threads: two that share a core would slow each other down
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    for case in _cases(options):
        print(json.dumps({"case": [case.group, case.name, case.size], **_measured(case)}), flush=True)


def _run(options: argparse.Namespace, threads: int) -> dict[tuple[str, ...], dict[str, float]]:
    """The rows of a process with so many threads."""
    environment = {**os.environ, "DIOPI_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    if not options.two:  # a thread that waits is not to spend the time of a processor that another one needs
        environment |= {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
    command = [sys.executable, "-m", "benchmarks.cpu.scaling", *sys.argv[1:], "--child"]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {tuple(row.pop("case")): row for row in rows}


def shares(options: argparse.Namespace) -> list[str]:
    """Prints work and speed-up by number of threads. Returns what misses a limit."""
    found = {threads: _run(options, threads) for threads in THREADS}
    several = THREADS[1:]
    columns = "".join(f"{f'work {n}':>9}" for n in several) + "".join(f"{f'speed-up {n}':>13}" for n in several)
    print(f"{'group':<12} {'operator':<28} {'size':<26} {'1 thread us':>12}{columns}")
    missed = []
    for key, one in found[1].items():
        work = {n: found[n][key]["total"] / one["total"] for n in several}
        speedup = {n: one["total"] / found[n][key]["busiest"] for n in several}
        cells = "".join(f"{work[n]:>9.2f}" for n in several) + "".join(f"{speedup[n]:>13.1f}" for n in several)
        reason = ACCEPTED.get(key[0], "")
        print(f"{key[0]:<12} {key[1]:<28} {key[2]:<26} {one['total'] * 1e6:>12.0f}{cells}  {reason}".rstrip())
        if one["total"] < LONG or reason:
            continue
        missed += [
            f"{' '.join(key)}: speed-up {speedup[n]:.2f} with {n} threads, at least {least} promised"
            for n, least in LEAST_SPEEDUP.items()
            if speedup[n] < least
        ]
        missed += [f"{' '.join(key)}: work {work[n]:.2f} with {n} threads" for n in (2, 4) if work[n] > MOST_WORK]
    return missed


def two(options: argparse.Namespace) -> list[str]:
    """Prints the time that passes with one and two threads. Returns what misses a limit."""
    one, both = _run(options, 1), _run(options, 2)
    print(
        f"{'group':<12} {'operator':<28} {'size':<26} {'1 thread us':>12} {'2 threads us':>13} "
        f"{'ratio':>6} {'p99/median':>11}"
    )
    missed = []
    for key, first in one.items():
        second = both[key]
        ratio, steady = second["best"] / first["best"], second["late"] / second["median"]
        print(
            f"{key[0]:<12} {key[1]:<28} {key[2]:<26} {first['best'] * 1e6:>12.1f} {second['best'] * 1e6:>13.1f} "
            f"{ratio:>6.2f} {steady:>11.2f}"
        )
        if ratio > SLOWER:
            missed.append(f"{' '.join(key)}: {ratio:.2f} times the time of one thread with two")
        if second["calls"] == CALLS and steady > STEADY:
            missed.append(f"{' '.join(key)}: the 99th percentile is {steady:.1f} times the median")
    return missed


def main() -> int:
    """Measures, prints, and checks the limits."""
    parser = parser_of("benchmarks.cpu.scaling")
    parser.add_argument("--two", action="store_true", help="compare one and two threads by the time that passes")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.two and (options.only, options.size) != ("*", "*"):
        parser.error("--only and --size need --two: without it a case of each group is measured")
    if options.child:
        _child(options)
        return 0
    missed = two(options) if options.two else shares(options)
    for line in missed:
        print(f"MISSED {line}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
