"""Known failures of PyTorch's kernels: faults of its CPU, and choices that every device may make."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from diopigen.conformance.model import FAILURES, CaseResult, Results
from diopigen.conformance.run.reading import with_counts

FILE = Path(__file__).with_name("known.yaml")


Release = tuple[int, ...]


def release_of(text: str) -> Release:
    """The numbers of a release in a text, such as 2.13.0 of `PyTorch 2.13.0+cpu`; none where there is none."""
    numbers = re.search(r"\d+(?:\.\d+)+", text)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()


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
    since: str = ""
    """The first release that has it; empty for the first that was looked at."""
    fixed: str = ""
    """The first release after it; empty where the newest has it."""
    compiler: str = ""
    """The backend of torch.compile that it is of, as a glob; empty for PyTorch's own kernels."""
    everywhere: bool = False
    """True if it is of a meta function, which all devices share."""
    is_fault: bool = False

    def is_in(self, release: Release) -> bool:
        """Returns whether a release of torch has it; one that is not known may have anything."""
        if not release:
            return True
        return release_of(self.since) <= release and not (self.fixed and release >= release_of(self.fixed))

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
    document: Mapping[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return document


def seen() -> Mapping[str, Any]:
    """`date` and `releases` of torch: when and where the failures were looked at; those of compilers in `compiled`."""
    seen_in: Mapping[str, Any] = _document()["seen"]
    return seen_in


@functools.cache
def known() -> tuple[Known, ...]:
    """All entries, faults first."""
    document = _document()
    faults = (Known(**entry, is_fault=True) for entry in document["faults"])
    return (*faults, *(Known(**entry) for entry in document["choices"]))


@dataclass(frozen=True, slots=True)
class Excepting:
    """Excepts known failures on a device: faults of kernels are the CPU's alone, those of a compiler are its own."""

    device: str
    compiler: str = ""

    def with_known(self, results: Results) -> tuple[Results, dict[str, int]]:
        """The results with those failures excepted that entries explain, and their number by entry."""
        release, used = release_of(results.library_version), dict[str, int]()
        entries = [one for one in known() if self._has(one) and one.is_in(release)]

        def changed(result: CaseResult) -> CaseResult:
            entry = None
            if result.outcome in FAILURES:
                entry = next((one for one in entries if one.explains(result)), None)
            if entry is None:
                return result
            used[entry.id] = used.get(entry.id, 0) + 1
            word = "fault of PyTorch" if entry.is_fault else "choice of PyTorch"
            return replace(result, outcome="excepted", reason=f"{word}: {entry.title}")

        return with_counts(replace(results, results=tuple(map(changed, results.results)))), used

    def _has(self, entry: Known) -> bool:
        if entry.compiler:
            return bool(self.compiler) and fnmatchcase(self.compiler, entry.compiler)
        return not entry.is_fault or entry.everywhere or is_cpu(self.device)


def is_cpu(device: str) -> bool:
    """Returns whether a device is torch's CPU, which `cpu:0` is too."""
    return device.partition(":")[0] == "cpu"


def known_text(used: dict[str, int]) -> list[str]:
    """The entries that explain failures, with their numbers."""
    rows = [(used[entry.id], entry) for entry in known() if entry.id in used]
    lines = [f"  {count:4}  {'fault' if entry.is_fault else 'choice'}: {entry.title}" for count, entry in rows]
    return ["known failures of PyTorch's kernels (generated/docs/pytorch-faults.md):", *lines] if lines else []
