"""How long the generator takes, beside what was promised. `make bench` runs it.

Each command runs several times in a process of its own (what a user waits for); load and check also inside one process.
The fastest run counts: it is the one that the rest of the machine disturbed least.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNS = 7


@dataclass(frozen=True, slots=True)
class Measurement:
    """Seconds measured and seconds promised."""

    name: str
    seconds: float
    promised: float


def fastest(action: Callable[[], object], runs: int = RUNS) -> float:
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def command(*arguments: str) -> Callable[[], object]:
    """A run of diopigen as a user starts it: the console script beside this Python."""
    program = str(Path(sys.executable).parent / "diopigen")
    return lambda: subprocess.run([program, *arguments], cwd=ROOT, check=True, capture_output=True)


def load_and_check() -> None:
    """Load and check of the whole spec, in this process."""
    from diopigen import api
    from diopigen.diagnostics import Sink

    sink = Sink()
    api.load(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), sink)
    assert not sink.has_errors


def measure() -> list[Measurement]:
    """All promises of the generator, measured."""
    with tempfile.TemporaryDirectory() as folder:
        generate = command("generate", "--out", folder)
        generate()
        load = fastest(load_and_check)
        check_proto = fastest(command("check-proto"))
        check = fastest(command("check"))
        return [
            Measurement("diopigen --help", fastest(command("--help")), 0.15),
            Measurement("load and check the whole spec", load, 1.0),
            Measurement("diopigen generate, nothing to do", fastest(generate), 1.5),
            Measurement("diopigen check-proto, over diopigen check", max(0.0, check_proto - check), 0.5),
        ]


def main() -> int:
    """Prints the table; exit code 1 where a promise is not kept."""
    found = measure()
    width = max(len(item.name) for item in found)
    print(f"{'':<{width}}  {'seconds':>8}  {'promised':>8}  {'ratio':>6}")
    for item in found:
        print(
            f"{item.name:<{width}}  {item.seconds:>8.3f}  {item.promised:>8.2f}  {item.seconds / item.promised:>6.2f}"
        )
    return int(any(item.seconds > item.promised for item in found))


if __name__ == "__main__":
    sys.exit(main())
