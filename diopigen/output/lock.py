"""One writer at a time below an output root.

The lock is `flock` on the root folder itself: it needs no lock file, so it leaves nothing for `git status`
to show, and the kernel drops it with the process, so that a killed run cannot leave it behind. NFS refuses
an exclusive lock on a folder; there a file in the system's temporary folder, named after the root, is
used (it keeps apart the runs of one user on one machine).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from diopigen.diagnostics import Span, failure
from diopigen.output import disk

DEFAULT_WAIT = 60.0
"""Seconds that a run waits for another one before it gives up."""

_POLL = 0.05  # seconds; flock has no time limit of its own, and a signal would not do in a thread
_NO_FOLDER_LOCKS = (errno.EBADF, errno.ENOLCK, errno.EOPNOTSUPP)


@contextlib.contextmanager
def locked(root: Path, *, shared: bool = False, wait: float = DEFAULT_WAIT) -> Iterator[None]:
    """Holds `root` for one writer, or `shared` among readers; waits at most `wait` seconds.

    A writer makes the folder if need be, and takes away again what it made if it leaves it empty; a reader
    of a folder that is not there holds nothing. Raises `Failure`: `output-locked`, `output-unwritable`.
    """
    deadline = time.monotonic() + wait
    created: list[Path] = []
    descriptor: int | None = None
    try:
        while descriptor is None:
            if not shared:
                created += _make_folders(root)
            elif not os.path.lexists(root):
                break
            _require_folder(root)
            descriptor = _acquire(root, shared, deadline)
        yield
    finally:
        # Emptied while the lock is still held: who waits for it finds the folder gone and makes a new one.
        disk.discard_folders(created)
        if descriptor is not None:
            os.close(descriptor)


def _make_folders(root: Path) -> list[Path]:
    missing = []
    for folder in (root, *root.parents):
        if os.path.lexists(folder):
            break
        missing.append(folder)
    return [folder for folder in reversed(missing) if disk.make_folder(folder)]


def _require_folder(root: Path) -> None:
    if root.is_dir():
        return
    what = "a symbolic link that leads nowhere" if root.is_symlink() else "a file, not a folder"
    raise failure(
        "output-unwritable",
        f"'{root.as_posix()}' cannot be the output folder: it is {what}",
        Span(root.as_posix()),
        "move it away, or choose another output folder",
    )


def _acquire(root: Path, shared: bool, deadline: float) -> int | None:
    """An open descriptor that holds the lock, or None when the folder was replaced while we waited."""
    with disk.faults(root, "open"):
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with disk.faults(root, "lock"):
            try:
                _flock(descriptor, root, shared, deadline)
            except OSError as error:
                if error.errno not in _NO_FOLDER_LOCKS:
                    raise
                folder, descriptor = descriptor, _open_substitute(root)
                os.close(folder)
                _flock(descriptor, root, shared, deadline)
                return descriptor
        if _still_at(root, descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _flock(descriptor: int, root: Path, shared: bool, deadline: float) -> None:
    operation = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    while True:
        try:
            return fcntl.flock(descriptor, operation)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise failure(
                    "output-locked",
                    f"another run holds '{root.as_posix()}' and has not finished",
                    Span(root.as_posix()),
                    "wait for it to end, or stop it; its lock goes with it",
                ) from None
        time.sleep(_POLL)


def _open_substitute(root: Path) -> int:
    key = hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    path = Path(tempfile.gettempdir(), f"diopigen-{os.geteuid()}-{key}.lock")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _still_at(root: Path, descriptor: int) -> bool:
    held = os.fstat(descriptor)
    try:
        there = root.stat()
    except FileNotFoundError:
        return False
    return (held.st_dev, held.st_ino) == (there.st_dev, there.st_ino)
