"""Processor time of the commands that a maintainer types all day, compared with the promises and with the last release.

`python -m benchmarks.startup` prints a row for each command, cold (nothing cached) and warm. A row counts in units of a
calibration loop that runs in turn with it, so that a slow or busy machine measures the same ratio. With `--compare` the
exit code is 1 where a ratio is more than `TOLERATED` times that in benchmarks/startup.yaml; `--write` stores the ratios
of this tree there, at a release.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "benchmarks/startup.yaml"
TOLERATED = 2.0
RETRIES = 2
RUNS = {"cold": 1, "warm": 2}
"""Measurements of each. A row that seems slower is measured again."""
_CALIBRATION = """
import json, re
words = [f"key{number} = value{number % 97}" for number in range(40000)]
for _ in range(4):
    table = {}
    for word in words:
        match = re.match(r"(\\w+) = (\\w+)", word)
        table.setdefault(match[2], []).append(match[1])
    json.loads(json.dumps(table, sort_keys=True))
"""
"""Work typical of the generator: small objects, dictionaries, regular expressions and text."""


@dataclass(frozen=True, slots=True)
class Row:
    """A command and the seconds of processor time promised for it, on a quiet processor of the reference machine."""

    arguments: tuple[str, ...]
    cold: float | None
    warm: float


ROWS = {
    "check": Row(("check",), 3.0, 1.0),
    "generate": Row(("generate", "--check"), 5.0, 1.0),
    "conformance list": Row(("conformance", "list"), None, 1.0),
}


def seconds(*command: str, cache: str) -> float:
    """Processor time of a process that succeeds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "DIOPIGEN_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def calibrated(*command: str, cache: str) -> tuple[float, float]:
    """Seconds of the command, and of the calibration loop right before it."""
    unit = seconds(sys.executable, "-c", _CALIBRATION, cache="off")
    return seconds(*command, cache=cache), unit


def measure(name: str, kind: str) -> tuple[float, float]:
    """The fewest seconds of several runs, and the smallest ratio to the calibration loop."""
    program = str(Path(sys.executable).parent / "diopigen")
    runs = []
    with tempfile.TemporaryDirectory() as shared:
        if kind == "warm":
            seconds(program, *ROWS[name].arguments, cache=shared)
        for _ in range(RUNS[kind]):
            with tempfile.TemporaryDirectory() as empty:
                runs.append(calibrated(program, *ROWS[name].arguments, cache=shared if kind == "warm" else empty))
    return min(run[0] for run in runs), min(time / unit for time, unit in runs)


def compared(ratios: dict[str, float], baseline: Mapping[str, float], again: Callable[[str], float]) -> list[str]:
    """Differences from the last release, a line for each row that became slower or exists on one side only. A row that
    seems slower is measured `again` before that is said, and `ratios` then has the smaller figure."""
    lines = []
    for key in ratios.keys() & baseline.keys():
        limit = TOLERATED * baseline[key]
        for _ in range(RETRIES):
            if ratios[key] > limit:
                ratios[key] = min(ratios[key], again(key))
        if ratios[key] > limit:
            lines.append(f"{key}: {ratios[key]:.2f}, more than {TOLERATED} times the {baseline[key]:.2f} released")
    lines += [f"{key}: without a released figure" for key in ratios.keys() - baseline.keys()]
    lines += [f"{key}: released, and not measured" for key in baseline.keys() - ratios.keys()]
    return sorted(lines)


def main() -> int:
    """Prints the table. Returns 1 with `--compare` where a command became slower."""
    baseline = yaml.safe_load(BASELINE.read_text(encoding="utf-8")) if BASELINE.is_file() else {}
    ratios: dict[str, float] = {}
    print(f"{'':<24}{'seconds':>8}{'promised':>10}{'ratio':>8}{'released':>10}", flush=True)
    for name, row in ROWS.items():
        for kind, promised in (("cold", row.cold), ("warm", row.warm)):
            if promised is None:
                continue
            key = f"{name}, {kind}"
            time, ratio = measure(name, kind)
            ratios[key] = round(ratio, 2)
            released = baseline.get(key, float("nan"))
            print(f"{key:<24}{time:>8.2f}{promised:>10.2f}{ratio:>8.2f}{released:>10.2f}", flush=True)
    if "--write" in sys.argv:
        lines = [f"{key}: {ratio}" for key, ratio in ratios.items()]
        BASELINE.write_text("\n".join(["# Written by `python -m benchmarks.startup --write`.", *lines, ""]))
    if "--compare" not in sys.argv:
        return 0
    differences = compared(ratios, baseline, lambda key: measure(*key.rsplit(", ", 1))[1])
    print("\n".join(differences))
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
