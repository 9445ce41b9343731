"""Readers of every form of the findings, which give back what went in."""

from __future__ import annotations

import json
import re
import unicodedata
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from random import Random
from typing import Any
from urllib.parse import unquote

import jsonschema
from hypothesis import example, given
from hypothesis import strategies as st

from diopigen.diagnostics import Diagnostic, Note, Severity, Span
from diopigen.findings.render import FORMATS, render, summary


def sources(file: str) -> str | None:
    """No source is known: the forms that are read back show none."""
    return None


def _closed(required: Sequence[str], **properties: object) -> dict[str, object]:
    return {"type": "object", "required": list(required), "properties": properties, "additionalProperties": False}


_MESSAGE = _closed(["text"], text={"type": "string"})
_POSITIVE = {"type": "integer", "minimum": 1}
_LOCATION = _closed(
    [],
    physicalLocation=_closed(
        ["artifactLocation"],
        artifactLocation=_closed([], uri={"type": "string", "pattern": r"^[A-Za-z0-9._~/%:-]*$"}),
        region=_closed(
            ["startLine"], startLine=_POSITIVE, startColumn=_POSITIVE, endLine=_POSITIVE, endColumn=_POSITIVE
        ),
    ),
    message=_MESSAGE,
)
# What SARIF 2.1.0 asks of the objects that we write, from the text of the standard (3.13, 3.14, 3.18 to 3.20,
# 3.27 to 3.30, 3.49). Closed: a property that is not listed would have to be looked up there first.
SARIF = _closed(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": _closed(
            ["tool"],
            tool=_closed(
                ["driver"],
                driver=_closed(
                    ["name"],
                    name={"type": "string"},
                    rules={
                        "type": "array",
                        "uniqueItems": True,
                        "items": _closed(["id"], id={"type": "string"}, shortDescription=_MESSAGE),
                    },
                ),
            ),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results={
                "type": "array",
                "items": _closed(
                    ["message"],
                    ruleId={"type": "string"},
                    ruleIndex={"type": "integer", "minimum": -1},
                    level={"enum": ["none", "note", "warning", "error"]},
                    message=_MESSAGE,
                    locations={"type": "array", "items": _LOCATION},
                    relatedLocations={"type": "array", "items": _LOCATION},
                ),
            },
        ),
    },
)

texts = st.text(max_size=12) | st.sampled_from(
    ["", "a\r\nb", "]]>", "&<>'\"", "\ud800", "\x00\x1b", "%0A", "a:b,c", "日本"]
)
spans = st.none() | st.builds(Span, texts, st.integers(0, 5), st.integers(0, 9), st.integers(0, 5), st.integers(0, 9))
notes = st.lists(st.builds(Note, texts, spans), max_size=2).map(tuple)
codes = st.sampled_from(["rule-a", "rule-b", "rule-c"])
diagnostics = st.builds(Diagnostic, codes, st.sampled_from(list(Severity)), texts, spans, notes, st.none() | texts)
some = st.lists(diagnostics, max_size=4)


@given(some, st.randoms(use_true_random=False), texts)
def test_order_does_not_matter_and_any_output_can_be_encoded(
    found: list[Diagnostic], random: Random, source: str
) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)
    for form in FORMATS:
        one = render(found, form, colour=False, sources=lambda file: source)
        assert one == render(shuffled, form, colour=False, sources=lambda file: source)
        one.encode("utf-8")
        assert one.endswith("\n") or (form == "github" and not found)


def clean(value: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", value)


@given(some)
def test_json_gives_back_what_went_in(found: list[Diagnostic]) -> None:
    document = json.loads(render(found, "json", colour=False, sources=sources))

    def span(raw: dict[str, Any] | None) -> Span | None:
        return Span(**raw) if raw else None

    back = [
        (
            d["code"],
            d["severity"],
            d["message"],
            span(d["span"]),
            d["fix"],
            [(n["message"], span(n["span"])) for n in d["notes"]],
        )
        for d in document["diagnostics"]
    ]

    def plain(span: Span | None) -> Span | None:
        return Span(clean(span.file), span.line, span.column, span.end_line, span.end_column) if span else None

    expected = [
        (
            d.code,
            d.severity.value,
            clean(d.message),
            plain(d.span),
            None if d.fix is None else clean(d.fix),
            [(clean(n.message), plain(n.span)) for n in d.notes],
        )
        for d in found
    ]
    assert sorted(back, key=repr) == sorted(expected, key=repr)
    for severity in Severity:
        assert document[f"{severity.value}s"] == sum(d.severity is severity for d in found)


def github_reader(line: str) -> tuple[str, dict[str, str], str]:
    """Splits a workflow command as the runner does: properties at commas, escapes undone last, `%25` last of all."""
    match = re.fullmatch(r"::(\w+) ([^\n]*?)::([^\n]*)", line)
    assert match

    def undo(value: str, escapes: dict[str, str]) -> str:
        return re.sub("|".join(escapes), lambda found: escapes[found[0]], value)

    message_escapes = {"%25": "%", "%0D": "\r", "%0A": "\n"}
    escapes = {**message_escapes, "%3A": ":", "%2C": ","}
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    return (
        match[1],
        {name: undo(value, escapes) for name, value in properties.items()},
        undo(match[3], message_escapes),
    )


@given(diagnostics)
@example(Diagnostic("r", Severity.ERROR, "%250A", Span("a=b,c::d%3A", 1, 1)))
def test_github_gives_back_what_went_in(found: Diagnostic) -> None:
    output = render([found], "github", colour=False, sources=sources)
    assert output.count("\n") == 1 and output.endswith("\n") and "\r" not in output
    command, properties, message = github_reader(output[:-1])
    assert command == {"error": "error", "warning": "warning", "note": "notice"}[found.severity.value]
    assert message.startswith(clean(found.message))
    assert found.fix is None or message.endswith(f"\nfix: {clean(found.fix)}")
    assert properties["title"] == found.code
    assert properties.get("file") == (clean(found.span.file) if found.span else None)
    if found.span and found.span.line > 0:
        assert properties["line"] == str(found.span.line)


@given(some)
def test_junit_is_xml_and_gives_back_what_went_in(found: list[Diagnostic]) -> None:
    root = ElementTree.fromstring(render(found, "junit", colour=False, sources=sources).encode())
    (suite,) = root
    cases = list(suite)
    assert suite.get("tests") == str(len(cases)) == str(max(1, len(found)))
    failures = [case[0] for case in cases if len(case) and case[0].tag == "failure"]
    assert suite.get("failures") == str(len(failures))

    def xml_clean(value: str) -> str:
        return "".join("\ufffd" if unicodedata.category(c) == "Cs" or not xml_character(c) else c for c in value)

    errors = [d for d in found if d.severity is Severity.ERROR]
    assert sorted((f.get("type"), f.get("message")) for f in failures) == sorted(
        (d.code, xml_clean(d.message)) for d in errors
    )
    for failure in failures:
        assert (failure.get("message") or "") in (failure.text or "")


def xml_character(character: str) -> bool:
    """The production Char of XML 1.0."""
    point = ord(character)
    return point in (9, 10, 13) or 0x20 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000


@given(some)
def test_sarif_is_valid_and_points_where_the_findings_do(found: list[Diagnostic]) -> None:
    log = json.loads(render(found, "sarif", colour=False, sources=sources))
    jsonschema.validate(log, SARIF)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted({d.code for d in found})
    assert len(run["results"]) == len(found)
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        for location in result.get("locations", []) + result.get("relatedLocations", []):
            region = location["physicalLocation"].get("region", {})
            if "endLine" in region:
                start = region["startLine"], region["startColumn"]
                assert start < (region["endLine"], region["endColumn"])
    uris = [
        r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in run["results"] if "locations" in r
    ]
    files = [unquote(uri.removeprefix("file://")) for uri in uris]
    assert sorted(files) == sorted(clean(d.span.file) for d in found if d.span)


@given(some, texts)
def test_text_has_no_control_characters_and_one_summary(found: list[Diagnostic], source: str) -> None:
    output = render(found, "text", colour=False, sources=lambda file: source)
    assert all(c == "\n" or unicodedata.category(c) not in ("Cc", "Cs") or c == "\t" for c in output)
    assert output.split("\n")[-2] == summary(found)
