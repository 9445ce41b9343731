"""Rules about what one setting says: conversions and layouts that contradict each other, or say nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diopigen.config.entries import DtypeSetting, Entry, Word, WrittenCast
from diopigen.config.subject import Subject
from diopigen.contract.dtypes import LARGEST, real_of
from diopigen.diagnostics import Correction, Note, Sink, Span
from diopigen.header.compare import count
from diopigen.header.rules import ERROR, NOTE, WARNING, Reporter, Rule, Rules
from diopigen.ir.c_types import DtypeInfo
from diopigen.ir.load import known_dtypes

RULES: Rules = {
    "config-two-targets": Rule(ERROR, "a dtype is converted to one other"),
    "config-cast-cycle": Rule(ERROR, "conversions do not lead back to the dtype that they began with"),
    "config-cast-chain": Rule(ERROR, "what a conversion gives needs no further conversion"),
    "config-identity-cast": Rule(WARNING, "a conversion leads to another dtype"),
    "config-cast-twice": Rule(WARNING, "a conversion is given once in a list"),
    "config-narrowing": Rule(NOTE, "a conversion can hold the values that it converts"),
    "config-layout-twice": Rule(WARNING, "a layout is given once in a list"),
    "config-layout-with-any": Rule(WARNING, "ND, which allows every layout, is the only one"),
}

_SHOWN = 8
"""So many dtypes of a circle are named."""


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    report = Reporter(RULES, sink)
    for entry in subject.config.entries:
        for setting in entry.dtype_settings:
            _casts(setting, report)
        for layouts in entry.layout_lists:
            _layouts(layouts, report)
    _narrowing(subject, report)


def _casts(setting: DtypeSetting, report: Reporter) -> None:
    first: dict[str, WrittenCast] = {}
    for cast in setting.casts:
        source, target = cast.source, cast.target
        if source.text == target.text:
            message = f"'{source}' is converted to itself"
            report("config-identity-cast", message, source.span, fix="remove it from the list")
            continue
        earlier = first.setdefault(source.text, cast)
        if earlier is cast:
            continue
        notes = [Note("first here", earlier.source.span)]
        if earlier.target.text == target.text:
            message = f"'{source}' is converted to '{target}' already"
            report("config-cast-twice", message, source.span, notes=notes, fix="remove one of the two")
        else:
            message = f"'{source}' is converted to '{target}', but to '{earlier.target}' before"
            report("config-two-targets", message, source.span, notes=notes, fix="keep one of the two")
    _chains(first, report)


def _chains(casts: dict[str, WrittenCast], report: Reporter) -> None:
    """Each cycle once, at its first conversion; each conversion that leads into another, where it is in no cycle."""
    in_cycle: set[str] = set()
    for cycle in _cycles(casts):
        in_cycle.update(cycle)
        shown = cycle if len(cycle) <= _SHOWN else [*cycle[: _SHOWN - 1], "..."]
        message = f"conversions in a circle: {' -> '.join([*shown, cycle[0]])}"
        fix = "remove one; each is done once, not in turn"
        report("config-cast-cycle", message, casts[cycle[0]].source.span, fix=fix)
    for name, cast in casts.items():
        onward = casts.get(cast.target.text)
        if name in in_cycle or onward is None:
            continue
        message = f"'{name}' is converted to '{cast.target}', which is itself converted to '{onward.target}'"
        fix = f"write ({name})->{onward.target}, or remove one of the two"
        report("config-cast-chain", message, cast.target.span, notes=[Note("here", onward.source.span)], fix=fix)


def _cycles(casts: dict[str, WrittenCast]) -> Iterator[list[str]]:
    """The cycles, each from its first name in the order of `casts`. Every name is visited once."""
    order = {name: position for position, name in enumerate(casts)}
    walk_of: dict[str, str] = {}
    for begin in casts:
        name = begin
        while name in casts and name not in walk_of:
            walk_of[name] = begin
            name = casts[name].target.text
        if walk_of.get(name) == begin:
            cycle = [name]
            while (following := casts[cycle[-1]].target.text) != name:
                cycle.append(following)
            first = cycle.index(min(cycle, key=order.__getitem__))
            yield cycle[first:] + cycle[:first]


def _layouts(layouts: Sequence[Word], report: Reporter) -> None:
    first: dict[str, Word] = {}
    for layout in layouts:
        earlier = first.setdefault(layout.text, layout)
        if earlier is not layout:
            notes = [Note("first here", earlier.span)]
            report(
                "config-layout-twice",
                f"'{layout}' is given twice",
                layout.span,
                notes=notes,
                fix=Correction.of("remove it", layout.text, ""),
            )
    if "ND" in first and len(first) > 1:
        message = "ND allows every layout, so that the others have no effect"
        report("config-layout-with-any", message, first["ND"].span, fix="remove ND, or the others")


@dataclass(slots=True)
class _Seen:
    """A conversion that loses something: where it first stands, and how often."""

    span: Span
    times: int = 0


def _narrowing(subject: Subject, report: Reporter) -> None:
    """One note for each pair of dtypes, however often it is in the file."""
    seen: dict[tuple[str, str], _Seen] = {}
    for cast in _all_casts(subject.config.entries):
        pair = (cast.source.text, cast.target.text)
        seen.setdefault(pair, _Seen(cast.source.span)).times += 1
    for (source, target), found in seen.items():
        have, expected = subject.dtypes.get(source), subject.dtypes.get(target)
        loss = loses(have, expected) if have and expected else None
        if loss is None:
            continue
        elsewhere = f", here and in {count(found.times - 1, 'more place')}" if found.times > 1 else ""
        fix = "nothing, where values are small; DIOPI_CHECK_OVERFLOW=1 at run time finds those that do not fit"
        report("config-narrowing", f"'{source}' to '{target}' {loss}{elsewhere}", found.span, fix=fix)


def _all_casts(entries: Sequence[Entry]) -> Iterator[WrittenCast]:
    for entry in entries:
        for setting in entry.dtype_settings:
            yield from setting.casts


def loses(source: DtypeInfo, target: DtypeInfo) -> str | None:
    """Describes information that a conversion can lose in addition to precision, or None if every value stays in
    range."""
    if source.name == target.name or source.kind == "bool":
        return None
    if target.kind == "bool":
        return "keeps only whether a value is zero"
    if source.kind == "complex" and target.kind != "complex":
        return "loses the imaginary part"
    source_real, target_real = real_of(source.name), real_of(target.name)
    if source_real in LARGEST and target_real not in LARGEST:
        return "loses range, and what comes after the point"
    low, high = _range(source, source_real)
    target_low, target_high = _range(target, target_real)
    return "loses range" if low < target_low or high > target_high else None


def _range(dtype: DtypeInfo, real: str) -> tuple[int, int]:
    """Bounds of the finite values, as integers that compare rightly with each other."""
    if real in LARGEST:
        # With the digits of float16: dtypes with the same exponent differ by their last digit, which is no range.
        largest = ((1 << 11) - 1) << (2 ** (known_dtypes()[real].exponent - 1) - 11)
        return -largest, largest
    bits = 8 * dtype.bytes
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if dtype.kind == "signed" else (0, (1 << bits) - 1)
