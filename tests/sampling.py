"""Samples of long tests for a change: the same sample on every machine and every day.

The whole runs in `make nightly`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from diopigen.conformance.model import Case


def picked(name: str, fraction: int) -> bool:
    """Returns whether a checksum picks this name, as it does with one of `fraction` names."""
    return zlib.crc32(name.encode()) % fraction == 0


def sampled(cases: Sequence[Case], part: int) -> list[Case]:
    """Of each function the first case, and of the others those that `picked` picks by their identifier."""
    seen: set[str] = set()
    retained = []
    for case in cases:
        if case.function not in seen or picked(case.id, part):
            retained.append(case)
        seen.add(case.function)
    return retained


def first(values: Iterable[Any], retained: int = 1) -> list[Any]:
    """Parameters of which a change runs the first `retained`, and `make nightly` all: the witness comes first."""
    return [value if k < retained else _slow(value) for k, value in enumerate(values)]


def some(values: Iterable[Any], fraction: int) -> list[Any]:
    """Parameters of which a change runs the first, and those that `picked` picks by their id, else by their text."""
    return [value if k == 0 or picked(_text(value), fraction) else _slow(value) for k, value in enumerate(values)]


Parameters = type(pytest.param())


def _text(value: Any) -> str:
    return str(value.id) if isinstance(value, Parameters) else str(value)


def _slow(value: Any) -> Any:
    if isinstance(value, Parameters):
        return pytest.param(*value.values, id=value.id, marks=(*value.marks, pytest.mark.slow))
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)


RUNS_ALL = False
"""True if this run takes the tests marked `slow` too; set by tests/conftest.py before any test is imported."""


def examples(count: int, part: int = 4) -> int:
    """Number of examples of a property: `count` of them in `make nightly`, one in `part` for a change."""
    return count if RUNS_ALL else count // part
