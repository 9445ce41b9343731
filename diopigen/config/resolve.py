"""A configuration judged by every rule, and resolved to a table for every function of the interface."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import PurePath

from diopigen.config import conversions, names, repeats, vendor
from diopigen.config.entries import ConfigFile
from diopigen.config.grammar import convertible
from diopigen.config.levels import function_rule, levels
from diopigen.config.model import FunctionRule, ResolvedConfig, TensorRule
from diopigen.config.subject import Subject
from diopigen.diagnostics import Sink, Span
from diopigen.ir.model import Interface


def resolve(
    config: ConfigFile,
    interface: Interface,
    vendor_name: str,
    implemented: Collection[str],
    sink: Sink,
    *,
    composites: Collection[str] | None = None,
) -> ResolvedConfig:
    """The table of a vendor that implements the functions `implemented`; all findings go to `sink`.

    `composites` are the functions with a composite implementation, where that is known. What is in error in the
    file is left out of the table. Places in the table name the file without its folder, so that what is generated
    from it is the same on every machine.
    """
    subject = Subject(config, interface, vendor_name, implemented, composites)
    said = levels(subject)
    rules = {
        function.name: function_rule(function, said.of(function), subject.dtypes)
        for function in subject.operators.values()
        if convertible(function)
    }
    names.check(subject, sink)
    conversions.check(subject, sink)
    repeats.check(subject, said, sink)
    vendor.check(subject, rules, sink)
    file = PurePath(config.file).name
    functions = tuple(_placed(rule, file) for rule in rules.values())
    return ResolvedConfig(vendor_name, file, functions, subject.implemented)


def _placed(rule: FunctionRule, file: str) -> FunctionRule:
    tensors = tuple(_placed_tensor(tensor, file) for tensor in rule.tensors)
    return replace(rule, tensors=tensors, composite_span=_in_file(rule.composite_span, file))


def _placed_tensor(rule: TensorRule, file: str) -> TensorRule:
    return replace(
        rule,
        casts=tuple(replace(cast, span=replace(cast.span, file=file)) for cast in rule.casts),
        layouts_span=_in_file(rule.layouts_span, file),
        contiguous_span=_in_file(rule.contiguous_span, file),
    )


def _in_file(span: Span | None, file: str) -> Span | None:
    return replace(span, file=file) if span else None
