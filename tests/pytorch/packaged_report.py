"""The table of the last run of test_packaged_models.py: `python tests/pytorch/packaged_report.py`."""

from __future__ import annotations

import json
from typing import Any

from what_ran import FOLDER


def rows() -> list[dict[str, Any]]:
    """The last run of each model in each precision."""
    lines = (FOLDER / "packages.jsonl").read_text().splitlines()
    last = {(row["model"], row["precision"]): row for row in map(json.loads, lines)}
    return [last[key] for key in sorted(last)]


def line(row: dict[str, Any]) -> str:
    truth = f"{row['cpu to float64']:.0e} {row['device to float64']:.0e}" if "cpu to float64" in row else ""
    fallen = ", ".join(f"{name} {count}x: {'; '.join(reasons)}" for name, (count, reasons) in row["fallbacks"].items())
    below = sum(row["reference"].values())
    verdict = "DIFFERS" if row.get("differs") else ""
    return (
        f"{row['model']:34} {row['precision']:9} {row['deviation']:9.1e} {truth:12} {row['time']:6.1f} {below:6}"
        f"  {fallen}{verdict}"
    )


def main() -> None:
    found = rows()
    print(f"{'model':34} {'precision':9} {'deviation':9} {'to float64':12} {'time':6} {'below':6}  on the CPU")
    for row in found:
        print(line(row))
    wrong = [row["model"] for row in found if row.get("differs")]
    print(
        f"{len({row['model'] for row in found})} models, {len(found)} runs, {len(wrong)} that differ.\n"
        "deviation: from the CPU, relative, of outputs, losses and gradients; to float64: that of the CPU and that of\n"
        "the device; time: of a step, over the CPU's; below: calls that ran on the reference library below PyTorch."
    )


if __name__ == "__main__":
    main()
