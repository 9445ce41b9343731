"""Findings as text for people, and in the forms that CI systems and editors read. Pure: gives a string.

Every form is sorted by place and holds no time, so that the same findings always give the same bytes.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from diopigen.diagnostics import Diagnostic, Note, Severity, Span, failure
from diopigen.findings.excerpt import REPLACEMENT, SURROGATE, excerpt, printable

RULES = {"unknown-format": "A form of the findings that is named is one that diopigen knows."}

FORMATS = ("text", "json", "github", "sarif", "junit")
"""The forms that `render` knows."""


@dataclass(frozen=True)
class RuleText:
    """Purpose of a rule, the absolute address of the page that explains it, and an example; empty if unknown."""

    purpose: str
    uri: str = ""
    help: str = ""


Sources = Callable[[str], "str | None"]
"""Gives the text of a file that a span names, or None where it cannot be had."""

_Lines = Callable[[str], Sequence[str]]

SHOWN_ON_LINE = 10
"""So many findings of one rule are shown for one line of a file, as text."""
SHOWN_IN_FILE = 100
"""So many findings of one rule are shown for one file, as text."""
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

_BOLD = "1"
_COLOURS = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
_GUTTER_COLOUR = "34"
_FIX_COLOUR = "32"


def render(
    diagnostics: Iterable[Diagnostic],
    format: str,
    *,
    colour: bool = False,
    sources: Sources = lambda file: None,
    rules: Mapping[str, RuleText] | None = None,
) -> str:
    """The findings in one of `FORMATS`; ends with a newline, except that github says nothing about nothing.

    `colour` and `sources` (for excerpts) matter to text only, `rules` (what is known of a rule) to sarif only.
    Raises `Failure` (`unknown-format`).
    """
    if format not in FORMATS:
        raise failure("unknown-format", f"there is no format '{format}'", None, f"use one of {', '.join(FORMATS)}")
    found = sorted((_without_surrogates(d) for d in diagnostics), key=_order)
    if format == "text":
        return _text(found, _Painter(colour), sources)
    if format == "sarif":
        return _sarif(found, rules or {})
    return _PLAIN[format](found)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`, without what there is none of; `no findings` for none at all."""
    counts = _counts(list(diagnostics))
    parts = [f"{count} {name if count == 1 else name + 's'}" for name, count in counts.items() if count]
    return ", ".join(parts) or "no findings"


def _counts(found: Sequence[Diagnostic]) -> dict[str, int]:
    return {severity.value: sum(d.severity is severity for d in found) for severity in Severity}


def _order(diagnostic: Diagnostic) -> tuple[object, ...]:
    return (diagnostic.sort_key(), diagnostic.fix or "", repr(diagnostic.notes), repr(diagnostic.span))


def _without_surrogates(diagnostic: Diagnostic) -> Diagnostic:
    """Names of files may hold bytes that are no UTF-8 and that no output could be encoded with."""

    def clean(text: str) -> str:
        return SURROGATE.sub(REPLACEMENT, text)

    def clean_span(span: Span | None) -> Span | None:
        return replace(span, file=clean(span.file)) if span else None

    return replace(
        diagnostic,
        message=clean(diagnostic.message),
        span=clean_span(diagnostic.span),
        notes=tuple(Note(clean(note.message), clean_span(note.span)) for note in diagnostic.notes),
        fix=None if diagnostic.fix is None else clean(diagnostic.fix),
    )


# --- text


class _Painter:
    """Wraps text in terminal colours, or leaves it as it is."""

    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._on and text else text


def _text(found: Sequence[Diagnostic], paint: _Painter, sources: Sources) -> str:
    lines: list[str] = []
    shown, closings = _capped(found)
    lines_of = _lines_of(sources)
    for diagnostic, closing in zip(shown, closings, strict=True):
        label = paint(f"{diagnostic.severity}[{diagnostic.code}]:", _COLOURS[diagnostic.severity])
        lines += _headline(diagnostic.span, label, diagnostic.message, paint, lines_of, diagnostic.severity)
        for note in diagnostic.notes:
            label = paint("note:", _COLOURS[Severity.NOTE])
            inner = _headline(note.span, label, note.message, paint, lines_of, Severity.NOTE)
            lines += [f"  {line}" for line in inner]
        if diagnostic.fix is not None:
            first, *rest = printable(diagnostic.fix).split("\n")
            lines += [f"  {paint('fix:', _FIX_COLOUR)} {first}", *(f"    {line}" for line in rest)]
        lines += [f"{paint(printable(where), _BOLD)}: {text}" for where, text in closing]
    lines.append(paint(summary(found), _BOLD))
    return "\n".join(lines) + "\n"


def _capped(found: Sequence[Diagnostic]) -> tuple[list[Diagnostic], list[list[tuple[str, str]]]]:
    """The findings that are shown, and behind each the closing words (place, text) about those of its line or file
    that are not. `found` is sorted, so that the findings of a file, and in it of a line, are neighbours."""
    shown: list[Diagnostic] = []
    closings: list[list[tuple[str, str]]] = []
    for file, in_file in groupby(found, key=lambda d: d.span.file if d.span else None):
        by_rule, more_in_file = Counter[str](), Counter[str]()
        for line, in_line in groupby(in_file, key=lambda d: d.span.line if d.span else 0):
            on_line, more_on_line = Counter[str](), Counter[str]()
            for diagnostic in in_line:
                rule = diagnostic.code
                on_line[rule] += 1
                by_rule[rule] += 1
                if file is None or (on_line[rule] <= SHOWN_ON_LINE and by_rule[rule] <= SHOWN_IN_FILE):
                    shown.append(diagnostic)
                    closings.append([])
                elif by_rule[rule] > SHOWN_IN_FILE:
                    more_in_file[rule] += 1
                else:
                    more_on_line[rule] += 1
            if more_on_line:
                closings[-1] += [
                    (f"{file}:{line}", f"and {n} more [{rule}] on this line") for rule, n in more_on_line.items()
                ]
        if more_in_file:
            words = "; --format json lists all"
            closings[-1] += [
                (str(file), f"and {n} more [{rule}] in this file{words}") for rule, n in more_in_file.items()
            ]
    return shown, closings


def _lines_of(sources: Sources) -> _Lines:
    """The lines of a file, each file read and split once."""

    @cache
    def lines(file: str) -> Sequence[str]:
        text = sources(file)
        return () if text is None else text.split("\n")

    return lines


def _headline(
    span: Span | None, label: str, message: str, paint: _Painter, lines_of: _Lines, severity: Severity
) -> Iterator[str]:
    first, *rest = printable(message).split("\n")
    prefix = paint(f"{printable(_location(span))}:", _BOLD) + " " if span else ""
    yield f"{prefix}{label} {first}"
    yield from (f"  {line}" for line in rest)
    if span:
        yield from _excerpt(span, lines_of(span.file), paint, severity)


def _location(span: Span) -> str:
    return str(span) if span.line > 0 else span.file


def _excerpt(span: Span, lines: Sequence[str], paint: _Painter, severity: Severity) -> Iterator[str]:
    """The line that a span starts on, and below it carets under the span as far as the line goes."""
    found = excerpt(span, lines)
    if found is None:
        return
    number = f"{span.line:>5}"
    bar = paint("|", _GUTTER_COLOUR)
    yield f"{paint(number, _GUTTER_COLOUR)} {bar} {found.text}".rstrip()
    yield f"{' ' * len(number)} {bar} {' ' * found.left}{paint('^' * found.width, _COLOURS[severity])}"


# --- json


def _json(found: Sequence[Diagnostic]) -> str:
    document: dict[str, Any] = {
        "diagnostics": [
            {
                "code": d.code,
                "severity": d.severity.value,
                "message": d.message,
                "span": _json_span(d.span),
                "notes": [{"message": note.message, "span": _json_span(note.span)} for note in d.notes],
                "fix": d.fix,
            }
            for d in found
        ]
    }
    document.update({f"{name}s": count for name, count in _counts(found).items()})
    return json.dumps(document, indent=2) + "\n"


def _json_span(span: Span | None) -> dict[str, object] | None:
    if span is None:
        return None
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


# --- github


_GITHUB_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_GITHUB_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_GITHUB_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def _github(found: Sequence[Diagnostic]) -> str:
    """Workflow commands, one line each. Notes and fix follow in the message, since a command has no place for them."""
    lines = []
    for d in found:
        properties: list[tuple[str, object]] = []
        if d.span:
            properties.append(("file", d.span.file))
            if d.span.line > 0:
                properties += [("line", d.span.line), ("col", max(d.span.column, 1))]
        properties.append(("title", d.code))
        stated = ",".join(f"{name}={str(value).translate(_GITHUB_PROPERTY)}" for name, value in properties)
        message = _with_notes_and_fix(d).translate(_GITHUB_MESSAGE)
        lines.append(f"::{_GITHUB_COMMANDS[d.severity]} {stated}::{message}\n")
    return "".join(lines)


def _with_notes_and_fix(diagnostic: Diagnostic) -> str:
    notes = [
        f"{_location(note.span)}: note: {note.message}" if note.span else f"note: {note.message}"
        for note in diagnostic.notes
    ]
    fix = [] if diagnostic.fix is None else [f"fix: {diagnostic.fix}"]
    return "\n".join([diagnostic.message, *notes, *fix])


# --- sarif


def _sarif(found: Sequence[Diagnostic], known: Mapping[str, RuleText]) -> str:
    """SARIF 2.1.0, the form of OASIS that code scanners exchange. Columns count Unicode code points."""
    codes = sorted({d.code for d in found})
    rules = [_sarif_rule(code, known.get(code)) for code in codes]
    document = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "diopigen", "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(d, codes.index(d.code)) for d in found],
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _sarif_rule(code: str, text: RuleText | None) -> dict[str, object]:
    rule: dict[str, object] = {"id": code}
    if text is not None:
        rule["shortDescription"] = {"text": text.purpose}
        if text.uri:
            rule["helpUri"] = text.uri
        if text.help:
            rule["help"] = {"text": text.help}
    return rule


def _sarif_result(diagnostic: Diagnostic, rule: int) -> dict[str, object]:
    # SARIF's own `fixes` are edits to files; a fix in words has no other place than the message.
    fix = "" if diagnostic.fix is None else f"\nfix: {diagnostic.fix}"
    unplaced = "".join(f"\nnote: {note.message}" for note in diagnostic.notes if note.span is None)
    result: dict[str, object] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": diagnostic.severity.value,
        "message": {"text": f"{diagnostic.message}{unplaced}{fix}"},
    }
    if diagnostic.span:
        result["locations"] = [{"physicalLocation": _sarif_location(diagnostic.span)}]
    related = [
        {"physicalLocation": _sarif_location(note.span), "message": {"text": note.message}}
        for note in diagnostic.notes
        if note.span
    ]
    if related:
        result["relatedLocations"] = related
    return result


def _sarif_location(span: Span) -> dict[str, object]:
    uri = quote(span.file, safe="/")
    location: dict[str, object] = {"artifactLocation": {"uri": f"file://{uri}" if span.file.startswith("/") else uri}}
    if span.line > 0:
        region = {"startLine": span.line, "startColumn": max(span.column, 1)}
        if (span.end_line, span.end_column) > (span.line, region["startColumn"]):
            region.update(endLine=span.end_line, endColumn=max(span.end_column, 1))
        location["region"] = region
    return location


# --- junit


def _junit(found: Sequence[Diagnostic]) -> str:
    """JUnit XML: an error is a failed test case; JUnit knows no warnings, so those pass and say so as output."""
    cases = [_junit_case(d) for d in found] or ['    <testcase classname="diopigen" name="no findings"/>']
    failures = _counts(found)["error"]
    totals = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="0"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="diopigen" {totals}>',
            f'  <testsuite name="diopigen" {totals}>',
            *cases,
            "  </testsuite>",
            "</testsuites>",
            "",
        ]
    )


def _junit_case(d: Diagnostic) -> str:
    location = _location(d.span) if d.span else "diopigen"
    head = f"    <testcase classname={_attribute(d.span.file if d.span else 'diopigen')} "
    head += f"name={_attribute(f'{d.code} at {location}' if d.span else d.code)}>"
    body = _xml(f"{location}: {d.severity}[{d.code}]: {_with_notes_and_fix(d)}")
    if d.severity is Severity.ERROR:
        inner = f"      <failure type={_attribute(d.code)} message={_attribute(d.message)}>{body}</failure>"
    else:
        inner = f"      <system-out>{body}</system-out>"
    return f"{head}\n{inner}\n    </testcase>"


def _xml(text: str) -> str:
    # A bare carriage return in XML text is read back as a line feed.
    return escape(_NOT_XML.sub(REPLACEMENT, text), {"\r": "&#13;"})


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub(REPLACEMENT, text))


_PLAIN: dict[str, Callable[[Sequence[Diagnostic]], str]] = {"json": _json, "github": _github, "junit": _junit}
