"""Rules about the configuration and what the vendor implements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from diopigen.config.entries import Entry
from diopigen.config.model import FunctionRule
from diopigen.config.subject import HELPERS, Subject, cannot_convert
from diopigen.diagnostics import Sink, Span
from diopigen.header.rules import NOTE, WARNING, Reporter, Rule, Rules
from diopigen.ir.model import Function

RULES: Rules = {
    "config-not-implemented": Rule(WARNING, "an entry is about an operator that the vendor implements"),
    "config-not-convertible": Rule(WARNING, "a rule is about an operator whose tensors can be converted"),
    "config-missing-helper": Rule(WARNING, "the vendor implements the operators that conversions need"),
}

_SUBSTITUTE = "diopiCopyInp"
"""The helper that shims turn to where one of the others is missing."""


def check(subject: Subject, rules: dict[str, FunctionRule], sink: Sink) -> None:
    """Applies the rules of this family. `rules` is what holds for each function."""
    report = Reporter(RULES, sink)
    for entry in subject.config.entries:
        function = subject.function_of(entry)
        if function is not None:
            _entry(entry, function, subject, report)
    _helpers(subject, rules, report)


def _entry(entry: Entry, function: Function, subject: Subject, report: Reporter) -> None:
    if function.name not in subject.implemented:
        if entry.settings.is_empty:
            return
        message = f"{subject.vendor} does not implement {function.name}"
        report("config-not-implemented", message, entry.name.span, fix="remove the entry, or implement the operator")
        return
    reason = cannot_convert(function)
    if reason and not entry.settings.is_empty:
        message = f"{function.name} cannot be converted: {reason}"
        report("config-not-convertible", message, entry.name.span, fix="remove the entry")


def _helpers(subject: Subject, rules: dict[str, FunctionRule], report: Reporter) -> None:
    """One finding for each helper that is missing, at the first place that needs it."""
    needs: dict[str, Span] = {}
    for rule in rules.values():
        if rule.function not in subject.implemented:
            continue
        for tensor in rule.tensors:
            if tensor.casts:
                _need(needs, "diopiCastDtype", tensor.casts[0].span)
            for demanded, span in ((tensor.layouts, tensor.layouts_span), (tensor.contiguous, tensor.contiguous_span)):
                if demanded and span is not None:
                    _need(needs, "diopiContiguous", span)
                    _need(needs, "diopiCopyInp", span)
    for helper, span in needs.items():
        if helper in subject.implemented:
            continue
        message = f"{subject.vendor} does not implement {helper}, by which {HELPERS[helper]}"
        # What the chip's file says is there.
        location = replace(span, file=subject.config.file) if span.file == PurePath(subject.config.file).name else span
        if _SUBSTITUTE in subject.implemented:
            message += f"; {_SUBSTITUTE} does that here, but other tools need it"
            report("config-missing-helper", message, location, fix="nothing, or implement it", severity=NOTE)
        else:
            report("config-missing-helper", message, location, fix=f"implement {helper}")


def _need(needs: dict[str, Span], helper: str, span: Span) -> None:
    if helper not in needs or span < needs[helper]:
        needs[helper] = span
