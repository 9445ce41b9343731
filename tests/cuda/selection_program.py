"""Runs Topk over rows that are selected from in parts: `selection_program.py RUNTIME LIBRARY FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "cpu"))

from random_program import AnyLibrary

from diopigen.console import Session

ROOT = Path(__file__).parents[2]
CALLS = {"largest": (7, True), "smallest": (300, False)}
"""Number of elements, and the end of the order."""


def row() -> np.ndarray[Any, Any]:
    """More elements than two parts have, with many equals and some NaN."""
    generator = np.random.default_rng(5)
    values = generator.integers(-90, 90, (2, 70_001)).astype(np.float32)
    values[:, ::23_000] = np.nan
    return values


def main() -> None:
    interface = Session(str(ROOT / "specs")).load().interface
    library = AnyLibrary(Path(sys.argv[1]), Path(sys.argv[2]), interface)
    found: dict[str, np.ndarray[Any, Any]] = {}
    for name, (count, largest) in CALLS.items():
        values, indices = np.zeros((2, count), np.float32), np.zeros((2, count), np.int64)
        library.call("diopiTopk", values, indices, row(), count, -1, largest, True)
        found |= {f"{name}/values": values, f"{name}/indices": indices}
    np.savez(sys.argv[3], allow_pickle=False, **found)


if __name__ == "__main__":
    main()
