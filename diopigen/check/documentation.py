"""Documentation: every entry has one, in the form that headers and pages need."""

from __future__ import annotations

import re

from diopigen.check.rule import Subject, open_entry
from diopigen.diagnostics import Correction, Sink, Span
from diopigen.ir.model import Function

RULES = {
    "doc-form": "A documentation text is one line that ends in a full stop.",
    "doc-reference": "A function that a documentation text names exists.",
}

_FUNCTION = re.compile(r"\bdiopi[A-Z][A-Za-z0-9_]*")


def function_names(text: str) -> list[str]:
    """The functions of DIOPI that a text names."""
    return _FUNCTION.findall(text)


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    interface = subject.interface
    known = {*subject.by_name, *subject.named_types, *subject.enum_values, *(s.name for s in interface.structs)}
    seen: set[Span] = set()
    for function in subject.functions:
        texts = [(function.name, function.doc, function.at("doc"))]
        texts += [(f"{function.name}: '{param.name}'", param.doc, param.at("doc")) for param in function.params]
        texts += [(f"{function.name}: {item.id}", item.text, item.span) for item in function.constraints]
        clauses = {item.span for item in function.constraints}
        for owner, text, span in texts:
            if span in seen:
                continue
            seen.add(span)
            _check_references(function, owner, text, span, subject, known, sink)
            if span not in clauses:
                _check_form(owner, text, span, sink)


def _check_form(owner: str, text: str, span: Span, sink: Sink) -> None:
    problem = ""
    fix = "write one sentence"
    if not text.strip():
        problem = "is empty"
    elif "\n" in text.strip():
        problem = "has several lines"
    elif not text.rstrip().endswith("."):
        problem = "does not end in a full stop"
        fix = Correction.of(fix, text.rstrip(), f"{text.rstrip()}.", is_certain=text.rstrip()[-1].isalnum())
    if problem:
        sink.error("doc-form", f"the documentation of {owner} {problem}", span, fix=fix)


def _check_references(
    function: Function, owner: str, text: str, span: Span, subject: Subject, known: set[str], sink: Sink
) -> None:
    if not subject.complete:
        return
    for match in _FUNCTION.finditer(text):
        if match.group() not in known:
            message = f"the documentation of {owner} names {match.group()}, which does not exist"
            fix = subject.suggestion(match.group(), known) or "name a function of the interface"
            open_entry(function, sink, "doc-reference", message, span, fix)
