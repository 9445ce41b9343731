"""What a change is checked with, of what takes longer than people wait: the same part on every machine and every day.

The whole runs in `make nightly`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from diopigen.conformance.model import Case


def picked(name: str, share: int) -> bool:
    """Whether a checksum picks this name, as it does with one of `share` names."""
    return zlib.crc32(name.encode()) % share == 0


def sampled(cases: Sequence[Case], share: int) -> list[Case]:
    """Of each function the first case, and of the others those that `picked` picks by their identifier."""
    seen: set[str] = set()
    kept = []
    for case in cases:
        if case.function not in seen or picked(case.id, share):
            kept.append(case)
        seen.add(case.function)
    return kept
