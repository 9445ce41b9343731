"""Shared by tests of output: plans out of dicts, snapshots of trees, and a process that dies at a selected step."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from diopigen.diagnostics import Sink
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.output.apply import apply
from diopigen.output.check import check

on_disk = settings(deadline=None, max_examples=60)
"""For properties that write files: how long an fsync takes says nothing about the code."""

SYSTEM_CALLS = ("open", "write", "fsync", "fchmod", "mkdir", "replace", "unlink", "rmdir")
"""The calls that change the disk, all of which `diopigen.output.disk` makes through `os`."""


def plan_of(files: Mapping[str, bytes]) -> Plan:
    return Plan(tuple(PlannedFile(path, content) for path, content in files.items()))


def tree(root: Path) -> dict[str, bytes | None]:
    """Every path below `root`: the bytes of a file, None for a folder."""
    return {
        path.relative_to(root).as_posix(): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }


def files_of(root: Path) -> dict[str, bytes]:
    """Every file below `root` but the manifest."""
    return {path: content for path, content in tree(root).items() if content is not None and path != "MANIFEST.json"}


def run(files: dict[str, bytes], root: Path) -> None:
    """Writes files below `root`, which must succeed without a finding."""
    sink = Sink()
    apply(plan_of(files), root, sink)
    assert sink.sorted() == []


def expect_exactly(files: dict[str, bytes], root: Path) -> None:
    """Only the files, their folders and the manifest: no temporary file, no journal, no empty folder."""
    assert files_of(root) == files
    assert {path for path, content in tree(root).items() if content is None} == {
        path.rsplit("/", depth)[0] for path in files for depth in range(1, path.count("/") + 1)
    }
    sink = Sink()
    check(plan_of(files), root, sink)
    assert sink.sorted() == []


def lines_of(sink: Sink, root: Path) -> list[str]:
    """Each finding on one line, with the root folder shown as `R`."""
    text = []
    for found in sink.sorted():
        notes = "".join(f" | note: {note.message}" for note in found.notes)
        text.append(f"{found.span}: {found.severity}[{found.code}]: {found.message}{notes} | fix: {found.fix}")
    return [line.replace(root.as_posix(), "R") for line in text]


def times(root: Path) -> dict[str, int]:
    """The modification time of everything below and of `root`, in nanoseconds."""
    return {str(path): path.stat().st_mtime_ns for path in (root, *root.rglob("*"))}


def die_at(step: int, action: Callable[[], object]) -> bool:
    """Runs `action` in a child that kills itself with SIGKILL at its `step`-th system call; whether it died.

    The call itself is not made, but for a write, half of which is.
    """
    child = os.fork()
    if child == 0:
        try:
            _patch_to_die(step)
            action()
        except BaseException:
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _patch_to_die(step: int) -> None:
    count = 0
    real_write = os.write

    def wrap(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count == step:
                if name == "write":
                    descriptor, content = arguments
                    assert isinstance(descriptor, int) and isinstance(content, memoryview)
                    real_write(descriptor, content[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return wrapped

    for name in SYSTEM_CALLS:
        setattr(os, name, wrap(name, getattr(os, name)))


def fail_at(step: int, error: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Makes the `step`-th system call raise OSError(`error`); the list fills with the names of the calls made."""
    calls: list[str] = []

    def wrap(name: str, call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*arguments: object, **options: object) -> object:
            calls.append(name)
            if len(calls) == step:
                raise OSError(error, os.strerror(error))
            return call(*arguments, **options)

        return wrapped

    for name in SYSTEM_CALLS:
        monkeypatch.setattr(os, name, wrap(name, getattr(os, name)))
    return calls


@contextlib.contextmanager
def unprivileged() -> Iterator[Path]:
    """A folder to work in as a user whom permission bits bind, also where the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield folder
            return
        os.chown(folder, 65534, 65534)
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)


names = st.sampled_from(["a", "b", "c", "d.h", "e f", "ü.txt"])
contents = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([b"", b"one\n", b"one\ntwo\n", b"one\ntwo", b"\r\n", b"x\x0cy\n", "\u2028z\n".encode()]),
)


@st.composite
def file_sets(draw: st.DrawFn) -> dict[str, bytes]:
    """Up to six files at most three folders deep, none of which is in the way of another."""
    files: dict[str, bytes] = {}
    for parts in draw(st.lists(st.lists(names, min_size=1, max_size=3), max_size=6)):
        path = "/".join(parts)
        clash = any(other == path or other.startswith(f"{path}/") or path.startswith(f"{other}/") for other in files)
        if not clash:
            files[path] = draw(contents)
    return files
