"""Functions that are in the spec under another name than in the interface as it was generated last."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink

RULES = {"operator-renamed": "A function has the name under which it was generated last, unless it is renamed."}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for old, new in subject.renames.items():
        message = f"{new} has the signature of {old}, which was generated last and is no longer in the spec"
        fix = f"if {old} was renamed: rename what refers to it, or keep it too, marked deprecated"
        sink.note("operator-renamed", message, subject.by_name[new].span, fix=fix)
