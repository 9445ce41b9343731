"""Times the generator and the conformance suite against their limits. `make bench` runs it.

Each command runs several times in a process of its own (what a user waits for); load and check also inside one process.
The fastest run counts: it is the one that the rest of the machine disturbed least. Where more processes want to run
than there are processors, the time that a run has spent on processors is compared instead of the time that passed.

The suite is measured with the library in build/cpu and the runtime in build/runtime, or with those that are named:
`python -m benchmarks.generator [LIBRARY RUNTIME]`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import describe

ROOT = Path(__file__).resolve().parent.parent
RUNS = 7
CORES = 2
"""Processors that the promises are about."""


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that passed, and seconds on all processors together."""

    passed: float
    processors: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement and its limit in seconds. `parallel` processes share the work."""

    name: str
    times: Times
    promised: float
    parallel: int = 1

    def seconds(self, busy: bool) -> float:
        """The seconds to hold against the promise."""
        return self.times.processors / self.parallel if busy else self.times.passed


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def fastest(action: Callable[[], object], runs: int = RUNS) -> Times:
    """The shortest of several runs, each kind of time for itself."""
    passed, processors = [], []
    for _ in range(runs):
        start, spent = time.perf_counter(), _spent()
        action()
        passed.append(time.perf_counter() - start)
        processors.append(_spent() - spent)
    return Times(min(passed), min(processors))


def command(*arguments: str) -> Callable[[], object]:
    """A run of diopigen as a user starts it: the console script in the folder of this Python."""
    program = str(Path(sys.executable).parent / "diopigen")
    return lambda: subprocess.run([program, *arguments], cwd=ROOT, check=True, capture_output=True)


def load_and_check() -> None:
    """Load and check of the whole spec, in this process."""
    from diopigen import api
    from diopigen.diagnostics import Sink

    sink = Sink()
    api.load(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), sink)
    assert not sink.has_errors


@contextlib.contextmanager
def without_cache() -> Iterator[None]:
    """Nothing is taken from the cache, as the variable asks of a command."""
    before = os.environ.get("DIOPIGEN_CACHE")
    os.environ["DIOPIGEN_CACHE"] = "off"
    try:
        yield
    finally:
        if before is None:
            del os.environ["DIOPIGEN_CACHE"]
        else:
            os.environ["DIOPIGEN_CACHE"] = before


def check_proto() -> Callable[[], object]:
    """The comparison of the generated headers with the spec, in this process: what `diopigen check-proto` does when the
    spec is loaded. Nothing is taken from the cache."""
    from diopigen import api
    from diopigen.diagnostics import Sink
    from diopigen.header.check import check_headers

    interface = api.load(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), Sink()).interface
    headers = sorted((ROOT / "generated/include/diopi").glob("*.h"))
    assert headers, "generated/ has no headers"

    def check() -> None:
        sink = Sink()
        with without_cache():
            count = check_headers(interface, headers, sink, language="c++", docs=True)
        assert count > 0, "no function was compared"
        assert not sink.has_errors

    return check


def generator() -> list[Measurement]:
    """The promises of the generator. Commands that make something of the spec take it from the cache if they can."""
    with tempfile.TemporaryDirectory() as folder:
        generate = command("generate", "--out", folder)
        generate()
        load = fastest(load_and_check)
        return [
            Measurement("diopigen --help", fastest(command("--help")), 0.15),
            Measurement("load and check the whole spec", load, 1.0),
            Measurement("diopigen generate, nothing to do", fastest(generate), 1.5),
            Measurement("check-proto, the spec loaded", fastest(check_proto()), 0.5),
        ]


def suite(library: Path, runtime: Path) -> list[Measurement]:
    """The promises of the conformance suite: the start for one operator, and 2,000 small cases."""
    paths = ("--lib", str(library), "--runtime", str(runtime))
    one = command("conformance", "run", "--ops", "Add", *paths)
    one()
    start = fastest(one)
    selected = ("--axis", "recipe", "--axis", "plain", "--axis", "alone", "-j", str(CORES))
    listed = subprocess.run(
        [Path(sys.executable).parent / "diopigen", "conformance", "list", *selected[:-2]],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    seconds = fastest(command("conformance", "run", *paths, *selected), 2)
    count = len(listed.stdout.splitlines())
    fraction = 2000 / count
    thousands = Times(seconds.passed * fraction, seconds.processors * fraction)
    return [
        Measurement("conformance run --ops Add", start, 1.0, CORES),
        Measurement(f"2,000 cases of {count}, {CORES} processes", thousands, 1.0, CORES),
    ]


def main() -> int:
    """Prints the table; exit code 1 where a promise is not kept."""
    named = [Path(argument) for argument in sys.argv[1:3]]
    built = [ROOT / "build/cpu/libdiopi_impl.so", ROOT / "build/runtime/libdiopirt.so"]
    library, runtime = named if len(named) == 2 else built
    found = generator()
    if library.is_file() and runtime.is_file():
        found += suite(library, runtime)
    else:
        print(f"the conformance suite is not measured: there is no {library} or no {runtime}")
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    print(describe())
    width = max(len(item.name) for item in found)
    print(f"{'':<{width}}  {'seconds':>8}  {'on processors':>13}  {'promised':>8}  {'ratio':>6}")
    for item in found:
        ratio = item.seconds(busy) / item.promised
        times = item.times
        print(
            f"{item.name:<{width}}  {times.passed:>8.3f}  {times.processors:>13.3f}  "
            f"{item.promised:>8.2f}  {ratio:>6.2f}"
        )
    if busy:
        print("the machine is busy: ratios are those of the time on processors")
    return int(any(item.seconds(busy) > item.promised for item in found))


if __name__ == "__main__":
    sys.exit(main())
