"""Comparing without writing: the findings word for word, the list, and a diff that git can apply."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from hypothesis import given
from output_helpers import file_sets, files_of, lines_of, on_disk, plan_of, times, tree

from diopigen.diagnostics import Sink
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.output.apply import Result, apply
from diopigen.output.check import check, diff, dry_run, listing

M = "MANIFEST.json"


def prepare(root: Path) -> Plan:
    """A tree in which every kind of difference is once."""
    old = {"edited": b"1", "fine": b"1", "gone": b"1", "lost": b"1", "own": b"1", "stale": b"1"}
    apply(plan_of(old), root, Sink())
    (root / "edited").write_bytes(b"typed by hand")
    (root / "foreign").write_bytes(b"not ours")
    (root / "lost").unlink()
    (root / "own").write_bytes(b"typed by hand")
    return Plan(
        (
            PlannedFile("edited", b"1", ("specs/ops/norm.yaml",)),
            PlannedFile("fine", b"1"),
            PlannedFile("foreign", b"1"),
            PlannedFile("lost", b"1"),
            PlannedFile("stale", b"2"),
        )
    )


def test_every_finding_word_for_word(tmp_path: Path) -> None:
    plan = prepare(tmp_path)
    before = tree(tmp_path), times(tmp_path)
    sink = Sink()
    check(plan, tmp_path, sink, command="gen")
    assert lines_of(sink, tmp_path) == [
        "R/edited:1:1: error[generated-file-edited]: 'R/edited' was edited by hand "
        "| note: it is generated from specs/ops/norm.yaml "
        "| fix: make the change where the file comes from and run 'gen', or throw the edit away with 'gen --force'",
        "R/foreign:1:1: error[file-not-generated]: 'R/foreign' is in the way: diopigen did not write it "
        "| fix: move it away, or overwrite it with 'gen --force'",
        "R/gone:1:1: error[generated-file-orphan]: 'R/gone' is not generated any more "
        "| fix: run 'gen', which removes it",
        "R/lost:1:1: error[generated-file-missing]: 'R/lost' is missing | fix: run 'gen'",
        "R/own:1:1: warning[orphan-edited]: 'R/own' is not generated any more, but was edited by hand, "
        "so it is kept | fix: move it to a folder of your own, or delete it",
        "R/stale:1:1: error[generated-file-stale]: 'R/stale' is out of date | fix: run 'gen'",
    ]
    assert (tree(tmp_path), times(tmp_path)) == before


def test_nothing_is_there_yet(tmp_path: Path) -> None:
    root = tmp_path / "missing"
    sink = Sink()
    check(plan_of({"b": b"", "a/x": b""}), root, sink)
    assert lines_of(sink, root) == [
        "R/a/x:1:1: error[generated-file-missing]: 'R/a/x' is missing | fix: run 'diopigen generate'",
        "R/b:1:1: error[generated-file-missing]: 'R/b' is missing | fix: run 'diopigen generate'",
    ]
    assert not root.exists()


def test_the_manifest_is_named_only_where_it_stands_alone(tmp_path: Path) -> None:
    apply(plan_of({"a": b"1"}), tmp_path, Sink())
    sink = Sink()
    check(Plan((PlannedFile("a", b"1", ("s",)),)), tmp_path, sink)
    assert lines_of(sink, tmp_path) == [
        f"R/{M}:1:1: error[generated-file-stale]: 'R/{M}' is out of date | fix: run 'diopigen generate'"
    ]
    (tmp_path / M).unlink()
    sink = Sink()
    check(plan_of({"a": b"1"}), tmp_path, sink)
    assert lines_of(sink, tmp_path) == [
        f"R/{M}:1:1: error[generated-file-missing]: 'R/{M}' is missing | fix: run 'diopigen generate'"
    ]


def test_an_unreadable_manifest_reports_no_edits(tmp_path: Path) -> None:
    apply(plan_of({"a": b"1"}), tmp_path, Sink())
    (tmp_path / M).write_text("{}")
    sink = Sink()
    check(plan_of({"a": b"2"}), tmp_path, sink)
    assert [d.code for d in sink.sorted()] == ["manifest-foreign", "generated-file-stale"]


def test_dry_run_foretells_what_apply_does(tmp_path: Path) -> None:
    plan = prepare(tmp_path)
    before = tree(tmp_path), times(tmp_path)
    said, done = Sink(), Sink()
    assert dry_run(plan, tmp_path, said) == Result()
    foretold = dry_run(plan, tmp_path, said, force=True)
    assert (tree(tmp_path), times(tmp_path)) == before
    apply(plan, tmp_path, done)
    assert apply(plan, tmp_path, done, force=True) == foretold
    assert said.sorted() == done.sorted() and len(said) == 3
    assert foretold == Result(
        written=(M, "edited", "foreign", "lost", "stale"), unchanged=("fine",), removed=("gone",), retained=("own",)
    )
    assert listing(foretold, dry=True) == (
        "would write   MANIFEST.json\n"
        "would write   edited\n"
        "unchanged     fine\n"
        "would write   foreign\n"
        "would remove  gone\n"
        "would write   lost\n"
        "would keep    own\n"
        "would write   stale\n"
    )


def test_listing_of_what_was_done() -> None:
    result = Result(written=("b",), unchanged=("a", "e"), removed=("c",), retained=("d",))
    assert listing(result, dry=False) == "unchanged  a\nwrote      b\nremoved    c\nkept       d\nunchanged  e\n"
    assert listing(Result(), dry=False) == ""


def without_manifest(text: str) -> str:
    parts = text.split("diff --git ")
    return "".join(f"diff --git {part}" for part in parts[1:] if not part.startswith(f"a/{M} "))


def test_diff_exactly(tmp_path: Path) -> None:
    old = {"a.h": b"one\ntwo\nthree\n", "bin": b"\x00\x01", "gone dir/x": b"bye", "latin": b"\xe9\n", "same": b"s"}
    apply(plan_of(old), tmp_path, Sink())
    (tmp_path / "a.h").chmod(0o755)
    new = {"a.h": b"one\n2\nthree", "bin": b"\x00\x02", "empty": b"", "latin": b"\xe8\n", "n/ü": b"\r\n", "same": b"s"}
    assert without_manifest(diff(plan_of(new), tmp_path)) == (
        "diff --git a/a.h b/a.h\n"
        "--- a/a.h\n"
        "+++ b/a.h\n"
        "@@ -1,3 +1,3 @@\n"
        " one\n"
        "-two\n"
        "-three\n"
        "+2\n"
        "+three\n"
        "\\ No newline at end of file\n"
        "diff --git a/bin b/bin\n"
        "Binary files a/bin and b/bin differ\n"
        "diff --git a/empty b/empty\n"
        "new file mode 100644\n"
        "diff --git a/gone dir/x b/gone dir/x\n"
        "deleted file mode 100644\n"
        "--- a/gone dir/x\t\n"
        "+++ /dev/null\n"
        "@@ -1 +0,0 @@\n"
        "-bye\n"
        "\\ No newline at end of file\n"
        "diff --git a/latin b/latin\n"
        "Binary files a/latin and b/latin differ\n"
        "diff --git a/n/ü b/n/ü\n"
        "new file mode 100644\n"
        "--- /dev/null\n"
        "+++ b/n/ü\n"
        "@@ -0,0 +1 @@\n"
        "+\r\n"
    )
    apply(plan_of(new), tmp_path, Sink())
    assert diff(plan_of(new), tmp_path) == ""


def test_diff_shows_an_edit_as_undone_and_leaves_out_what_is_retained(tmp_path: Path) -> None:
    plan = prepare(tmp_path)
    text = diff(plan, tmp_path)
    assert "-typed by hand\n\\ No newline at end of file\n+1\n" in text
    assert "a/own" not in text


@on_disk
@given(file_sets(), file_sets())
def test_git_applies_the_diff(old: dict[str, bytes], new: dict[str, bytes]) -> None:
    """`git apply` of the diff gives what `apply` gives, to the byte, for all content that is text."""

    def text_only(files: dict[str, bytes]) -> dict[str, bytes]:
        return {path: content for path, content in files.items() if is_text(content)}

    old, new = text_only(old), text_only(new)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "r")
        apply(plan_of(old), root, Sink())
        patch = diff(plan_of(new), root)
        assert (patch == "") == (old == new)
        if patch:
            command = ["git", "apply", "--whitespace=nowarn", "-"]
            done = subprocess.run(command, cwd=root, input=patch.encode(), capture_output=True, check=False)
            assert done.stderr.decode() == ""
        assert files_of(root) == new
        sink = Sink()
        check(plan_of(new), root, sink)
        assert sink.sorted() == []


def is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False
