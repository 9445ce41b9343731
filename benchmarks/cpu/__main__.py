"""`python -m benchmarks.cpu --lib libdiopi_impl.so --runtime libdiopirt.so [--only GLOB] [--group GLOB]`.

A table by operator and size: microseconds of both sides, the ratio (PyTorch's time over ours, above 1 we are faster),
and the fraction of the limit: the measured copy bandwidth, or the rate of a square product in the
same dtype. Exit code 1 where a promise is not kept. `--sample` with `--seconds`, as
`make bench` asks for, leaves cases out, and says which: the whole table takes hours.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.cpu.accepted import accepted
from benchmarks.cpu.cases_matmul import square
from benchmarks.cpu.device import Device, thread_count
from benchmarks.cpu.measure import Case, Limits, Line, geometric_mean, measure
from benchmarks.cpu.selection import is_selected, parser_of, selected_modules
from benchmarks.machine import describe

BUDGET = 0.2
"""Seconds for a case of a sample; twice as many for one of the whole table."""
LARGEST = ("16M", "64M")
"""Sizes whose cases take most of the time: larger than the caches."""


def all_cases(device: Device, group: str, seconds: float) -> Iterator[tuple[Case, float]]:
    """The cases with the time until which they may start: what is left of the seconds, shared by the modules that
    are left."""
    modules = selected_modules(group)
    end = time.perf_counter() + seconds
    for k, module in enumerate(modules):
        now = time.perf_counter()
        own_end = now + (end - now) / (len(modules) - k)
        for case in module.cases(device):
            yield case, own_end


def main() -> int:
    """Measures, prints, and checks the limits."""
    parser = parser_of("benchmarks.cpu")
    parser.add_argument("--cpu-time", action="store_true", help="count the time of the processor: on a busy machine")
    parser.add_argument("--sample", action="store_true", help="of the largest size only one case in eight")
    parser.add_argument("--seconds", type=float, default=math.inf, help="cases that start later are left out")
    options = parser.parse_args()
    if options.cpu_time and thread_count() != 1:
        parser.error("--cpu-time counts one thread: set OMP_NUM_THREADS=1")
    clock = time.thread_time if options.cpu_time else time.perf_counter
    torch.set_num_threads(thread_count())
    device = Device(options.lib, options.runtime)
    limits = Limits(partial(square, device), clock)
    version = device.library.text("diopiGetImplVersion")
    print(describe())
    print(f"cpu {version}, {thread_count()} threads; torch {torch.__version__}; copy {limits.bandwidth / 1e9:.1f} GB/s")
    print(f"{'group':<12} {'operator':<28} {'size':<26} {'ours us':>10} {'torch us':>10} {'ratio':>6} {'limit':>6}")
    lines: dict[str, list[Line]] = defaultdict(list)
    failures = []
    left_out: list[str] = []
    largest = 0
    for case, end in all_cases(device, options.group, options.seconds):
        if not is_selected(case, options):
            continue
        is_largest = case.size.startswith(LARGEST)
        largest += is_largest
        if time.perf_counter() > end or (options.sample and is_largest and largest % 8 != 1):
            left_out.append(f"{case.name} at {case.size}")
            continue
        line = measure(case, BUDGET if options.sample else 2 * BUDGET, clock)
        lines[case.group].append(line)
        share = limits.fraction(line)
        fraction = f"{share:6.0%}" if share else f"{'':>6}"
        least, reason = accepted(case, version)
        note = f"  {reason}" if reason else ""
        print(
            f"{case.group:<12} {case.name:<28} {case.size:<26} {line.ours * 1e6:>10.1f} {line.torch * 1e6:>10.1f} "
            f"{line.ratio:>6.2f} {fraction}{note}",
            flush=True,
        )
        if line.ratio < least:
            failures.append(f"{case.name} at {case.size}: {line.ratio:.2f}, at least {least} promised")
    print()
    for group, found in lines.items():
        print(f"{group:<12} geometric mean {geometric_mean(line.ratio for line in found):.2f} over {len(found)}")
    if left_out:
        print(f"NOT MEASURED {len(left_out)}: {', '.join(left_out)}")
    for failure in failures:
        print(f"MISSED {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
