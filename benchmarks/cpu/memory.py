"""`python -m benchmarks.cpu.memory --lib libdiopi_impl.so --runtime libdiopirt.so [--only GLOB] [--group GLOB]`.

Memory that a call takes in addition to its operands, for the library and for PyTorch: the largest resident size of the
process during the call, from which the size before it is subtracted. Rows in which both take less than `SHOWN` bytes
are left out. Exit code 1 where the library takes more than PyTorch by a tenth of the bytes that the call must move.
Linux alone: the kernel counts.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.cpu.selection import parser_of, selected_cases

SETTINGS = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_TOP_PAD_": "0"}
"""Of glibc: memory that is released goes back to the kernel."""
SHOWN = 1 << 20
TOLERATED = 0.1


def _resident(word: str) -> int:
    """Bytes that /proc has under `word`: VmRSS now, VmHWM at most since `_largest` began."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(word + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {word}")


def _largest(call: Callable[[], object]) -> int:
    """Bytes that the second of two calls takes: what is retained from call to call is there by then."""
    call()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the largest size is that of now
    before = _resident("VmRSS")
    result = call()
    taken = _resident("VmHWM") - before
    del result
    return max(0, taken)


def main() -> int:
    """Measures, prints, and checks the limit."""
    options = parser_of("benchmarks.cpu.memory").parse_args()
    if any(os.environ.get(name) != value for name, value in SETTINGS.items()):
        os.execve(
            sys.executable, [sys.executable, "-m", "benchmarks.cpu.memory", *sys.argv[1:]], {**os.environ, **SETTINGS}
        )

    import torch

    from benchmarks.cpu.device import Device, thread_count

    torch.set_num_threads(thread_count())
    device = Device(options.lib, options.runtime)
    print(f"{'group':<12} {'operator':<28} {'size':<26} {'moves MiB':>10} {'ours MiB':>9} {'torch MiB':>10}")
    missed, measured = [], 0
    for case in selected_cases(device, options):
        measured += 1
        ours, theirs = _largest(case.ours), _largest(case.torch)
        if max(ours, theirs) < SHOWN:
            continue
        mebibytes = "".join(
            f"{count / (1 << 20):>{width}.1f}" for count, width in ((case.bytes, 11), (ours, 10), (theirs, 11))
        )
        print(f"{case.group:<12} {case.name:<28} {case.size:<26}{mebibytes}", flush=True)
        if ours - theirs > max(SHOWN, TOLERATED * case.bytes):
            missed.append(f"{case.name} at {case.size}: {ours / (1 << 20):.1f} MiB, PyTorch {theirs / (1 << 20):.1f}")
    print(f"{measured} rows measured")
    for line in missed:
        print(f"MISSED {line}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
