"""Dtypes: each has an enum value of its own."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.diagnostics import Note, Sink, Span, did_you_mean

RULES = {"dtype-enum": "The enum value of a dtype is one of diopiDtype_t, and of no other dtype."}

_ENUM = "diopiDtype_t"


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    values = [name for name, enum in subject.enum_values.items() if enum == _ENUM]
    first: dict[str, tuple[str, Span]] = {}
    for info in subject.interface.dtypes:
        if info.enum not in values:
            fix = did_you_mean(info.enum, values) or f"name a value of {_ENUM}, or add it to the enum"
            message = f"dtype {info.name}: '{info.enum}' is no value of {_ENUM}"
            sink.error("dtype-enum", message, info.enum_span, fix=fix)
        elif info.enum in first and info.name != first[info.enum][0]:  # a name that is twice is another rule's
            notes = [Note("first given here", first[info.enum][1])]
            message = f"dtype {info.name}: '{info.enum}' is the value of {first[info.enum][0]}"
            sink.error("dtype-enum", message, info.enum_span, notes=notes, fix="give each dtype a value of its own")
        first.setdefault(info.enum, (info.name, info.enum_span))
