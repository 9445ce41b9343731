"""diopi.json with each of its values left out or of another kind: a finding in the words of the file, no exception."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.header.breaking import breaking_changes
from diopigen.header.json_reader import read_interface_json
from diopigen.header.signature import c_interface
from diopigen.ir.load import load_interface

ROOT = Path(__file__).resolve().parents[2]
MINIATURE = ROOT / "tests/data/miniature"
OTHERS: tuple[Any, ...] = (None, True, -1, 2.5, 10**400, "", "no name", "\ud800", [], [None], {}, {"name": 3})
UNREAD = {"version", "dtypes", "dtype_sets", "device_functions", "doc", "includes", "operator", "variant", "family"}
"""Keys that comparing two interfaces does not need."""


def small(document: dict[str, Any]) -> dict[str, Any]:
    """The document with one or two of everything, so that every key is damaged once."""
    enum, struct = document["enums"][0], document["structs"][0]
    functions = document["headers"][-1]["functions"]
    return {
        **{key: value for key, value in document.items() if key not in UNREAD},
        "enums": [{**enum, "values": dict(list(enum["values"].items())[:2])}],
        "structs": [{**struct, "fields": struct["fields"][:1]}],
        "handles": document["handles"][:1],
        "headers": [{"file": "f.h", "functions": [{**functions[0], "params": functions[0]["params"][:2]}]}],
        "macros": {"DIOPI_VER_MAJOR": "1"},
    }


def ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a document."""
    yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from ways(one, (*way, key))


def damaged(document: Any) -> Iterator[tuple[str, Any]]:
    """Every document with one value taken away or replaced, with words for what was done."""
    for way in ways(document):
        for other in ("taken away", *OTHERS):
            created = copy.deepcopy({"": document})
            inner: Any = created
            steps: tuple[Any, ...] = ("", *way)
            for key in steps[:-1]:
                inner = inner[key]
            if other != "taken away":
                inner[steps[-1]] = other
            elif way:
                del inner[steps[-1]]
            yield f"{way}: {other!r:.20}", created[""]


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    interface = load_interface(MINIATURE, Sink()).interface
    plan = api.plan(interface, api.Workspace(MINIATURE, ROOT / "templates", "specs"), Sink(), ["json"])
    document: dict[str, Any] = json.loads(next(iter(plan.values())))
    return document


def test_every_damage_is_said_in_terms_of_the_file(whole: dict[str, Any], tmp_path: Path) -> None:
    new = c_interface(load_interface(MINIATURE, Sink()).interface)
    path = tmp_path / "old.json"
    rejected = 0
    for what, document in damaged(small(whole)):
        path.write_text(json.dumps(document))
        sink = Sink()
        old = read_interface_json(path, sink)
        found = sink.sorted()
        assert (old is None) == bool(found), what
        rejected += old is None
        if old is not None:
            breaking_changes(old, new, Sink())
        for finding in found:
            assert finding.code == "interface-unreadable" and finding.fix, what
            for word in ("TypeError", "NoneType", "dict", "subscript", "object has no attribute"):
                assert word not in finding.message, (what, finding.message)
    assert rejected > 300


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes"),
        (b"\xff", "is not UTF-8"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"format": ' + b"9" * 5000 + b"}", "is not JSON: too long a number"),
        (b'{"format": 1, "format": 1}', "is damaged: an object has 'format' twice"),
        (b"[]", "is no diopi.json of a known format (found None)"),
        (b'{"format": true}', "is no diopi.json of a known format (found True)"),
        (b'{"format": 1}', "is damaged: the document has no 'headers'"),
        (b'{"format": 1, "headers": 7}', "is damaged: headers is a number, not a list"),
        (
            b'{"format": 1, "headers": [{"file": "f.h", "functions": [{"name": 3, "linkage": "weak"}]}]}',
            "is damaged: headers[0].functions[0].name is a number, not a text",
        ),
        (
            b'{"format": 1, "headers": [{"file": "f.h", "functions": [{"name": "f", "linkage": "soft"}]}]}',
            "is damaged: headers[0].functions[0].linkage is 'soft', not 'weak' or 'strong'",
        ),
    ],
)
def test_the_message_says_where_and_what(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "old.json").write_bytes(content)
    sink = Sink()
    assert read_interface_json(tmp_path / "old.json", sink) is None
    assert [finding.message for finding in sink.sorted()] == [message]


def test_the_whole_document_is_read_as_it_was_written(interface: Any) -> None:
    sink = Sink()
    read = read_interface_json(ROOT / "generated/diopi.json", sink)
    assert sink.sorted() == [] and read == c_interface(interface)
