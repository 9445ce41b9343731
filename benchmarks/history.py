"""Cost of the suite's history: 500 runs of all cases, their file, and the page in a browser.

    python -m benchmarks.history                 # --runs 500 --folder build/history

Outcomes and times are sampled: some functions break and are fixed again, a few cases vary, times are off by a tenth.
"""

from __future__ import annotations

import argparse
import datetime
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from diopigen import api
from diopigen.conformance.cases.suite import select
from diopigen.conformance.history.page import to_html
from diopigen.conformance.history.store import opened
from diopigen.conformance.history.trends import trends
from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Fault, Measured, Results
from diopigen.diagnostics import Sink

WRONG = (Fault("values", "out", "3 of 120 elements differ; worst [1, 7]: off by 0.02, allowed 1e-05", "1.5", "1.52"),)
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


def sampled(cases: Sequence[Case], number: int, usual: Sequence[float], chance: random.Random) -> Results:
    """A run in which four functions fail, others each time, and twenty cases vary."""
    names = sorted({case.function for case in cases})
    broken = set(random.Random(number // 7).sample(names, 4))
    varying = {cases[k].id for k in random.Random(1).sample(range(len(cases)), 20)}
    results = []
    for case, seconds in zip(cases, usual, strict=True):
        fails = (case.function in broken and case.axis == "recipe") or (case.id in varying and chance.random() < 0.3)
        outcome = "failed" if fails else "unimplemented" if case.family == "sparse" else "passed"
        error = (Measured("float32", 0.5 + number // 100 * (case.function == names[7]), 0.25, 60),)
        errors = error if case.dtype == "float32" else ()
        took = seconds * chance.uniform(0.9, 1.1)
        results.append(CaseResult(case, outcome, took, WRONG if fails else (), errors=errors))
    counts = Counter(one.outcome for one in results)
    identity = {"library": f"{number // 7:064x}", "spec": "5b" * 16, "settings": "5c" * 8}
    return Results(
        tuple(results), sum(one.seconds for one in results), 0, "libdiopi_impl.so", "acme", f"1.{number // 7}",
        {outcome: counts[outcome] for outcome in OUTCOMES}, identity=identity,
    )  # fmt: skip


def browser_seconds(page: Path, folder: Path) -> float:
    """Time in which a browser loads, runs and lays out a page, by its own clock: from the start of the navigation."""
    probe = "<script>addEventListener('load', () => { document.body.getBoundingClientRect(); document.title ="
    probe += " 'took ' + performance.now(); });</script>"
    measured = folder / "measured.html"
    measured.write_text(page.read_text(encoding="utf-8").replace("</body>", probe + "</body>"), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", measured.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return float(done.stdout.partition("<title>took ")[2].partition("<")[0]) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="What the history of the suite costs.")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--folder", type=Path, default=Path("build/history"))
    options = parser.parse_args()
    sink, where = Sink(), api.workspace(None)
    cases = [replace(case, arguments={}) for case in select(api.load(where, sink).interface)]
    chance = random.Random(0)
    usual = [chance.lognormvariate(-6, 1.2) for _ in cases]
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    file, page = options.folder / "runs.sqlite", options.folder / "runs.html"
    spent = 0.0
    for number in range(options.runs):
        results = sampled(cases, number, usual, chance)
        started = time.perf_counter()
        with opened(file, create=True) as history:
            history.add(results, START + datetime.timedelta(hours=12 * number))
        spent += time.perf_counter() - started
    size = file.stat().st_size / 2**20
    print(f"{options.runs} runs of {len(cases)} cases: {size:.1f} MiB, {1000 * spent / options.runs:.0f} ms to add one")
    started = time.perf_counter()
    with opened(file) as history:
        found = trends(history)
    page.write_text(to_html(found, where.templates), encoding="utf-8")
    print(f"page: {page.stat().st_size / 2**20:.1f} MiB, written in {time.perf_counter() - started:.1f} s")
    if shutil.which("chromium"):
        print(f"page in chromium: {min(browser_seconds(page, options.folder) for _ in range(3)):.2f} s (best of 3)")


if __name__ == "__main__":
    main()
