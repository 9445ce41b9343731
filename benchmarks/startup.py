"""Work and processor time of the commands that a maintainer types all day.

`python -m benchmarks.startup` prints the seconds of each command next to the promise: cold (nothing cached), warm, and
after a change of one entry of the spec.
With `--compare` it counts the calls of Python functions in place of time, which no other program and no other machine
changes, and the exit code is 1 where a command makes more than `TOLERATED` times the calls in benchmarks/startup.yaml;
`--changed` leaves out the rows of a cold cache, the slowest under a profiler. `--write` stores the calls of this tree
there, at a release. Calls depend on the release of Python, which the file has.
"""

from __future__ import annotations

import os
import pstats
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "benchmarks/startup.yaml"
TOLERATED = 1.1
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class Row:
    """A command and the seconds of processor time promised for it, on a quiet processor of the reference machine."""

    arguments: tuple[str, ...]
    cold: float | None
    warm: float
    changed: float | None = None


ROWS = {
    "check": Row(("check",), 3.0, 1.0, 1.0),
    "generate": Row(("generate",), 5.0, 1.0, 1.0),
    "conformance list": Row(("conformance", "list"), None, 1.0),
    "adaptors": Row(("adaptors", "impl/camb", "--check"), None, 0.8),
}


def run(options: tuple[str, ...], name: str, cache: str, folder: Path) -> float:
    """Processor time of a row's command in a folder, which succeeds, with these options of Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "DIOPIGEN_CACHE": cache, "PYTHONHASHSEED": "0"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, *options, "-m", "diopigen", *ROWS[name].arguments]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds(name: str, cache: str, folder: Path) -> float:
    """Processor time of a row's command."""
    return run((), name, cache, folder)


def calls(name: str, cache: str, folder: Path) -> int:
    """Calls of functions, those of C included, that a row's command makes in Python."""
    with tempfile.TemporaryDirectory() as own:
        profile = str(Path(own, "profile"))
        run(("-m", "cProfile", "-o", profile), name, cache, folder)
        stats: Any = pstats.Stats(profile)
        return int(stats.total_calls)


def figures(measure: Callable[[str, str, Path], float], *, cold: bool) -> Iterator[tuple[str, float, float]]:
    """The name of each figure, its value, and the promise in seconds; of a cold cache only if asked for."""
    for name, row in ROWS.items():
        with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as project:
            folder = Path(project)
            for written in ("specs", "generated"):
                shutil.copytree(ROOT / written, folder / written)
            for read in ("impl", "diopigen.yaml"):
                if (ROOT / read).exists():
                    (folder / read).symlink_to(ROOT / read)
            if row.cold is None or not cold:
                run((), name, cache, folder)
            else:
                yield f"{name}, cold", measure(name, cache, folder), row.cold
            yield f"{name}, warm", measure(name, cache, folder), row.warm
            if row.changed is not None:
                entries = folder / "specs/ops/norm.yaml"
                text = entries.read_text(encoding="utf-8")
                entries.write_text(text.replace("\n    doc: ", "\n    doc: Also ", 1), encoding="utf-8")
                yield f"{name}, changed", measure(name, cache, folder), row.changed


def compared(found: Mapping[str, int], released: Mapping[str, int]) -> list[str]:
    """Differences from the last release, a line for each row that does more work or exists on one side only."""
    lines = []
    for key in found.keys() & released.keys():
        if found[key] > TOLERATED * released[key]:
            lines.append(f"{key}: {found[key]:,} calls, more than {TOLERATED} times the {released[key]:,} released")
    lines += [f"{key}: without a released figure" for key in found.keys() - released.keys()]
    lines += [f"{key}: released, and not measured" for key in released.keys() - found.keys()]
    return sorted(lines)


def main() -> int:
    """Prints the table. Returns 1 with `--compare` where a command does more work."""
    counted = "--compare" in sys.argv or "--write" in sys.argv
    stored: dict[str, Any] = yaml.safe_load(BASELINE.read_text(encoding="utf-8")) if BASELINE.is_file() else {}
    cold = "--changed" not in sys.argv
    of_python = stored.get("python")
    released = {key: calls for key, calls in stored.get("calls", {}).items() if cold or not key.endswith(", cold")}
    found: dict[str, int] = {}
    print(f"{'':<24}{'calls' if counted else 'seconds':>12}{'released' if counted else 'promised':>12}", flush=True)
    for key, measured, promised in figures(calls if counted else seconds, cold=cold):
        if counted:
            found[key] = int(measured)
            print(f"{key:<24}{found[key]:>12,}{released.get(key, 0):>12,}", flush=True)
        else:
            print(f"{key:<24}{measured:>12.2f}{promised:>12.2f}", flush=True)
    if "--write" in sys.argv:
        text = yaml.safe_dump({"python": PYTHON, "calls": found}, sort_keys=False)
        BASELINE.write_text("# Written by `python -m benchmarks.startup --write`.\n" + text, encoding="utf-8")
    if "--compare" not in sys.argv:
        return 0
    if of_python not in (None, PYTHON):
        print(f"not compared: the released figures are of Python {of_python}, this is {PYTHON}")
        return 0
    differences = compared(found, released)
    print("\n".join(differences))
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
