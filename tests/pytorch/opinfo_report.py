"""Sums up build/tests/pytorch/opinfo.jsonl: how many entries ran on native kernels alone, and what fell back."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

REPORT = Path(__file__).resolve().parents[2] / "build/tests/pytorch/opinfo.jsonl"


def main() -> None:
    """The last line of each entry counts. With `-v` a line per entry, with `-f` the findings."""
    entries = {}
    for line in REPORT.read_text().splitlines():
        entry = json.loads(line)
        entries[entry["entry"]] = entry
    native = [name for name, entry in entries.items() if not entry["fallbacks"]]
    differing = [name for name, entry in entries.items() if any(entry["findings"].values())]
    overloads = Counter(overload for entry in entries.values() for overload in entry["fallbacks"])
    for name, entry in sorted(entries.items()) if "-v" in sys.argv else ():
        print(f"{name:50} {'native' if not entry['fallbacks'] else 'fallback: ' + ', '.join(entry['fallbacks'])}")
    for name in sorted(differing) if "-f" in sys.argv else ():
        for check, texts in entries[name]["findings"].items():
            for text in texts[:3]:
                print(f"{name}: {check}: {text}")
    print(f"{len(entries)} entries: {len(native)} on native kernels alone, {len(entries) - len(native)} with fallbacks")
    print(f"{len(differing)} differ somewhere from the CPU")
    print("most often on the CPU, by entries:")
    for overload, count in overloads.most_common(20):
        print(f"  {count:4} {overload}")


if __name__ == "__main__":
    main()
