"""Kills and calls that fail: each file is old or new, no temporary file stays, and the next run heals."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from output_helpers import die_at, expect_exactly, fail_at, files_of, lines_of, plan_of, run, tree
from sampling import first

from diopigen.diagnostics import Failure, Sink
from diopigen.output.apply import apply
from diopigen.output.check import check
from diopigen.output.manifest import JOURNAL_NAME

REPOSITORY = Path(__file__).parents[2]

OLD = {"a": b"old a", "gone/deep/x": b"old x", "k/same": b"same", "k/b": b"old b", "swap": b"file", "flip/f": b"1"}
NEW = {"a": b"new a", "new/deep/y": b"new y", "k/same": b"same", "k/b": b"new b", "swap/f": b"in", "flip": b"2"}
OTHER = {"a": b"third a", "new/z": b"third z", "k/same": b"third same"}


def expect_old_or_new(root: Path) -> None:
    for path, content in files_of(root).items():
        if not path.rpartition("/")[2].startswith(".diopigen-"):
            assert content in (OLD.get(path), NEW.get(path)), path


def for_every_step(tmp_path: Path, attempt: Callable[[Path, int], bool]) -> int:
    """Calls `attempt(root, step)` on fresh trees for step 1, 2, ... until it says that nothing happened."""
    for step in range(1, 1000):
        root = tmp_path / str(step)
        run(OLD, root)
        if not attempt(root, step):
            return step - 1
        shutil.rmtree(root)
    raise AssertionError("the run does not end")


def test_killed_at_every_step_then_the_same_plan(tmp_path: Path) -> None:
    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        expect_old_or_new(root)
        run(NEW, root)
        expect_exactly(NEW, root)
        return died

    assert for_every_step(tmp_path, attempt) > 40


@pytest.mark.slow
def test_killed_at_every_step_then_another_plan(tmp_path: Path) -> None:
    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        run(OTHER, root)
        expect_exactly(OTHER, root)
        return died

    assert for_every_step(tmp_path, attempt) > 40


@pytest.mark.slow
def test_killed_twice_in_a_row_then_back_to_the_first_plan(tmp_path: Path) -> None:
    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        die_at(step // 2 + 1, lambda: apply(plan_of(OTHER), root, Sink()))
        run(OLD, root)
        expect_exactly(OLD, root)
        return died

    assert for_every_step(tmp_path, attempt) > 40


@pytest.mark.slow
def test_killed_in_the_first_run_of_all(tmp_path: Path) -> None:
    for step in range(1, 1000):
        root = tmp_path / "parent" / str(step)
        died = die_at(step, partial(apply, plan_of(NEW), root, Sink()))
        run(NEW, root)
        expect_exactly(NEW, root)
        if not died:
            break
    assert step > 30


@pytest.mark.slow
def test_a_killed_run_does_not_hide_an_edit(tmp_path: Path) -> None:
    """At every step: what a user typed after the kill is still seen as edited, or not generated."""

    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        (root / "a").write_bytes(b"typed by hand")
        sink = Sink()
        apply(plan_of(NEW), root, sink)
        assert [d.code for d in sink.sorted()] == ["generated-file-edited"]
        assert (root / "a").read_bytes() == b"typed by hand"
        return died

    for_every_step(tmp_path, attempt)


@pytest.mark.slow
def test_check_after_a_kill_asks_for_another_run(tmp_path: Path) -> None:
    """At no step is `check` content with a half-done tree; at the end of a run it is."""

    def attempt(root: Path, step: int) -> bool:
        died = die_at(step, lambda: apply(plan_of(NEW), root, Sink()))
        sink = Sink()
        check(plan_of(NEW), root, sink)
        assert sink.has_errors == died
        return died

    for_every_step(tmp_path, attempt)


def test_the_words_about_a_run_cut_short(tmp_path: Path) -> None:
    run({"a": b"1"}, tmp_path)
    (tmp_path / JOURNAL_NAME).write_text('{"format": 1, "files": []}')
    sink = Sink()
    check(plan_of({"a": b"1"}), tmp_path, sink, command="gen")
    assert lines_of(sink, tmp_path) == [
        "R:1:1: error[output-unfinished]: the last run on 'R' was cut short "
        "| fix: run 'gen' again; it picks up where the other one stopped"
    ]
    run({"a": b"1"}, tmp_path)
    assert not (tmp_path / JOURNAL_NAME).exists()


@pytest.mark.parametrize("number", first([errno.ENOSPC, errno.EIO, errno.EACCES]))
def test_every_call_fails_in_turn(tmp_path: Path, number: int) -> None:
    """Each system call in turn fails once: a `Failure`, never a traceback or a file half written."""
    failed = 0

    def attempt(root: Path, step: int) -> bool:
        nonlocal failed
        before = tree(root)
        with pytest.MonkeyPatch.context() as patch:
            calls = fail_at(step, number, patch)
            try:
                apply(plan_of(NEW), root, Sink())
            except Failure as problem:
                failed += 1
                found = problem.diagnostics[0]
                assert found.code == ("output-no-space" if number == errno.ENOSPC else "output-unwritable")
                assert root.as_posix() in found.message and found.fix
                half_done = bool(found.notes)
                assert half_done or tree(root) == before
        expect_old_or_new(root)
        leftover = [path for path in tree(root) if path.endswith(".tmp")]
        # Only where the removal itself failed may a temporary file outlive the run.
        assert not leftover or calls[step - 1] == "unlink"
        run(NEW, root)
        expect_exactly(NEW, root)
        return len(calls) >= step

    steps = for_every_step(tmp_path, attempt)
    assert steps > 40 and failed > 30


def test_interrupt_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(OLD, tmp_path)
    before = tree(tmp_path)
    real, count = os.fsync, 0

    def fsync(descriptor: int) -> None:
        nonlocal count
        count += 1
        if count == 5:
            raise KeyboardInterrupt
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(KeyboardInterrupt):
        apply(plan_of(NEW), tmp_path, Sink())
    assert tree(tmp_path) == before
