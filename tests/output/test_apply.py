"""Files that a whole run writes, preserves, removes and rejects."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from output_helpers import file_sets, files_of, lines_of, on_disk, plan_of, times, tree

from diopigen.diagnostics import Failure, Sink
from diopigen.emit.plan import Plan, PlannedFile, unsafe_reason
from diopigen.output import apply as apply_module
from diopigen.output.apply import Result, apply
from diopigen.output.check import check
from diopigen.output.manifest import JOURNAL_NAME

M = "MANIFEST.json"


def applied(files: dict[str, bytes], root: Path) -> Result:
    sink = Sink()
    result = apply(plan_of(files), root, sink)
    assert sink.sorted() == []
    return result


def test_writes_then_leaves_alone(tmp_path: Path) -> None:
    root = tmp_path / "new" / "root"
    files = {"a/b/x.h": b"1", "y": b""}
    assert applied(files, root) == Result(written=(M, "a/b/x.h", "y"))
    assert files_of(root) == files
    before = times(root)
    assert applied(files, root) == Result(unchanged=(M, "a/b/x.h", "y"))
    assert times(root) == before


def test_writes_only_what_differs(tmp_path: Path) -> None:
    applied({"a": b"1", "b": b"1"}, tmp_path)
    time_of_a = (tmp_path / "a").stat().st_mtime_ns
    assert applied({"a": b"1", "b": b"2"}, tmp_path) == Result(written=(M, "b"), unchanged=("a",))
    assert (tmp_path / "a").stat().st_mtime_ns == time_of_a
    assert files_of(tmp_path) == {"a": b"1", "b": b"2"}


def test_inputs_alone_change_the_manifest_alone(tmp_path: Path) -> None:
    applied({"a": b"1"}, tmp_path)
    sink = Sink()
    plan = Plan((PlannedFile("a", b"1", ("specs/x.yaml",)),))
    assert apply(plan, tmp_path, sink) == Result(written=(M,), unchanged=("a",))


def test_keeps_mode_bits_and_obeys_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        applied({"a": b"1", "run.sh": b"1"}, tmp_path)
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
        (tmp_path / "run.sh").chmod(0o755)
        applied({"a": b"2", "run.sh": b"2"}, tmp_path)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "run.sh").stat().st_mode) == 0o755


def test_a_reader_keeps_the_file_that_it_opened(tmp_path: Path) -> None:
    applied({"a": b"old"}, tmp_path)
    with (tmp_path / "a").open("rb") as reader:
        applied({"a": b"new"}, tmp_path)
        assert reader.read() == b"old"


def test_removes_orphans_and_their_empty_folders(tmp_path: Path) -> None:
    applied({"a/b/x": b"1", "a/y": b"2", "c/z": b"3"}, tmp_path)
    (tmp_path / "c" / "mine").write_bytes(b"mine")
    assert applied({"a/y": b"2"}, tmp_path) == Result(written=(M,), unchanged=("a/y",), removed=("a/b/x", "c/z"))
    assert sorted(tree(tmp_path)) == [M, "a", "a/y", "c", "c/mine"]


def test_keeps_an_orphan_that_was_edited_and_then_forgets_it(tmp_path: Path) -> None:
    applied({"a": b"1", "sub/b": b"2"}, tmp_path)
    (tmp_path / "sub" / "b").write_bytes(b"edited")
    for force in (False, True):
        sink = Sink()
        result = apply(plan_of({"a": b"1"}), tmp_path, sink, force=force)
        if force:
            assert (result, lines_of(sink, tmp_path)) == (Result(unchanged=(M, "a")), [])
        else:
            assert result == Result(written=(M,), unchanged=("a",), retained=("sub/b",))
            assert lines_of(sink, tmp_path) == [
                "R/sub/b:1:1: warning[orphan-edited]: 'R/sub/b' is not generated any more, but was edited by hand, "
                "so it is kept | fix: move it to a folder of your own, or delete it"
            ]
    assert (tmp_path / "sub" / "b").read_bytes() == b"edited"


def test_force_does_not_remove_an_edited_orphan(tmp_path: Path) -> None:
    applied({"b": b"2"}, tmp_path)
    (tmp_path / "b").write_bytes(b"edited")
    assert apply(plan_of({}), tmp_path, Sink(), force=True) == Result(written=(M,), retained=("b",))
    assert (tmp_path / "b").read_bytes() == b"edited"


def test_an_orphan_that_became_a_link_is_retained(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"1")
    root = tmp_path / "root"
    applied({"a": b"1"}, root)
    (root / "a").unlink()
    (root / "a").symlink_to(tmp_path / "target")
    assert apply(plan_of({}), root, Sink()).retained == ("a",)
    assert (root / "a").is_symlink()


def test_refuses_to_overwrite_an_edit_and_writes_nothing(tmp_path: Path) -> None:
    old = {"a": b"1", "b": b"1", "gone": b"1"}
    applied(old, tmp_path)
    (tmp_path / "b").write_bytes(b"edited")
    before = tree(tmp_path), times(tmp_path)
    plan = Plan(
        (
            PlannedFile("a", b"2"),
            PlannedFile("b", b"2", ("templates/c/b.j2", "specs/ops/b.yaml")),
            PlannedFile("new/c", b"2"),
        )
    )
    sink = Sink()
    assert apply(plan, tmp_path, sink, command="diopigen docs") == Result()
    assert lines_of(sink, tmp_path) == [
        "R/b:1:1: error[generated-file-edited]: 'R/b' was edited by hand "
        "| note: it is generated from specs/ops/b.yaml, templates/c/b.j2 "
        "| fix: make the change where the file comes from and run 'diopigen docs', "
        "or throw the edit away with 'diopigen docs --force'"
    ]
    assert (tree(tmp_path), times(tmp_path)) == before
    sink = Sink()
    assert apply(plan, tmp_path, sink, force=True) == Result(written=(M, "a", "b", "new/c"), removed=("gone",))
    assert not len(sink)
    assert files_of(tmp_path) == dict(plan)


def test_an_edit_that_equals_the_plan_is_no_edit(tmp_path: Path) -> None:
    applied({"a": b"1"}, tmp_path)
    (tmp_path / "a").write_bytes(b"2")
    assert applied({"a": b"2"}, tmp_path) == Result(written=(M,), unchanged=("a",))


def test_a_deleted_file_comes_back(tmp_path: Path) -> None:
    applied({"a": b"1"}, tmp_path)
    (tmp_path / "a").unlink()
    assert applied({"a": b"1"}, tmp_path) == Result(written=("a",), unchanged=(M,))


def test_does_not_overwrite_what_it_did_not_write(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    (tmp_path / "same").write_bytes(b"1")
    plan = plan_of({"a": b"1", "same": b"1"})
    sink = Sink()
    assert apply(plan, tmp_path, sink) == Result()
    assert lines_of(sink, tmp_path) == [
        "R/a:1:1: error[file-not-generated]: 'R/a' is in the way: diopigen did not write it "
        "| fix: move it away, or overwrite it with 'diopigen generate --force'"
    ]
    assert tree(tmp_path) == {"a": b"mine", "same": b"1"}
    assert apply(plan, tmp_path, Sink(), force=True) == Result(written=(M, "a"), unchanged=("same",))


def test_all_refusals_are_shown_at_once(tmp_path: Path) -> None:
    applied({"a": b"1", "b": b"1"}, tmp_path)
    for name in "abc":
        (tmp_path / name).write_bytes(b"mine")
    sink = Sink()
    apply(plan_of({"a": b"2", "b": b"2", "c": b"2"}), tmp_path, sink)
    assert [(d.code, (d.span.file if d.span else "")[-1]) for d in sink.sorted()] == [
        ("generated-file-edited", "a"),
        ("generated-file-edited", "b"),
        ("file-not-generated", "c"),
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [({"a": b"1"}, {"a/b/c": b"2"}), ({"a/b/c": b"1", "a/d": b"1"}, {"a": b"2"}), ({"a/b": b"1"}, {"a/b/c": b"1"})],
)
def test_a_file_becomes_a_folder_and_back(tmp_path: Path, old: dict[str, bytes], new: dict[str, bytes]) -> None:
    applied(old, tmp_path)
    applied(new, tmp_path)
    assert files_of(tmp_path) == new
    applied(old, tmp_path)
    assert files_of(tmp_path) == old


def test_a_folder_of_ours_with_a_file_of_theirs_stays(tmp_path: Path) -> None:
    applied({"a/b": b"1"}, tmp_path)
    (tmp_path / "a" / "mine").write_bytes(b"mine")
    with pytest.raises(Failure) as caught:
        apply(plan_of({"a": b"1"}), tmp_path, Sink())
    (found,) = caught.value.diagnostics
    name = tmp_path.as_posix()
    assert (found.code, found.message) == ("output-unwritable", f"cannot write '{name}/a': '{name}/a' is a folder")
    assert sorted(tree(tmp_path)) == [M, "a", "a/b", "a/mine"]


def test_works_in_a_relative_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    applied({"a": b"1"}, Path("generated"))
    (tmp_path / "generated" / "a").write_bytes(b"x")
    sink = Sink()
    apply(plan_of({"a": b"1"}), Path("generated"), sink)
    assert [str(d.span) for d in sink.sorted()] == ["generated/a:1:1"]
    applied({"a": b"1"}, Path())
    assert (tmp_path / M).exists()


def test_an_empty_plan_leaves_an_empty_manifest(tmp_path: Path) -> None:
    applied({}, tmp_path / "r")
    assert sorted(tree(tmp_path / "r")) == [M]


def test_git_sees_nothing_of_a_second_run(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    applied({"a/x": b"1"}, tmp_path / "generated")
    git("add", "-A")
    git("commit", "-qm", "x")
    applied({"a/x": b"1"}, tmp_path / "generated")
    assert git("status", "--porcelain") == ""
    assert git("ls-files").split() == ["generated/MANIFEST.json", "generated/a/x"]


def test_temporary_files_of_a_killed_run_are_swept(tmp_path: Path) -> None:
    applied({"a/x": b"1"}, tmp_path)
    rubbish = [tmp_path / ".diopigen-0123456789abcdef.tmp", tmp_path / "a" / ".diopigen-0123456789abcdef.tmp"]
    alike = [tmp_path / "x.tmp", tmp_path / ".diopigen-0123456789abcdeg.tmp", tmp_path / "a" / ".diopigen-0.tmp"]
    for path in rubbish + alike:
        path.write_bytes(b"half")
    assert applied({"a/x": b"1"}, tmp_path).written == ()
    assert [path.exists() for path in rubbish] == [False, False]
    assert [path.exists() for path in alike] == [True, True, True]


def test_links_are_not_followed_out_of_the_root(tmp_path: Path) -> None:
    """A folder on record that became a link: nothing behind it is swept, removed or written."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    applied({"a/b/x": b"1"}, root)
    (root / "a" / "b" / "x").unlink()
    (root / "a" / "b").rmdir()
    (root / "a").rmdir()
    (outside / "b").mkdir(parents=True)
    (outside / ".diopigen-0123456789abcdef.tmp").write_bytes(b"")
    (root / "a").symlink_to(outside)
    before = times(outside)
    assert applied({}, root) == Result(written=(M,))
    assert times(outside) == before
    with pytest.raises(Failure) as caught:
        apply(plan_of({"a/b/x": b"1"}), root, Sink())
    (found,) = caught.value.diagnostics
    name = root.as_posix()
    assert found.message == f"cannot write '{name}/a/b/x': '{name}/a' is a symbolic link"
    assert found.fix == f"move '{name}/a' away, or choose another output folder"
    assert times(outside) == before


@on_disk
@given(st.lists(file_sets(), min_size=1, max_size=4))
def test_any_plan_over_any_other(sequence: list[dict[str, bytes]]) -> None:
    """After `apply` the tree is the plan and nothing else, `check` is clean, and a second run writes nothing."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name, "r")
        for files in sequence:
            applied(files, root)
            assert files_of(root) == files
            folders = {path for path, content in tree(root).items() if content is None}
            assert folders == {path.rsplit("/", depth)[0] for path in files for depth in range(1, path.count("/") + 1)}
            sink = Sink()
            check(plan_of(files), root, sink)
            assert sink.sorted() == []
            before = times(root)
            assert applied(files, root).written == ()
            assert times(root) == before


@on_disk
@given(file_sets(), file_sets(), st.data())
def test_no_edit_is_ever_lost(old: dict[str, bytes], new: dict[str, bytes], data: st.DataObject) -> None:
    """Whatever a user puts below the root is there after a run without force, or the run refused."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        applied(old, root)
        theirs = {}
        for path in data.draw(st.lists(st.sampled_from(sorted({*old, *new, "own"})), unique=True)):
            target = root / path
            if any(parent.is_file() for parent in target.parents) or target.is_dir():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"typed by hand")
            theirs[path] = b"typed by hand"
        before = tree(root)
        sink = Sink()
        try:
            apply(plan_of(new), root, sink)
        except Failure:
            assert tree(root) == before
        else:
            if sink.has_errors:
                assert tree(root) == before
        assert {path: (root / path).read_bytes() for path in theirs} == theirs


def test_the_journal_cannot_be_planned_over() -> None:
    assert unsafe_reason(JOURNAL_NAME) is not None
    assert apply_module.DEFAULT_COMMAND == "diopigen generate"
