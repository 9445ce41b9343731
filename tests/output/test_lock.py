"""Two runs on one root take turns; the lock leaves nothing behind and dies with its process."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import tempfile
import threading
import time
from pathlib import Path

import pytest
from output_helpers import files_of, plan_of, tree

from diopigen.diagnostics import Failure, Sink
from diopigen.output.apply import apply
from diopigen.output.check import check, diff, dry_run
from diopigen.output.lock import locked


class Holder:
    """A child process that holds the lock on `root` until it is told to go, or killed."""

    def __init__(self, root: Path, *, shared: bool = False) -> None:
        self._stop_read, self._stop = os.pipe()
        ready, ready_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            with locked(root, shared=shared):
                os.write(ready_write, b"x")
                os.read(self._stop_read, 1)
            os._exit(0)
        assert os.read(ready, 1) == b"x"

    def release(self) -> None:
        os.write(self._stop, b"x")
        os.waitpid(self.pid, 0)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


def test_the_second_run_gives_up_after_its_limit(tmp_path: Path) -> None:
    holder = Holder(tmp_path)
    start = time.monotonic()
    with pytest.raises(Failure) as caught:
        apply(plan_of({"a": b"1"}), tmp_path, Sink(), lock_wait=0.3)
    assert time.monotonic() - start >= 0.3
    (found,) = caught.value.diagnostics
    name = tmp_path.as_posix()
    assert (found.code, found.message, found.fix) == (
        "output-locked",
        f"another run holds '{name}' and has not finished",
        "wait for it to end, or stop it; its lock goes with it",
    )
    assert tree(tmp_path) == {}
    holder.release()
    assert apply(plan_of({"a": b"1"}), tmp_path, Sink(), lock_wait=0).written == ("MANIFEST.json", "a")


def test_the_second_run_waits_for_the_first(tmp_path: Path) -> None:
    holder = Holder(tmp_path)
    threading.Timer(0.3, holder.release).start()
    start = time.monotonic()
    apply(plan_of({"a": b"1"}), tmp_path, Sink(), lock_wait=30)
    assert time.monotonic() - start >= 0.25
    assert files_of(tmp_path) == {"a": b"1"}


def test_a_killed_run_frees_the_lock(tmp_path: Path) -> None:
    Holder(tmp_path).kill()
    apply(plan_of({"a": b"1"}), tmp_path, Sink(), lock_wait=0)


def test_readers_share_and_wait_for_a_writer(tmp_path: Path) -> None:
    apply(plan_of({"a": b"1"}), tmp_path, Sink())
    reader = Holder(tmp_path, shared=True)
    check(plan_of({"a": b"1"}), tmp_path, Sink(), lock_wait=0)
    with pytest.raises(Failure):
        apply(plan_of({"a": b"1"}), tmp_path, Sink(), lock_wait=0)
    reader.release()
    writer = Holder(tmp_path)
    for read in (
        lambda: check(plan_of({}), tmp_path, Sink(), lock_wait=0),
        lambda: dry_run(plan_of({}), tmp_path, Sink(), lock_wait=0),
        lambda: diff(plan_of({}), tmp_path, lock_wait=0),
    ):
        with pytest.raises(Failure) as caught:
            read()
        assert caught.value.diagnostics[0].code == "output-locked"
    writer.release()


def test_other_roots_are_not_locked(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    holder = Holder(tmp_path / "one")
    apply(plan_of({"a": b"1"}), tmp_path / "two", Sink(), lock_wait=0)
    holder.release()


def test_the_lock_leaves_no_file(tmp_path: Path) -> None:
    with locked(tmp_path):
        assert tree(tmp_path) == {}
    with locked(tmp_path / "missing", shared=True):
        assert tree(tmp_path) == {}
    with locked(tmp_path / "made" / "deep"):
        assert tree(tmp_path) == {"made": None, "made/deep": None}
    assert tree(tmp_path) == {}


def test_a_root_that_is_replaced_while_waiting(tmp_path: Path) -> None:
    """A process that waited for a removed folder locks the new one, and not the old lock file."""
    root = tmp_path / "r"
    root.mkdir()
    holder = Holder(root)

    def replace() -> None:
        root.rename(tmp_path / "away")
        root.mkdir()
        holder.release()

    threading.Timer(0.3, replace).start()
    with locked(root, wait=30), pytest.raises(Failure), locked(root, wait=0):
        raise AssertionError("two hold the lock")


def test_many_processes_at_once(tmp_path: Path) -> None:
    """Eight processes write four different plans over each other: each sees a whole tree, and one of them wins."""
    plans = [{f"d{k}/{n}": bytes([k]) * 50 for n in range(6)} | {"shared": bytes([k])} for k in range(4)]
    children = []
    for index in range(8):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                for turn in range(4):
                    sink = Sink()
                    apply(plan_of(plans[(index + turn) % 4]), tmp_path, sink, lock_wait=60)
                    if len(sink):
                        os._exit(2)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
    assert files_of(tmp_path) in plans
    sink = Sink()
    check(plan_of(files_of(tmp_path)), tmp_path, sink)
    assert sink.sorted() == []


def test_where_folders_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS: a file in the system's temporary folder is used instead, and nothing appears below the root."""
    root, temporary = tmp_path / "r", tmp_path / "t"
    root.mkdir()
    temporary.mkdir()
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, "Bad file descriptor")
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    with locked(root), pytest.raises(Failure) as caught, locked(root, wait=0.1):
        raise AssertionError("two hold the lock")
    assert caught.value.diagnostics[0].code == "output-locked"
    with locked(root, wait=0):
        assert tree(root) == {}
        assert len(tree(temporary)) == 1
    with locked(tmp_path / "other", wait=0), locked(root, wait=0):
        pass


def test_a_lock_that_fails_for_another_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(Failure) as caught:
        apply(plan_of({}), tmp_path, Sink())
    (found,) = caught.value.diagnostics
    name = tmp_path.as_posix()
    assert (found.code, found.message) == ("output-unwritable", f"cannot lock '{name}': Input/output error")
