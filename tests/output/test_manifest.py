"""The manifest says the same everywhere, and no damage to it ends in a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_helpers import file_sets, lines_of, plan_of

from diopigen.diagnostics import Failure, Sink
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.output.apply import apply
from diopigen.output.manifest import JOURNAL_NAME, Entry, manifest_bytes, parse_manifest

EMPTY_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
ABC_HASH = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_exact_form() -> None:
    plan = Plan((PlannedFile("ü.h", b"abc", ("t/b.j2", "s/a.yaml", "t/b.j2")), PlannedFile("a/x.h", b"")))
    expected = (
        "{\n"
        '  "format": 1,\n'
        '  "files": [\n'
        f'    {{"path": "a/x.h", "sha256": "{EMPTY_HASH}", "inputs": []}},\n'
        f'    {{"path": "ü.h", "sha256": "{ABC_HASH}", "inputs": ["s/a.yaml", "t/b.j2"]}}\n'
        "  ]\n"
        "}\n"
    )
    assert manifest_bytes(plan).decode() == expected
    assert manifest_bytes(Plan()).decode() == '{\n  "format": 1,\n  "files": []\n}\n'


@given(file_sets())
def test_read_back(files: dict[str, bytes]) -> None:
    entries = parse_manifest(manifest_bytes(plan_of(files)), "M", "gen")
    assert [entry.path for entry in entries] == sorted(files)


def test_read_back_entries() -> None:
    plan = Plan((PlannedFile("a", b"abc", ("s", "t")),))
    assert parse_manifest(manifest_bytes(plan), "M", "gen") == (Entry("a", ABC_HASH, ("s", "t")),)


RESTORE = "restore it from version control, or delete it and run 'gen --force'"


def entry(**changes: object) -> str:
    raw: dict[str, object] = {"path": "a", "sha256": EMPTY_HASH, "inputs": []}
    raw.update(changes)
    return json.dumps({"format": 1, "files": [raw]})


@pytest.mark.parametrize(
    ("text", "expected", "fix"),
    [
        ("", "M:1:1 manifest-damaged 'M' is damaged: Expecting value", RESTORE),
        ('{\n "format": 1,', "M:2:14 manifest-damaged 'M' is damaged: Expecting property name", RESTORE),
        ("[" * 100_000, "M:1:1 manifest-damaged 'M' is damaged: it is not JSON of a reasonable size", RESTORE),
        ("9" * 10_000, "M:1:1 manifest-damaged 'M' is damaged: it is not JSON of a reasonable size", RESTORE),
        (
            '{\n<<<<<<< ours\n"format": 1\n=======\n',
            "M:2:1 manifest-damaged 'M' is damaged: it has the markers of a merge conflict",
            RESTORE,
        ),
        (
            "[]",
            "M:1:1 manifest-foreign 'M' is not a manifest of diopigen",
            "choose another output folder, or move that file away",
        ),
        (
            '{"name": "app"}',
            "M:1:1 manifest-foreign 'M' is not a manifest of diopigen",
            "choose another output folder, or move that file away",
        ),
        (
            '{"format": 2, "files": []}',
            "M:1:1 manifest-format 'M' has format 2, this diopigen reads format 1",
            "use the diopigen that wrote it, or delete it and run 'gen --force'",
        ),
        (
            '{"format": true, "files": []}',
            "M:1:1 manifest-format 'M' has format true, this diopigen reads format 1",
            "use the diopigen that wrote it, or delete it and run 'gen --force'",
        ),
        ('{"format": 1, "files": {}}', "M:1:1 manifest-damaged 'M' is damaged: 'files' is not a list", RESTORE),
        (
            '{"format": 1, "files": [1]}',
            "M:1:1 manifest-damaged 'M' is damaged: entry 1 of 'files' is not an object",
            RESTORE,
        ),
        (entry(path=3), "M:1:1 manifest-damaged 'M' is damaged: an entry of 'files' has no path", RESTORE),
        (entry(sha256="X"), "M:1:1 manifest-damaged 'M' is damaged: the entry of 'a' has no SHA-256 hash", RESTORE),
        (entry(sha256=None), "M:1:1 manifest-damaged 'M' is damaged: the entry of 'a' has no SHA-256 hash", RESTORE),
        (entry(inputs=[1]), "M:1:1 manifest-damaged 'M' is damaged: the entry of 'a' has no list of inputs", RESTORE),
        (
            entry(path="../../etc/passwd"),
            "M:1:1 manifest-damaged 'M' is damaged: "
            "the path \"../../etc/passwd\" cannot be one of ours: it has the part '..'",
            RESTORE,
        ),
        (
            entry(path="MANIFEST.json"),
            "M:1:1 manifest-damaged 'M' is damaged: "
            "the path \"MANIFEST.json\" cannot be one of ours: 'MANIFEST.json' is reserved",
            RESTORE,
        ),
        (
            json.dumps({"format": 1, "files": [{"path": "a", "sha256": EMPTY_HASH, "inputs": []}] * 2}),
            "M:1:1 manifest-damaged 'M' is damaged: it lists 'a' twice",
            RESTORE,
        ),
    ],
)
def test_damage(text: str, expected: str, fix: str) -> None:
    with pytest.raises(Failure) as caught:
        parse_manifest(text.encode(), "M", "gen")
    (found,) = caught.value.diagnostics
    # The wording after the known start is the JSON reader's own and differs between versions of Python.
    assert f"{found.span} {found.code} {found.message}".startswith(expected)
    assert found.fix == fix


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(Failure) as caught:
        parse_manifest(b'{"\xff', "M", "gen")
    assert caught.value.diagnostics[0].message == "'M' is damaged: byte 2 is not UTF-8"


@given(st.data())
def test_truncated_or_changed_anywhere(data: st.DataObject) -> None:
    """Any prefix, and any one byte changed: entries come back or a finding, nothing else."""
    full = manifest_bytes(plan_of({"a/b": b"1", "c": b"2"}))
    cut = data.draw(st.integers(0, len(full)))
    byte = data.draw(st.binary(max_size=2))
    tail = data.draw(st.booleans())
    content = full[:cut] + byte + (full[cut + 1 :] if tail else b"")
    try:
        parse_manifest(content, "M", "gen")
    except Failure as problem:
        assert problem.diagnostics[0].code.startswith("manifest-")


def test_every_proper_prefix_is_rejected() -> None:
    full = manifest_bytes(plan_of({"a/b": b"1"}))
    for cut in range(len(full) - 1):
        with pytest.raises(Failure):
            parse_manifest(full[:cut], "M", "gen")


def test_apply_refuses_and_force_goes_on(tmp_path: Path) -> None:
    plan = plan_of({"a": b"new"})
    apply(plan_of({"a": b"old"}), tmp_path, Sink())
    (tmp_path / "MANIFEST.json").write_text("{")
    sink = Sink()
    assert apply(plan, tmp_path, sink).written == ()
    assert (tmp_path / "a").read_bytes() == b"old"
    (found,) = sink.sorted()
    assert (found.code, str(found.severity), str(found.span)) == (
        "manifest-damaged",
        "error",
        f"{tmp_path.as_posix()}/MANIFEST.json:1:2",
    )
    sink = Sink()
    assert apply(plan, tmp_path, sink, force=True).written == ("MANIFEST.json", "a")
    (found,) = sink.sorted()
    assert (found.code, str(found.severity)) == ("manifest-damaged", "warning")
    assert apply(plan, tmp_path, Sink()).written == ()


def test_a_manifest_cannot_have_a_file_outside_deleted(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "victim").write_bytes(b"")
    (root / "MANIFEST.json").write_text(entry(path="../victim"))
    sink = Sink()
    apply(Plan(), root, sink)
    assert [d.code for d in sink.sorted()] == ["manifest-damaged"]
    assert (tmp_path / "victim").exists()


def test_damaged_journal(tmp_path: Path) -> None:
    (tmp_path / JOURNAL_NAME).write_text('{"format": 1, "files": [{"path": "a", "sha256": "no list"}]}')
    sink = Sink()
    apply(plan_of({"a": b"1"}), tmp_path, sink, command="gen")
    assert lines_of(sink, tmp_path) == [
        f"R/{JOURNAL_NAME}:1:1: error[manifest-damaged]: 'R/{JOURNAL_NAME}' is damaged: "
        "the entry of 'a' has no list of SHA-256 hashes | fix: delete it and run 'gen' again"
    ]
    assert apply(plan_of({"a": b"1"}), tmp_path, Sink(), force=True).written == ("MANIFEST.json", "a")
    assert not (tmp_path / JOURNAL_NAME).exists()
