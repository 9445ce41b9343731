"""Rules about names: whatever a configuration names exists."""

from __future__ import annotations

from collections.abc import Iterable

from diopigen.config.entries import COMMON, FAMILY, Entry, Word
from diopigen.config.grammar import TENSOR_DTYPE, convertible
from diopigen.config.model import LAYOUTS
from diopigen.config.subject import Subject
from diopigen.diagnostics import Correction, Severity, Sink, did_you_mean
from diopigen.header.rules import ERROR, WARNING, Reporter, Rule, Rules
from diopigen.ir.model import Function

RULES: Rules = {
    "config-unknown-operator": Rule(ERROR, "an entry is about a function of the interface that vendors implement"),
    "config-unknown-family": Rule(ERROR, "a family's entry is about a family of the interface"),
    "config-unknown-parameter": Rule(ERROR, "a parameter that is named is one of the operator"),
    "config-not-a-tensor": Rule(ERROR, "a parameter that is named is a tensor"),
    "config-unknown-dtype": Rule(ERROR, "a dtype that is named is one of the interface"),
    "config-unknown-layout": Rule(ERROR, "a layout that is named is one of the grammar"),
    "config-parameter-outside-operator": Rule(WARNING, "parameters are named below an operator, which has them"),
}


_OTHER_NAMES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "char": "int8",
    "byte": "uint8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "tf32": "tfloat32",
}
"""Names that dtypes have elsewhere."""


def check(subject: Subject, sink: Sink) -> frozenset[int]:
    """Applies the rules of this family; gives the positions of the entries in which all names are known."""
    report = Reporter(RULES, sink)
    sound: set[int] = set()
    for position, entry in enumerate(subject.config.entries):
        errors = sink.count(Severity.ERROR)
        _owner(entry, subject, report)
        _params(entry, subject, report)
        for setting in entry.dtype_settings:
            for cast in setting.casts:
                _word(cast.source, "dtype", subject.dtypes, report)
                _word(cast.target, "dtype", subject.dtypes, report)
        for layouts in entry.layout_lists:
            for layout in layouts:
                _word(layout, "layout", LAYOUTS, report)
        if sink.count(Severity.ERROR) == errors:
            sound.add(position)
    return frozenset(sound)


def _word(word: Word, what: str, known: Iterable[str], report: Reporter) -> None:
    if word.text in known:
        return
    other = _OTHER_NAMES.get(word.text.lower()) if what == "dtype" else None
    fix = (
        Correction.of(f"write '{other}'", word.text, other)
        if other
        else did_you_mean(word.text, known) or f"{what}s: {', '.join(known)}"
    )
    report(f"config-unknown-{what}", f"unknown {what} '{word}'", word.span, fix=fix)


def _owner(entry: Entry, subject: Subject, report: Reporter) -> None:
    name = entry.name
    if entry.level == "family" and name.text not in subject.families:
        fix = did_you_mean(name.text, subject.families) or f"families: {', '.join(subject.families)}"
        report("config-unknown-family", f"unknown family '{name}'", name.span, fix=fix)
    elif entry.level == "operator" and name.text not in subject.operators:
        host = subject.interface.function(name.text) is not None
        message = f"'{name}' is a function of the host's runtime" if host else f"unknown operator '{name}'"
        fix = "remove the entry; vendors do not implement it" if host else _nearest_operator(name.text, subject)
        report("config-unknown-operator", message, name.span, fix=fix)


def _nearest_operator(name: str, subject: Subject) -> str:
    new = subject.renamed.get(name)
    if new is not None:
        return Correction.of(f"it was renamed to '{new}'", name, new)
    return (
        did_you_mean(name, (*subject.operators, COMMON, FAMILY)) or "`diopigen explain` takes the names that there are"
    )


def _params(entry: Entry, subject: Subject, report: Reporter) -> None:
    if entry.level != "operator":
        for word in entry.named_params:
            message = f"{entry.label} names the parameter '{word}', which has no effect there"
            fix = "move it below the operators that have the parameter"
            report("config-parameter-outside-operator", message, word.span, fix=fix)
        if not entry.named_params:
            for key in entry.keys:
                if key.text == TENSOR_DTYPE:
                    message = f"'{TENSOR_DTYPE}' has no effect in {entry.label}"
                    fix = "move it below the operators that have the parameters"
                    report("config-parameter-outside-operator", message, key.span, fix=fix)
        return
    function = subject.function_of(entry)
    if function is not None:
        for word in entry.named_params:
            _param(word, function, report)


def _param(word: Word, function: Function, report: Reporter) -> None:
    tensors = convertible(function)
    if word.text in tensors:
        return
    named = f"its tensors: {', '.join(tensors)}" if tensors else "it has no tensors"
    if function.param(word.text) is not None:
        report("config-not-a-tensor", f"'{word}' of {function.name} is no tensor", word.span, fix=named)
        return
    fix = did_you_mean(word.text, tensors) or named
    report("config-unknown-parameter", f"{function.name} has no parameter '{word}'", word.span, fix=fix)
