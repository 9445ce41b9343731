"""Whatever is in a configuration: findings with places, never an exception; and what is sound means the same."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from config_helpers import VENDOR_FUNCTIONS, VENDORS, casts, run, tensor_rule, vendor_text
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from diopigen import api
from diopigen.diagnostics import Severity, Sink
from diopigen.findings.render import render
from diopigen.ir.model import Interface

ROOT = Path(__file__).resolve().parents[2]
relaxed = settings(deadline=None, suppress_health_check=list(HealthCheck))

YAML_PIECES = ["- ", ": ", "\n", "\n    ", "#", "'", '"', "[", "]", "{", "}", "|\n", ">\n", "&a ", "*a", "!t ", "\t"]
TEXT_PIECES = ["(", ")", ",", "->", "-", ">", "=>", ";", ":", " ", "  "]
WIDE_PIECES = [*"（），：－＞、→＃＂é𝄞", "\u3000", "\x85", "\u2028", "\ufeff", "\x00", "\r", "\ud800"]
SCALARS = ["true", "yes", "No", "~", "1", "1:30", ".inf", "none"]
WORDS = ["common_config", "family", "name", "norm", "diopiAdd", "diopiCopyInp", "dtype", "tensor_dtype", "layout"]
WORDS += ["contiguous", "supportComposite", "int64", "int32", "float64", "ND", "NCHW", "NHWC", "input", "out", "zz"]
PIECES = st.sampled_from([*YAML_PIECES, *TEXT_PIECES, *WIDE_PIECES, *SCALARS, *WORDS])
BREAKS = re.compile("\r\n|\r|\n")


@cache
def the_interface() -> Interface:
    """The whole interface; no fixture, since hypothesis would print it with every failing example."""
    return api.load(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), Sink(), check=False).interface


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A vendor's file, or a part of it, with a few pieces put in, taken out or doubled."""
    text = vendor_text(draw(st.sampled_from(VENDORS)))
    lines = text.split("\n")
    start = draw(st.integers(0, max(len(lines) - 12, 0)))
    text = "\n".join(lines[start : start + 12])
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(text)))
        end = min(len(text), at + draw(st.integers(0, 6)))
        middle = draw(st.one_of(PIECES, st.just(""), st.just(text[at:end] * 2)))
        text = text[:at] + middle + text[end:]
    return text


def findings_of(text: str) -> Sink:
    """A run over a text; every finding has a place in it."""
    resolved, sink = run(text, the_interface(), implemented=frozenset(VENDOR_FUNCTIONS["camb"]))
    lines = BREAKS.split(text)
    for finding in sink.sorted():
        assert finding.span is not None
        # libyaml sees one line more where a file ends in the middle of something.
        assert 1 <= finding.span.line <= len(lines) + finding.code.startswith("yaml-"), finding
        assert finding.span.column >= 1
        if finding.code.startswith("config-") and finding.span.line == finding.span.end_line:
            assert finding.span.end_column <= len(lines[finding.span.line - 1]) + 1, finding
        assert finding.fix
    assert resolved is not None or sink.has_errors
    render(sink.sorted(), "text", sources=lambda _: text)
    return sink


@relaxed
@given(text=mutated())
def test_a_mutated_file_never_raises(text: str) -> None:
    findings_of(text)


@relaxed
@given(pieces=st.lists(PIECES, max_size=25))
def test_any_sequence_of_pieces_never_raises(pieces: list[str]) -> None:
    findings_of("".join(pieces))


@relaxed
@given(value=st.lists(PIECES, max_size=12).map("".join), key=st.sampled_from(["dtype", "layout", "contiguous"]))
@example(value="(((", key="dtype")
@example(value=")->)->", key="dtype")
@example(value="NCHW(NCHW(NCHW", key="layout")
def test_any_text_as_a_value_never_raises(value: str, key: str) -> None:
    findings_of(f"- diopiAdd:\n    {key}: {json.dumps(value)}\n")


DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


@cache
def spellings() -> list[tuple[str, str, str, str]]:
    """Ways to write parenthesis, comma and arrow."""
    return [("(", ")", ", ", "->"), ("（", "）", "，", "－＞"), ("( ", " )", " ,", " -> "), ("(", "）", "、", "→")]


@relaxed
@given(
    mapping=st.dictionaries(st.sampled_from(DTYPES[:5]), st.sampled_from(DTYPES[5:]), min_size=1),
    spelling=st.sampled_from(spellings()),
    quoted=st.booleans(),
)
def test_what_is_written_is_what_is_read(
    mapping: dict[str, str], spelling: tuple[str, str, str, str], quoted: bool
) -> None:
    left, right, comma, arrow = spelling
    by_target: dict[str, list[str]] = {}
    for source, target in mapping.items():
        by_target.setdefault(target, []).append(source)
    parts = [f"{left}{comma.join(sources)}{right}{arrow}{target}" for target, sources in by_target.items()]
    value: Any = comma.join(parts)
    text = f"- common_config:\n    dtype: {json.dumps(value, ensure_ascii=False) if quoted else value}\n"
    resolved, sink = run(text, the_interface())
    assert resolved is not None
    assert sink.count(Severity.ERROR) == sink.count(Severity.WARNING) == 0
    rule = tensor_rule(resolved, "diopiAdd", "input")
    assert casts(rule) == mapping
    for cast in rule.casts:
        row = text.split("\n")[cast.span.line - 1]
        assert row[cast.span.column - 1 : cast.span.end_column - 1] == cast.source


@pytest.mark.parametrize("depth", [40, 10_000])
def test_depth_is_bounded(depth: int) -> None:
    assert [finding.code for finding in findings_of("[" * depth).sorted()] == ["yaml-too-deep"]


def test_a_large_file_is_read_in_good_time() -> None:
    names = [function.name for function in the_interface().functions if function.family != "runtime"]
    entry = "- {name}:\n    dtype: (int63)->int32, (float64)->float32\n    layout: NHWC, NHCW, iput(ND)\n"
    sink = findings_of("".join(entry.format(name=name) for name in names))
    assert sink.count(Severity.ERROR) > 2 * len(names)
