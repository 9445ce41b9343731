"""Random calls of a library through its C functions, with sizes, ranks, strides and numbers at their extremes:

    python tests/fuzz --lib build/tests/sanitized/libdiopi_impl.so             # an hour
    python tests/fuzz --lib ... --calls 100000 --seed 7 --ops 'Index*'
    python tests/fuzz --lib ... --seed 7 --repeat diopiIndexPut/fuzz/12        # one call again, with its whole stack

Memory is guarded around each operand; calls run in processes of their own, by the thousand, so that a crash costs one
call. A call fails that crashes, does not return, writes outside of its outputs, or succeeds without an output. Its line
names it, and with the seed that is all it takes to repeat it. The exit code is 1 where a call fails.
"""

from __future__ import annotations

import argparse
import itertools
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from random_calls import Calls

from diopigen import api
from diopigen.conformance.model import Case, CaseResult
from diopigen.conformance.run.runner import MEMORY_LIMIT, run
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
BATCH = 2000
"""Calls that are made before the time is looked at."""
_RUNTIMES = ("libasan.so", "libubsan.so", "libstdc++.so")
_TOO_MUCH = ("out of memory", "out-of-memory", "allocation-size-too-big", "bad_alloc", "memory is exhausted")
"""Messages of processes when a call asks for more memory than there is, which is no error of the library."""


def main() -> int:
    """Makes calls until the time or their number is up; the exit code."""
    options = _options()
    interface = api.load(api.workspace(str(ROOT / "specs")), Sink(), check=False).interface
    names = [f.name for f in interface.functions if any(fnmatchcase(f.name, f"diopi{glob}") for glob in options.ops)]
    calls = Calls(interface, options.seed, names)
    fuzzer = Fuzzer(interface, options.lib, options.runtime or options.lib.parent / "libdiopirt.so", options)
    print(f"seed {options.seed}, {len(calls.names)} functions", flush=True)
    if options.repeat:
        name, _, number = options.repeat.split("/")
        one = calls.call(name, int(number))
        return fuzzer.run([one] if one is not None else [])
    return fuzzer.run(iter(calls))


class Fuzzer:
    """Makes random calls of one library."""

    def __init__(self, interface: Interface, library: Path, runtime: Path, options: argparse.Namespace) -> None:
        self.interface, self.library, self.runtime, self.options = interface, library, runtime, options
        self.environment: dict[str, str] = {}
        self.memory = MEMORY_LIMIT
        if _is_sanitized(library):
            self.environment, self.memory = sanitizer_environment(), 0

    def run(self, calls: Sequence[Case] | Iterator[Case]) -> int:
        """1 where a call fails, else 0."""
        end = time.monotonic() + 60 * self.options.minutes
        left, created, failed = self.options.calls or 2**63, 0, 0
        remaining = iter(calls)
        while left > 0 and (self.options.calls or time.monotonic() < end):
            batch = list(itertools.islice(remaining, min(BATCH, left)))
            if not batch:
                break
            results = run(
                batch, self.interface, self.library, self.runtime, jobs=self.options.jobs, seed=self.options.seed,
                time_limit=self.options.time_limit, memory_limit=self.memory, environment=self.environment,
            )  # fmt: skip
            left, created = left - len(batch), created + len(batch)
            for result in results.failures:
                if not _asks_for_too_much(result):
                    failed += 1
                    self._show(result)
            print(f"{created} calls, {failed} failed", flush=True)
        return int(failed > 0)

    def _show(self, result: CaseResult) -> None:
        case = result.case
        print(f"FAILED {case.id} {result.outcome} ({case.about})")
        for fault in result.faults:
            print(f"    {fault.kind} {fault.parameter}: {fault.message}")
        for operand in result.operands:
            print(f"    {operand[:160]}")
        command = f"python tests/fuzz --lib {os.path.relpath(self.library)} --seed {self.options.seed}"
        print(f"    again: {command} --repeat {case.id}", flush=True)


def sanitizer_environment() -> dict[str, str]:
    """Environment of a process that loads a library with the address and undefined behaviour sanitizers."""
    libraries = [
        subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
        for name in _RUNTIMES
    ]
    return {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "DIOPI_NUM_THREADS": "2",
    }


def _is_sanitized(library: Path) -> bool:
    return b"__asan_init" in library.read_bytes()


def _asks_for_too_much(result: CaseResult) -> bool:
    return result.outcome == "crashed" and any(word in fault.message for fault in result.faults for word in _TOO_MUCH)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lib", type=Path, required=True, help="libdiopi_impl.so")
    parser.add_argument("--runtime", type=Path, help="libdiopirt.so, by default the one next to the library")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="by default another one in each run")
    parser.add_argument("--calls", type=int, default=0, help="how many, in place of a time")
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--ops", action="append", metavar="GLOB", help="functions, without diopi (may be repeated)")
    parser.add_argument("--repeat", metavar="CALL", help="make this one call")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds after which a call hangs (120)")
    options = parser.parse_args()
    options.ops = options.ops or ["*"]
    return options


if __name__ == "__main__":
    sys.exit(main())
