"""Rules about pairs of entries: repeated, without effect, or too early."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from diopigen.config.entries import COMMON, Entry, Settings
from diopigen.config.levels import Levels, RuleMaker
from diopigen.config.model import FunctionRule
from diopigen.config.subject import Subject, cannot_convert
from diopigen.diagnostics import Correction, Note, Sink
from diopigen.header.rules import WARNING, Reporter, Rule, Rules
from diopigen.ir.model import Function

RULES: Rules = {
    "config-entry-twice": Rule(WARNING, "there is one entry for an operator, for a family, and for all"),
    "config-repeats-common": Rule(WARNING, "an entry changes what outer levels say already"),
    "config-before-common": Rule(WARNING, "common_config comes before the entries that inherit from it"),
}


def check(
    subject: Subject, levels: Levels, sound: Collection[int], outermost: Mapping[str, Settings], sink: Sink
) -> None:
    """Applies the rules of this family. `sound` are the positions of the entries in which all names are known,
    `outermost` is what holds for functions without any entry."""
    report = Reporter(RULES, sink)
    first: dict[tuple[str, str], Entry] = {}
    common = subject.config.at_level("common")
    seen_common = not common
    for position, entry in enumerate(subject.config.entries):
        seen_common = seen_common or entry.level == "common"
        earlier = first.setdefault((entry.level, entry.name.text), entry)
        if earlier is not entry:
            _twice(earlier, entry, report)
        if not seen_common and entry.level == "operator" and _inherits(entry, common):
            message = f"{entry.label} comes before {COMMON}"
            notes = [
                Note("this holds for it here, but other readers apply it only to what follows", common[0].name.span)
            ]
            report("config-before-common", message, entry.name.span, notes=notes, fix=f"move it behind {COMMON}")
        if entry.sound and position in sound:
            _repeats(entry, subject, levels, outermost, report)


def _twice(earlier: Entry, entry: Entry, report: Reporter) -> None:
    notes = [Note("first here", earlier.name.span)]
    later = {key.text for key in entry.keys}
    for key in earlier.keys:
        if key.text in later:
            notes.append(Note(f"'{key}' here is overruled by the later entry", key.span))
        else:
            notes.append(Note(f"'{key}' here still holds, but other readers lose it", key.span))
    report(
        "config-entry-twice",
        f"{entry.label} is configured twice",
        entry.name.span,
        notes=notes,
        fix="put both into one entry",
    )


def _inherits(entry: Entry, common: tuple[Entry, ...]) -> bool:
    """Returns whether `common_config` says something that an entry leaves open."""
    said = {key.text for key in entry.keys}
    return any(key.text not in said for other in common for key in other.keys)


def _repeats(
    entry: Entry, subject: Subject, levels: Levels, outermost: Mapping[str, Settings], report: Reporter
) -> None:
    if entry.settings.is_empty or entry.level == "common":
        return
    own = subject.function_of(entry)
    functions = (own,) if own else subject.families.get(entry.name.text, ()) if entry.level == "family" else ()
    functions = tuple(function for function in functions if not cannot_convert(function))
    if not functions or any(_changes(entry, function, subject, levels, outermost) for function in functions):
        return
    said = {key.text for key in entry.keys}
    around = [other for other in subject.config.entries if _is_outer(other, own)]
    outer = [other for other in around if any(key.text in said for key in other.keys)]
    labels = dict.fromkeys(other.label for other in outer)
    if any(function.name in outermost for function in functions):
        labels["the chip's file"] = None
    message = f"{entry.label} only repeats {' and '.join(labels)}" if labels else f"{entry.label} changes nothing"
    notes = [Note("said here", other.name.span) for other in outer]
    fix = Correction.of("remove the entry", f"- {entry.name}:", "", is_certain=entry.level == "operator")
    report("config-repeats-common", message, entry.name.span, notes=notes, fix=fix)


def _is_outer(other: Entry, own: Function | None) -> bool:
    """Returns whether an entry is around one about the function `own`, or around a family where that is None."""
    return other.level == "common" or (own is not None and other.level == "family" and other.name.text == own.family)


def _changes(
    entry: Entry, function: Function, subject: Subject, levels: Levels, outermost: Mapping[str, Settings]
) -> bool:
    outer = levels.outer(function) if entry.level == "operator" else (levels.common,)
    outer = (*outer, outermost[function.name]) if function.name in outermost else outer
    make = RuleMaker(subject.dtypes).function_rule
    return _what_it_does(make(function, (entry.settings, *outer))) != _what_it_does(make(function, outer))


def _what_it_does(rule: FunctionRule) -> object:
    """A rule without places and without the order of casts, which has no meaning."""
    return [
        (
            frozenset((cast.source, cast.target) for cast in tensor.casts),
            replace(tensor, casts=(), layouts_span=None, common_spans=(), contiguous_span=None),
        )
        for tensor in rule.tensors
    ]
