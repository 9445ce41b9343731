"""Drafts: entries that say that something is open."""

from __future__ import annotations

import re

from diopigen.check import directions, documentation, types
from diopigen.check.rule import OPEN, Subject
from diopigen.diagnostics import Correction, Sink

RULES = {
    "draft-done": "An entry is called a draft only while a direction, dtype or shape is open or its text names nothing."
}


_FUNCTION = re.compile(r"(?:the documentation of )?(\w+)")
"""The function that a finding is about."""
_REMOVE = Correction.of("remove 'draft'", "draft: true", "")


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    drafts = tuple(function for function in subject.functions if function.draft)
    if not drafts:
        return
    found = Sink()
    for family in (directions, documentation, types):
        family.check(subject, found)
    messages = (finding.message for finding in found.sorted() if finding.code in OPEN)
    waiting = {match[1] for message in messages if (match := _FUNCTION.match(message)) is not None}
    for function in drafts:
        if function.name not in waiting:
            message = f"{function.name} is called a draft, but nothing in it is open"
            sink.warning("draft-done", message, function.at("draft"), fix=_REMOVE)
