"""Every form of the findings: whole outputs by hand."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from diopigen.diagnostics import Diagnostic, Failure, Note, Severity, Span
from diopigen.findings.render import SHOWN_IN_FILE, SHOWN_ON_LINE, RuleText, render, summary

SPEC = "- op:\n    naem: x\n\t日本\u00e9: z\n"

FOUND = (
    Diagnostic("zero-tests", Severity.NOTE, "wide", Span("specs/a.yaml", 3, 4, 3, 6)),
    Diagnostic(
        "unknown-key",
        Severity.ERROR,
        "unknown key 'naem'",
        Span("specs/a.yaml", 2, 5, 2, 9),
        (Note("the entry starts here", Span("specs/a.yaml", 1, 1)), Note("keys are lower-case")),
        "did you mean 'name'?",
    ),
    Diagnostic("no-vendor", Severity.WARNING, "no vendor, 100%\nof the defaults hold", fix="name one\nor more"),
)


def sources(file: str) -> str | None:
    return SPEC if file == "specs/a.yaml" else None


def text(*found: Diagnostic, source: str = SPEC, colour: bool = False) -> str:
    return render(found, "text", colour=colour, sources=lambda file: source)


def test_text() -> None:
    assert render(FOUND, "text", colour=False, sources=sources) == (
        "warning[no-vendor]: no vendor, 100%\n"
        "  of the defaults hold\n"
        "  fix: name one\n"
        "    or more\n"
        "specs/a.yaml:2:5: error[unknown-key]: unknown key 'naem'\n"
        "    2 |     naem: x\n"
        "      |     ^^^^\n"
        "  specs/a.yaml:1:1: note: the entry starts here\n"
        "      1 | - op:\n"
        "        | ^\n"
        "  note: keys are lower-case\n"
        "  fix: did you mean 'name'?\n"
        "specs/a.yaml:3:4: note[zero-tests]: wide\n"
        "    3 |     日本é: z\n"
        "      |         ^^\n"
        "1 error, 1 warning, 1 note\n"
    )


def test_text_in_colour() -> None:
    one = Diagnostic("r", Severity.ERROR, "m", Span("f", 1, 1), (), "do it")
    assert text(one, source="x", colour=True) == (
        "\x1b[1mf:1:1:\x1b[0m \x1b[1;31merror[r]:\x1b[0m m\n"
        "\x1b[34m    1\x1b[0m \x1b[34m|\x1b[0m x\n"
        "      \x1b[34m|\x1b[0m \x1b[1;31m^\x1b[0m\n"
        "  \x1b[32mfix:\x1b[0m do it\n"
        "\x1b[1m1 error\x1b[0m\n"
    )


def test_colour_changes_nothing_else() -> None:
    coloured = render(FOUND, "text", colour=True, sources=sources)
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == render(FOUND, "text", colour=False, sources=sources)


@pytest.mark.parametrize(
    ("source", "span", "shown", "underline"),
    [
        ("abc", Span("f", 1, 2, 1, 3), "abc", " ^"),
        ("abc", Span("f", 1, 2), "abc", " ^"),
        ("abc", Span("f", 1, 2, 1, 99), "abc", " ^^"),
        ("abc", Span("f", 1, 2, 1, 2), "abc", " ^"),
        ("abc", Span("f", 1, 4), "abc", "   ^"),
        ("abc", Span("f", 1, 99), "abc", "   ^"),
        ("abc\ndef", Span("f", 1, 2, 2, 2), "abc", " ^^"),
        ("abc\r\ndef", Span("f", 1, 2, 2, 2), "abc", " ^^"),
        ("\tb", Span("f", 1, 2), "    b", "    ^"),
        ("a\tb\tc", Span("f", 1, 3), "a   b   c", "    ^"),
        ("a\tb", Span("f", 1, 2), "a   b", " ^^^"),
        ("abcd\tb", Span("f", 1, 6), "abcd    b", "        ^"),
        ("日本語", Span("f", 1, 2), "日本語", "  ^^"),
        ("日本語", Span("f", 1, 1, 1, 3), "日本語", "^^^^"),
        ("日\tx", Span("f", 1, 3), "日  x", "    ^"),
        ("ｆu", Span("f", 1, 2), "ｆu", "  ^"),
        ("e\u0301x", Span("f", 1, 3), "e\u0301x", " ^"),
        ("e\u0301x", Span("f", 1, 2), "e\u0301x", " ^"),
        ("\U0001f600x", Span("f", 1, 2), "\U0001f600x", "  ^"),
        ("\ufeffx", Span("f", 1, 2), "\ufeffx", "^"),
        ("a\x1b[2Jb", Span("f", 1, 6), "a\ufffd[2Jb", "     ^"),
        ("a\u202eb", Span("f", 1, 3), "a\ufffdb", "  ^"),
        ("a\u2028b", Span("f", 1, 3), "a\u2028b", "  ^"),
        ("", Span("f", 1, 1), "", "^"),
    ],
)
def test_excerpt(source: str, span: Span, shown: str, underline: str) -> None:
    found = Diagnostic("r", Severity.ERROR, "m", span)
    bar = f"    1 | {shown}".rstrip()
    assert text(found, source=source) == f"{span}: error[r]: m\n{bar}\n      | {underline}\n1 error\n"


@pytest.mark.parametrize(
    ("span", "prefix"),
    [
        (Span("f", 9, 1), "f:9:1: "),
        (Span("f", 1, 0), "f:1:0: "),
        (Span("f", 0, 0), "f: "),
        (None, ""),
    ],
)
def test_no_excerpt_where_there_is_no_such_line(span: Span | None, prefix: str) -> None:
    assert text(Diagnostic("r", Severity.ERROR, "m", span), source="x\n") == f"{prefix}error[r]: m\n1 error\n"


def test_no_excerpt_without_the_source() -> None:
    found = Diagnostic("r", Severity.ERROR, "m", Span("f"))
    assert render([found], "text", colour=False, sources=lambda file: None) == "f:1:1: error[r]: m\n1 error\n"


def test_the_gutter_holds_large_numbers() -> None:
    found = Diagnostic("r", Severity.ERROR, "m", Span("f", 123456, 1))
    assert text(found, source="x\n" * 123456) == "f:123456:1: error[r]: m\n123456 | x\n       | ^\n1 error\n"


def test_messages_cannot_steer_the_terminal() -> None:
    found = Diagnostic("r", Severity.ERROR, "a\x1b[2Jb\rc", Span("f\x07", 9), (Note("\x9b1m"),), "\u202e")
    assert text(found) == ("f\ufffd:9:1: error[r]: a\ufffd[2Jb\ufffdc\n  note: \ufffd1m\n  fix: \ufffd\n1 error\n")


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((0, 0, 0), "no findings"),
        ((1, 0, 0), "1 error"),
        ((2, 1, 0), "2 errors, 1 warning"),
        ((0, 2, 2), "2 warnings, 2 notes"),
    ],
)
def test_summary(counts: tuple[int, int, int], expected: str) -> None:
    found = [
        Diagnostic("r", severity, str(index))
        for severity, count in zip(Severity, counts, strict=True)
        for index in range(count)
    ]
    assert summary(found) == expected
    assert render(found, "text", colour=False, sources=sources).endswith(f"{expected}\n")


def test_json() -> None:
    assert json.loads(render(FOUND, "json", colour=True, sources=sources)) == {
        "diagnostics": [
            {
                "code": "no-vendor",
                "severity": "warning",
                "message": "no vendor, 100%\nof the defaults hold",
                "span": None,
                "notes": [],
                "fix": "name one\nor more",
            },
            {
                "code": "unknown-key",
                "severity": "error",
                "message": "unknown key 'naem'",
                "span": {"file": "specs/a.yaml", "line": 2, "column": 5, "end_line": 2, "end_column": 9},
                "notes": [
                    {
                        "message": "the entry starts here",
                        "span": {"file": "specs/a.yaml", "line": 1, "column": 1, "end_line": 0, "end_column": 0},
                    },
                    {"message": "keys are lower-case", "span": None},
                ],
                "fix": "did you mean 'name'?",
            },
            {
                "code": "zero-tests",
                "severity": "note",
                "message": "wide",
                "span": {"file": "specs/a.yaml", "line": 3, "column": 4, "end_line": 3, "end_column": 6},
                "notes": [],
                "fix": None,
            },
        ],
        "errors": 1,
        "warnings": 1,
        "notes": 1,
    }


def test_github() -> None:
    assert render(FOUND, "github", colour=True, sources=sources) == (
        "::warning title=no-vendor::no vendor, 100%25%0Aof the defaults hold%0Afix: name one%0Aor more\n"
        "::error file=specs/a.yaml,line=2,col=5,title=unknown-key::unknown key 'naem'"
        "%0Aspecs/a.yaml:1:1: note: the entry starts here%0Anote: keys are lower-case%0Afix: did you mean 'name'?\n"
        "::notice file=specs/a.yaml,line=3,col=4,title=zero-tests::wide\n"
    )


def test_github_escapes() -> None:
    found = Diagnostic("r", Severity.ERROR, "a:b,c%\r\n::error::x", Span("d:1,2%\n", 1, 2))
    assert render([found], "github", colour=False, sources=sources) == (
        "::error file=d%3A1%2C2%25%0A,line=1,col=2,title=r::a:b,c%25%0D%0A::error::x\n"
    )


def test_junit() -> None:
    assert render(FOUND, "junit", colour=True, sources=sources) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<testsuites name="diopigen" tests="3" failures="1" errors="0" skipped="0">\n'
        '  <testsuite name="diopigen" tests="3" failures="1" errors="0" skipped="0">\n'
        '    <testcase classname="diopigen" name="no-vendor">\n'
        "      <system-out>diopigen: warning[no-vendor]: no vendor, 100%\nof the defaults hold\n"
        "fix: name one\nor more</system-out>\n"
        "    </testcase>\n"
        '    <testcase classname="specs/a.yaml" name="unknown-key at specs/a.yaml:2:5">\n'
        '      <failure type="unknown-key" message="unknown key \'naem\'">'
        "specs/a.yaml:2:5: error[unknown-key]: unknown key 'naem'\n"
        "specs/a.yaml:1:1: note: the entry starts here\n"
        "note: keys are lower-case\n"
        "fix: did you mean 'name'?</failure>\n"
        "    </testcase>\n"
        '    <testcase classname="specs/a.yaml" name="zero-tests at specs/a.yaml:3:4">\n'
        "      <system-out>specs/a.yaml:3:4: note[zero-tests]: wide</system-out>\n"
        "    </testcase>\n"
        "  </testsuite>\n"
        "</testsuites>\n"
    )


def test_junit_of_nothing_has_one_passed_case() -> None:
    (suite,) = ElementTree.fromstring(render([], "junit", colour=False, sources=sources))
    assert suite.attrib == {"name": "diopigen", "tests": "1", "failures": "0", "errors": "0", "skipped": "0"}
    assert [(case.get("name"), list(case)) for case in suite] == [("no findings", [])]


def test_sarif() -> None:
    known = {"no-vendor": RuleText("there is a vendor", "https://example.org/rules.html#no-vendor", "Name one.")}
    log = json.loads(render(FOUND, "sarif", colour=True, sources=sources, rules={**known, "zero-tests": RuleText("z")}))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"] == {
        "name": "diopigen",
        "rules": [
            {
                "id": "no-vendor",
                "shortDescription": {"text": "there is a vendor"},
                "helpUri": "https://example.org/rules.html#no-vendor",
                "help": {"text": "Name one."},
            },
            {"id": "unknown-key"},
            {"id": "zero-tests", "shortDescription": {"text": "z"}},
        ],
    }
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["results"] == [
        {
            "ruleId": "no-vendor",
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": "no vendor, 100%\nof the defaults hold\nfix: name one\nor more"},
        },
        {
            "ruleId": "unknown-key",
            "ruleIndex": 1,
            "level": "error",
            "message": {"text": "unknown key 'naem'\nnote: keys are lower-case\nfix: did you mean 'name'?"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "specs/a.yaml"},
                        "region": {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 9},
                    }
                }
            ],
            "relatedLocations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "specs/a.yaml"},
                        "region": {"startLine": 1, "startColumn": 1},
                    },
                    "message": {"text": "the entry starts here"},
                }
            ],
        },
        {
            "ruleId": "zero-tests",
            "ruleIndex": 2,
            "level": "note",
            "message": {"text": "wide"},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": "specs/a.yaml"},
                        "region": {"startLine": 3, "startColumn": 4, "endLine": 3, "endColumn": 6},
                    }
                }
            ],
        },
    ]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/ü#.yaml", "a%20b/%C3%BC%23.yaml"),
        ("x:y", "x%3Ay"),
        ("/tmp/a b", "file:///tmp/a%20b"),
        ("50%", "50%25"),
    ],
)
def test_sarif_uri(file: str, uri: str) -> None:
    found = Diagnostic("r", Severity.ERROR, "m", Span(file, 0))
    log = json.loads(render([found], "sarif", colour=False, sources=sources))
    location = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert location == {"artifactLocation": {"uri": uri}}


def test_unknown_format() -> None:
    with pytest.raises(Failure) as caught:
        render([], "yaml", colour=False, sources=sources)
    (found,) = caught.value.diagnostics
    assert (found.code, found.message, found.fix) == (
        "unknown-format",
        "there is no format 'yaml'",
        "use one of text, json, github, sarif, junit",
    )


def test_nothing_found() -> None:
    assert render([], "text", colour=False, sources=sources) == "no findings\n"
    assert render([], "github", colour=False, sources=sources) == ""
    assert json.loads(render([], "json", colour=False, sources=sources)) == {
        "diagnostics": [],
        "errors": 0,
        "warnings": 0,
        "notes": 0,
    }
    assert json.loads(render([], "sarif", colour=False, sources=sources))["runs"][0]["results"] == []


def test_a_long_line_is_cut_around_the_column() -> None:
    source = "".join(f"{number:05}" for number in range(1000))
    far = Diagnostic("r", Severity.ERROR, "m", Span("f", 1, 2501, 1, 2506))
    near = Diagnostic("r", Severity.ERROR, "m", Span("f", 1, 6, 1, 4000))
    last = Diagnostic("r", Severity.ERROR, "m", Span("f", 1, 4996, 1, 5001))
    cut = [
        ("..." + source[5 : 5 + 114] + "...", 0, 0),
        ("..." + source[2463:2577] + "...", 40, 5),
        ("..." + source[4883:5000], 115, 5),
    ]
    assert text(near, source=source) == (
        f"f:1:6: error[r]: m\n    1 | {source[:117]}...\n      |      {'^' * 115}\n1 error\n"
    )
    for found, (shown, left, width) in ((far, cut[1]), (last, cut[2])):
        carets = " " * left + "^" * width
        assert text(found, source=source).split("\n")[1:3] == [f"    1 | {shown}", f"      | {carets}"]
        assert found.span is not None
        assert shown[left : left + width] == source[found.span.column - 1 :][:5]


def test_what_one_line_repeats_is_counted() -> None:
    found = [Diagnostic("twice", Severity.WARNING, f"{n}", Span("f", 1, n + 10)) for n in range(SHOWN_ON_LINE + 3)]
    found += [Diagnostic("other", Severity.ERROR, "x", Span("f", 1, 11))]
    found += [Diagnostic("r", Severity.NOTE, "y", Span("f", 2))]
    assert render(found, "text").split("\n") == [
        "f:1:10: warning[twice]: 0",
        "f:1:11: error[other]: x",
        *(f"f:1:{n + 10}: warning[twice]: {n}" for n in range(1, SHOWN_ON_LINE)),
        "f:1: and 3 more [twice] on this line",
        "f:2:1: note[r]: y",
        f"1 error, {SHOWN_ON_LINE + 3} warnings, 1 note",
        "",
    ]
    assert len(json.loads(render(found, "json"))["diagnostics"]) == SHOWN_ON_LINE + 5


def test_what_one_file_repeats_is_counted() -> None:
    found = [Diagnostic("r", Severity.ERROR, "m", Span("f", line, 1)) for line in range(1, SHOWN_IN_FILE + 31)]
    found += [Diagnostic("r", Severity.ERROR, "m", Span("g", 1, 1))]
    lines = render(found, "text").split("\n")
    assert lines[SHOWN_IN_FILE - 1 :] == [
        f"f:{SHOWN_IN_FILE}:1: error[r]: m",
        "f: and 30 more [r] in this file; --format json lists all",
        "g:1:1: error[r]: m",
        "131 errors",
        "",
    ]
