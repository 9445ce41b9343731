"""Known failures of PyTorch's kernels: faults of its CPU, and choices that every device may make."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from diopigen.conformance.model import FAILURES, CaseResult, Results
from diopigen.conformance.run.reading import counted

FILE = Path(__file__).with_name("known.yaml")


@dataclass(frozen=True, slots=True)
class Known:
    """An entry of the file: the failures that it explains, and the argument. `script` is Python that fails while the
    fault is there; `public` the number of an issue of pytorch/pytorch, 0 for none that is known."""

    id: str
    title: str
    overloads: Sequence[str]
    cases: Sequence[str]
    kinds: Sequence[str]
    argument: str
    script: str = ""
    public: int = 0
    releases: Sequence[str] = ()
    """The releases of torch that have it; empty for all that were looked at."""
    is_fault: bool = False

    def explains(self, result: CaseResult) -> bool:
        """Returns whether all faults of a result are of the entry's kinds, in a case of its overloads."""
        case = result.case
        name = case.id.partition("@")[0]
        return (
            any(fnmatchcase(case.overload, glob) for glob in self.overloads)
            and any(fnmatchcase(name, glob) for glob in self.cases)
            and all(fault.kind in self.kinds for fault in result.faults)
        )


@functools.cache
def _document() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found


def seen() -> Mapping[str, Any]:
    """`date` and `releases` of torch: when and where the faults were there."""
    found: Mapping[str, Any] = _document()["seen"]
    return found


@functools.cache
def known() -> tuple[Known, ...]:
    """All entries, faults first."""
    document = _document()
    faults = (Known(**entry, is_fault=True) for entry in document["faults"])
    return (*faults, *(Known(**entry) for entry in document["choices"]))


def with_known(results: Results, device: str) -> tuple[Results, dict[str, int]]:
    """The results with those failures excepted that entries explain, and their number by entry. Faults are the CPU's
    alone."""
    entries = [entry for entry in known() if not entry.is_fault or device == "cpu"]
    used: dict[str, int] = {}

    def excepted(result: CaseResult) -> CaseResult:
        entry = None
        if result.outcome in FAILURES:
            entry = next((one for one in entries if one.explains(result)), None)
        if entry is None:
            return result
        used[entry.id] = used.get(entry.id, 0) + 1
        word = "fault of PyTorch" if entry.is_fault else "choice of PyTorch"
        return replace(result, outcome="excepted", reason=f"{word}: {entry.title}")

    changed = tuple(map(excepted, results.results))
    return counted(replace(results, results=changed)), used


def known_text(used: dict[str, int]) -> list[str]:
    """The entries that explain failures, with their numbers."""
    rows = [(used[entry.id], entry) for entry in known() if entry.id in used]
    lines = [f"  {count:4}  {'fault' if entry.is_fault else 'choice'}: {entry.title}" for count, entry in rows]
    return ["known failures of PyTorch's kernels (generated/docs/pytorch-faults.md):", *lines] if lines else []
