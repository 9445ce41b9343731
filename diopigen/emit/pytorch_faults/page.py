"""The page of faults of PyTorch's kernels, each with the smallest program that shows it, and of their choices."""

from __future__ import annotations

from pathlib import Path

from diopigen.conformance.aten.known import Known, known, release_of, seen
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.emit.wrapping import wrapped
from diopigen.ir.model import Interface

TARGET = "pytorch-faults"
_INPUTS = ("diopigen/conformance/aten/known.yaml", "templates/pytorch_faults/page.md.j2")
_ISSUE = "https://github.com/pytorch/pytorch/issues/{}"


def emit(interface: Interface, templates: Path) -> Plan:
    """The page, for a spec with overloads of ATen."""
    if not interface.aten.releases:
        return Plan()
    entries = known()
    values = {
        "faults": [_entry(one) for one in entries if one.is_fault and not one.compiler],
        "compiled": [_entry(one) for one in entries if one.is_fault and one.compiler],
        "choices": [_entry(one) for one in entries if not one.is_fault],
        "seen": seen(),
        "counts": [_counts(release) for release in seen()["releases"]],
    }
    text = render(templates, "pytorch_faults/page.md.j2", values)
    return Plan((PlannedFile("docs/pytorch-faults.md", text, _INPUTS, TARGET),))


def _counts(release: str) -> tuple[str, int, int, int, int | str]:
    """A release, its faults in kernels and in meta functions, those of both without a number, those of compilers."""
    faults = [one for one in known() if one.is_fault and one.is_in(release_of(release))]
    own = [one for one in faults if not one.compiler]
    meta = sum(one.everywhere for one in own)
    compiled = len(faults) - len(own) if release in seen()["compiled"] else "not run"
    return release, len(own) - meta, meta, sum(not one.public for one in own), compiled


def _releases(one: Known) -> str:
    words = [f"since {one.since}"] * bool(one.since) + [f"before {one.fixed}"] * bool(one.fixed)
    return " and ".join(words)


def _entry(one: Known) -> dict[str, object]:
    overloads = ", ".join(f"`{name}`" for name in one.overloads)
    return {
        "title": one.title,
        "overloads": wrapped(f"Overloads: {overloads}.", 140),
        "argument": wrapped(one.argument, 140),
        "script": one.script.rstrip(),
        "releases": _releases(one),
        "public": f"[#{one.public}]({_ISSUE.format(one.public)})" if one.public else "",
    }
