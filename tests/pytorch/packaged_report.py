"""The table of the last run of test_packaged_models.py: `python tests/pytorch/packaged_report.py [--markdown FILE]`.

The exit code is 1 where a run differs, where a fallback is not named in packaged_fallbacks.yaml, and where that names
one that none of the models has any more.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from what_ran import FOLDER

Row = Mapping[str, Any]
EXPLAINED: dict[str, str] = yaml.safe_load((Path(__file__).parent / "packaged_fallbacks.yaml").read_text())


def rows() -> list[Row]:
    """The last run of each model in each precision."""
    lines = (FOLDER / "packages.jsonl").read_text().splitlines()
    last = {(row["model"], row["precision"]): row for row in map(json.loads, lines)}
    return [last[key] for key in sorted(last)]


def fallen(row: Row) -> str:
    """Calls that ran on the CPU, with counts and reasons."""
    return ", ".join(f"{name} {count}x: {'; '.join(reasons)}" for name, (count, reasons) in row["fallbacks"].items())


def to_truth(row: Row) -> str:
    return f"{row['cpu to float64']:.0e} {row['device to float64']:.0e}" if "cpu to float64" in row else ""


def line(row: Row) -> str:
    below = sum(row["reference"].values())
    verdict = "DIFFERS" if row.get("differs") else ""
    return (
        f"{row['model']:42} {row['precision']:9} {row['deviation']:9.1e} {to_truth(row):12} {row['time']:6.1f}"
        f" {below:6}  {fallen(row)}{verdict}"
    )


def unexplained(found: Sequence[Row]) -> list[str]:
    """Errors of the runs, as text."""
    wrong = [f"{row['model']} in {row['precision']} differs: {row['differs']}" for row in found if row.get("differs")]
    names = {name for row in found for name in row["fallbacks"]}
    wrong += [f"{name} runs on the CPU, and packaged_fallbacks.yaml has no reason" for name in names - set(EXPLAINED)]
    wrong += [f"{name} is in packaged_fallbacks.yaml, and no model has it" for name in set(EXPLAINED) - names]
    return wrong


NOTE = (
    "deviation: from the CPU, relative, of outputs, losses and gradients; to float64, where that is above 1e-5: that "
    "of the CPU and that of the device; time: of the fastest of four steps, over the CPU's; below: calls that ran on "
    "the reference library below PyTorch."
)


def summary(found: Sequence[Row]) -> str:
    return f"{len({row['model'] for row in found})} models, {len(found)} runs, {len(unexplained(found))} unexplained."


def markdown(found: Sequence[Row]) -> str:
    lines = [
        "# Models of packages",
        "",
        "Written by `make test-models` ([pytorch.md](pytorch.md)): the example chip droplet, simulated, next to"
        " PyTorch's CPU.",
        "",
        f"{summary(found)} {NOTE[0].upper()}{NOTE[1:]}",
        "",
        "| model | precision | deviation | CPU to float64 | device to float64 | time | below | on the CPU |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in found:
        truth = [f"{row[key]:.1e}" if key in row else "" for key in ("cpu to float64", "device to float64")]
        below = sum(row["reference"].values())
        cells = [row["model"], row["precision"], f"{row['deviation']:.1e}", *truth, f"{row['time']:.1f}", str(below)]
        lines.append(f"| {' | '.join([*cells, fallen(row)])} |")
    lines += [""] + [f"`{name}`: {reason}" for name, reason in sorted(EXPLAINED.items())]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", type=Path, help="also writes the table to this file")
    options = parser.parse_args()
    found = rows()
    print(f"{'model':42} {'precision':9} {'deviation':9} {'to float64':12} {'time':6} {'below':6}  on the CPU")
    for row in found:
        print(line(row))
    print(summary(found), NOTE, sep="\n")
    for reason in unexplained(found):
        print(f"unexplained: {reason}")
    if options.markdown is not None:
        options.markdown.write_text(markdown(found))
    return int(bool(unexplained(found)))


if __name__ == "__main__":
    sys.exit(main())
