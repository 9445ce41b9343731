"""Counts calls of the published suite by outcome: `published_report.py LIBRARY RUNTIME [FAMILY ...]`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "conformance"), str(TESTS / "published_calls")]

from explained import reason_of, unneeded  # noqa: E402
from outcomes import Outcome, outcomes, torch_asked  # noqa: E402
from published_calls import FOLDER, elements, lines  # noqa: E402

from diopigen.calling import Library  # noqa: E402


def family_outcomes(family: str, library: str, runtime: str, largest: int) -> list[Outcome]:
    """Outcomes of the calls of a family, of cases with no more than so many elements."""
    called = Library(library, runtime)
    cases = (line for line in lines(family) if elements(line) <= largest)
    return [one for line in cases for one in outcomes(called, line, torch_asked)]


def main() -> int:
    """Prints a line for each outcome without an explanation, the counts, then explanations that explain nothing."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("library")
    parser.add_argument("runtime")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--largest", type=int, default=sys.maxsize, help="most elements of a case")
    options = parser.parse_args()
    families = options.families or sorted(path.stem for path in FOLDER.glob("*.jsonl"))
    counts: Counter[str] = Counter()
    open_ones = 0
    everything: list[Outcome] = []
    with ProcessPoolExecutor(max_workers=2) as pool:
        common = (options.library, options.runtime, options.largest)
        asked = [pool.submit(family_outcomes, one, *common) for one in families]
        for found in (each.result() for each in as_completed(asked)):
            everything += found
            for one in found:
                counts[one.kind] += 1
                counts["PyTorch agrees" if not one.torch else f"PyTorch {one.torch.split(':')[0]}"] += (
                    one.kind != "refused"
                )
                reason = reason_of(one)
                if reason is None:
                    open_ones += 1
                    print(f"{one.line}: {one.function}: {one.kind}: {one.message} | {one.torch}", flush=True)
                elif reason:
                    counts[f"explained: {reason}"] += 1
    for word, count in sorted(counts.items()):
        print(f"{count:6} {word}")
    left = [] if options.largest < sys.maxsize else unneeded(everything, with_torch=True)
    for entry in left:
        print(f"explains nothing: {entry}")
    return 1 if open_ones or left else 0


if __name__ == "__main__":
    sys.exit(main())
