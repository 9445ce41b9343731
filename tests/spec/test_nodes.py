"""YAML as nodes: values, places, and what is refused; nothing that a file can hold raises more than `Failure`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples
from spec_helpers import plain

from diopigen.diagnostics import Failure, Sink, Span
from diopigen.spec.nodes import MappingNode, ScalarNode, SequenceNode
from diopigen.spec.text_file import read_text
from diopigen.spec.yaml_reader import load_yaml, parse_yaml

VALUES: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "~": None,
    "": None,
    "12": 12,
    "-3": -3,
    "+4": 4,
    "0x1F": 31,
    "1e-5": 1e-5,
    "1.5": 1.5,
    "3.": 3.0,
    ".5": 0.5,
    ".inf": float("inf"),
    "-.Inf": float("-inf"),
    "word": "word",
    "1.0.0": "1.0.0",
    "1a": "1a",
    "'true'": "true",
    '"12"': "12",
    "'it''s'": "it's",
    "nope": "nope",
    "offer": "offer",
}

AMBIGUOUS = "yes Yes NO on Off True FALSE Null 1:30 1:30:00.5 010 -07 0o17 0b101 1_000 1_0.5 0x_f -0x1F 2024-01-31 ="


def read(text: str) -> tuple[Any, list[str]]:
    sink = Sink()
    node = parse_yaml(text, "f.yaml", sink)
    return node, [f"{found.span} {found.code}" for found in sink.sorted()]


@pytest.mark.parametrize("text", VALUES)
def test_a_scalar_has_this_value(text: str) -> None:
    node, found = read(f"key: {text}\n")
    assert found == []
    value = plain(node)["key"]
    assert value == VALUES[text]
    assert type(value) is type(VALUES[text])


@pytest.mark.parametrize("text", AMBIGUOUS.split())
def test_what_yaml_1_1_reads_otherwise_is_rejected(text: str) -> None:
    assert read(f"key: {text}\n") == (None, ["f.yaml:1:6 yaml-ambiguous"])
    assert read(f"key: '{text}'\n")[1] == []


plain_words = st.text("0123456789+-._:eExXobnaiftyslurNTFOYZ~=", min_size=1, max_size=9) | st.from_regex(
    r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]{1,2})?", fullmatch=True
)


@settings(max_examples=examples(500), deadline=None)
@given(plain_words)
def test_what_is_accepted_means_the_same_to_a_yaml_1_1_reader(text: str) -> None:
    """Numbers with an exponent are the one exception: the older reader takes most of them for text."""
    node, _ = read(f"key: {text}\n")
    if not isinstance(node, MappingNode) or not isinstance(node.get("key"), ScalarNode):
        return
    value = plain(node)["key"]
    if isinstance(value, float) and "e" in text.lower():
        return
    other = yaml.safe_load(f"key: {text}\n")["key"]
    assert (value, type(value)) == (other, type(other)) or value != value


def test_every_node_knows_its_position() -> None:
    node, found = read("# comment\na:\n  - {b: 'text', c: [1, 22]}\n  - |\n    lines\n    more\nd: plain text\n")
    assert found == []
    assert isinstance(node, MappingNode)
    assert node.key_span("d") == Span("f.yaml", 7, 1, 7, 2)
    assert node.key_span("missing") == node.span
    plain_text = node.get("d")
    assert isinstance(plain_text, ScalarNode)
    assert plain_text.span == Span("f.yaml", 7, 4, 7, 14)
    assert plain_text.inner(6, 4) == Span("f.yaml", 7, 10, 7, 14)
    items = node.get("a")
    assert isinstance(items, SequenceNode)
    first, block = items
    assert isinstance(first, MappingNode)
    assert first.span == Span("f.yaml", 3, 5, 3, 28)
    quoted = first.get("b")
    assert isinstance(quoted, ScalarNode)
    assert quoted.span == Span("f.yaml", 3, 9, 3, 15)
    assert quoted.inner(1, 2) == Span("f.yaml", 3, 11, 3, 13)
    assert isinstance(block, ScalarNode)
    assert block.value == "lines\nmore\n"
    assert block.inner(3) == block.span  # several lines: the whole of it


def test_a_position_inside_quotes_with_escapes_is_the_whole_text() -> None:
    node, _ = read("a: 'it''s here'\n")
    text = node.get("a")
    assert text.inner(5, 4) == text.span


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_byte_order_mark_and_line_ends_change_nothing(tmp_path: Path, mark: str, newline: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(newline.join([f"{mark}a: 1", "b: two words", ""]).encode())
    sink = Sink()
    node = load_yaml(path, "f.yaml", sink)
    assert sink.sorted() == []
    assert isinstance(node, MappingNode)
    assert plain(node) == {"a": 1, "b": "two words"}
    assert node.key_span("a") == Span("f.yaml", 1, 1, 1, 2)
    value = node.get("b")
    assert value is not None and value.span == Span("f.yaml", 2, 4, 2, 13)


NESTED = {
    "lists": ("[" * 100_000 + "]" * 100_000, ["f.yaml:1:33 yaml-too-deep"]),
    "open lists": ("[" * 100_000, ["f.yaml:1:33 yaml-too-deep"]),
    "mappings": ("{a: " * 100_000, ["f.yaml:1:129 yaml-too-deep"]),
    "block lists": ("- " * 100_000, ["f.yaml:1:65 yaml-too-deep"]),
    "closed": ("]" * 100_000, ["f.yaml:1:1 yaml-syntax"]),
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_ends_at_the_limit(name: str) -> None:
    text, expected = NESTED[name]
    assert read(text) == (None, expected)


def test_the_limit_itself_is_read() -> None:
    assert read("[" * 32 + "]" * 32)[1] == []


ALIASES = {
    "a: &x 1\nb: *x\n": ["f.yaml:1:4 yaml-alias", "f.yaml:2:4 yaml-alias"],
    "a: &x [*x]\n": ["f.yaml:1:4 yaml-alias", "f.yaml:1:8 yaml-alias"],
    "&x a: &x {*x : *x}\n": [
        "f.yaml:1:1 yaml-alias",
        "f.yaml:1:7 yaml-alias",
        "f.yaml:1:11 yaml-alias",
        "f.yaml:1:16 yaml-alias",
    ],
    "*absent\n": ["f.yaml:1:1 yaml-alias"],
    "<<: *x\n": ["f.yaml:1:5 yaml-alias"],
}


@pytest.mark.parametrize("text", ALIASES)
def test_anchors_and_aliases_are_rejected_where_they_stand(text: str) -> None:
    assert read(text) == (None, ALIASES[text])


UNREADABLE: dict[str, tuple[bytes, str]] = {
    "null byte": (b"a: \0\n", "f.yaml:1:1 file-not-text"),
    "binary": (bytes(range(256)) * 20, "f.yaml:1:1 file-not-text"),
    "latin-1": ("a: 1\nb: ü\n".encode("latin-1"), "f.yaml:2:1 file-not-utf8"),
    "utf-16": ("a: 1\n".encode("utf-16"), "f.yaml:1:1 file-not-text"),
    "surrogate": (b"a: \xed\xa0\x80\n", "f.yaml:1:1 file-not-utf8"),
    "one long line": (b"a: " + b"x" * 10_000_000, "f.yaml:1:1 file-too-large"),
    "a longish line": (b"a: 1\nb: " + b"x" * 20_000, "f.yaml:2:1 line-too-long"),
    "empty": (b"", "f.yaml:1:1 yaml-empty"),
    "only a mark": (b"\xef\xbb\xbf", "f.yaml:1:1 yaml-empty"),
    "control": ("ü: \x07\n".encode(), "f.yaml:1:4 yaml-syntax"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_is_no_yaml_is_one_finding(tmp_path: Path, name: str) -> None:
    content, expected = UNREADABLE[name]
    path = tmp_path / "f.yaml"
    path.write_bytes(content)
    sink = Sink()
    assert load_yaml(path, "f.yaml", sink) is None
    assert [f"{found.span} {found.code}" for found in sink.sorted()] == [expected]


def test_the_longest_line_is_read(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text("a: " + "x" * 19_997 + "\n")
    assert read_text(path, "f.yaml") == path.read_text()


def test_a_folder_a_missing_file_and_a_locked_file_are_failures(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="is a directory, not a file"):
        read_text(tmp_path, "f.yaml")
    with pytest.raises(Failure, match="does not exist"):
        read_text(tmp_path / "none.yaml", "f.yaml")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    with pytest.raises(Failure, match="is a link that leads in a circle"):
        read_text(tmp_path / "loop.yaml", "f.yaml")


@pytest.mark.skipif(os.name != "posix", reason="named pipes are of POSIX")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(Failure, match="is not a regular file"):
        read_text(tmp_path / "pipe.yaml", "f.yaml")


PIECES = (
    """a|b: |- |  |[|]|{|}|, |: |? |&x |*x |!t |!!str |>-|'|"|---|...|%YAML 1.1|<<: |1|yes|\t|é|\u2028|\x85|\ufeff|#c"""
)
yaml_like = st.lists(st.sampled_from([*PIECES.split("|"), "\n", "|\n"]), max_size=30).map("".join)


@settings(max_examples=examples(400), deadline=None)
@given(st.text(st.characters()) | yaml_like)
def test_any_text_gives_a_node_or_findings(text: str) -> None:
    sink = Sink()
    node = parse_yaml(text, "f.yaml", sink)
    assert (node is None) == bool(len(sink))
    lines = len(text) + 2
    for found in sink.sorted():
        assert found.span is not None and found.fix
        assert 1 <= found.span.line <= lines
        assert found.span.column >= 1


@settings(max_examples=examples(200), deadline=None)
@given(content=st.binary(max_size=200))
def test_any_bytes_give_a_node_or_findings(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content)
    sink = Sink()
    assert (load_yaml(path, "any.yaml", sink) is None) == bool(len(sink))
