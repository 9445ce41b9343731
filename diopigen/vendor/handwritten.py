"""Handwritten files of a vendor, as opposed to those in folders of diopigen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from diopigen.api import Workspace
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from diopigen.vendor.bodies import skeletons
from diopigen.vendor.scan import scan, spec_interface


@dataclass(frozen=True, slots=True)
class Handwritten:
    """The functions with a definition of the vendor's own; `skeletons` are those that do nothing yet."""

    names: frozenset[str]
    skeletons: frozenset[str]


def handwritten(interface: Interface, where: Workspace, directory: Path, generated: Path, sink: Sink) -> Handwritten:
    """The definitions in `directory`, without those in the folder `generated`. Unreadable sources go to `sink`."""
    found = Sink()
    sources = scan(spec_interface(interface), where, directory, found)
    # A vendor that has written nothing yet is no fault here, and signatures are what `check-impl` is about.
    sink.extend(finding for finding in found.sorted() if finding.code == "vendor-unreadable")
    own = [
        each
        for each in sources.functions
        if each.function.span is not None and generated.resolve() not in Path(each.function.span.file).resolve().parents
    ]
    return Handwritten(frozenset(each.function.name for each in own), skeletons(own))
