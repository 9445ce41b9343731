"""Sums up build/tests/pytorch/{operators,modules,optimizers}.jsonl: how many entries ran on the device alone, and what
ran elsewhere, by operator of PyTorch and by function of the interface.

An operator that fell back ran its CPU kernel; a function that did ran on the reference library, since the library of
droplet, an example, has few.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "build/tests/pytorch"
KINDS = ("operators", "modules", "optimizers")


def entries(kind: str) -> dict[str, Any]:
    """By name; the last line of each counts."""
    path = FOLDER / f"{kind}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {entry["entry"]: entry for entry in map(json.loads, lines)}


def ran(entry: dict[str, Any]) -> str:
    """Device on which an entry ran, as text."""
    words = [f"{kind} on the CPU: {', '.join(entry[kind])}" for kind in ("operators", "functions") if entry[kind]]
    return "; ".join(words) or "the device alone"


def summary(kind: str, found: dict[str, Any]) -> list[str]:
    fell = [entry for entry in found.values() if entry["operators"]]
    alone = [entry for entry in found.values() if not entry["operators"] and not entry["functions"]]
    operators = Counter(name for entry in fell for name in entry["operators"])
    differing = [entry for entry in found.values() if any(entry["findings"].values())]
    whole = "all samples" if all(entry["whole"] for entry in found.values()) else "a few samples"
    return [
        f"{kind}: {len(found)} entries, {whole}",
        f"  {len(found) - len(fell)} on native kernels alone, {len(alone)} of them on functions that droplet has",
        f"  {len(fell)} with operators on the CPU, most often (by entries):",
        *(f"    {count:4} {name}" for name, count in operators.most_common(12)),
        f"  {len(differing)} differ somewhere from the CPU: {', '.join(sorted_names(differing))}",
    ]


def sorted_names(found: list[dict[str, Any]]) -> list[str]:
    return sorted(str(entry["entry"]) for entry in found)


def main() -> None:
    parser = argparse.ArgumentParser(description="What PyTorch's databases of tests found on droplet.")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line per entry: where it ran")
    parser.add_argument("-f", "--findings", action="store_true", help="what differs")
    options = parser.parse_args()
    for kind in KINDS:
        found = entries(kind)
        if not found:
            continue
        for name, entry in sorted(found.items()) if options.verbose else ():
            print(f"{name:50} {ran(entry)}")
        for name, entry in sorted(found.items()) if options.findings else ():
            for check, texts in entry["findings"].items():
                for text in texts[:3]:
                    print(f"{name}: {check}: {text}")
        print("\n".join(summary(kind, found)))


if __name__ == "__main__":
    main()
