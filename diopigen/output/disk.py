"""The few system calls that output builds on, and what their failures mean to a user.

The calls go through `os` by name and not through `pathlib`, so that a test can make each of them fail or
kill the process at it. A file is replaced by a rename only: a reader sees the old bytes or the new ones.
"""
# ruff: noqa: PTH102, PTH105, PTH106, PTH108, PTH208

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from diopigen.diagnostics import Failure, Span, failure
from diopigen.emit.plan import RESERVED_PREFIX

_TEMPORARY = re.compile(re.escape(RESERVED_PREFIX) + r"[0-9a-f]{16}\.tmp")

_ANOTHER_FOLDER = "choose another output folder"
_NO_SPACE = {
    errno.ENOSPC: ("the disk is full", "free some space, then run the same command again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space, then run the same command again"),
    errno.EFBIG: ("it is larger than a file may be here", "raise the limit (`ulimit -f`), then run again"),
}
_UNWRITABLE = {
    errno.EACCES: ("permission denied", f"make the folder writable for you, or {_ANOTHER_FOLDER}"),
    errno.EPERM: ("not permitted", f"make the folder writable for you, or {_ANOTHER_FOLDER}"),
    errno.EROFS: ("the file system is read-only", f"mount it for writing, or {_ANOTHER_FOLDER}"),
    errno.ENAMETOOLONG: ("the name is too long", "choose an output folder with a shorter path"),
    errno.EISDIR: ("a folder has that name", f"move the folder away, or {_ANOTHER_FOLDER}"),
    errno.ENOTDIR: ("a part of the path is not a folder", f"move that file away, or {_ANOTHER_FOLDER}"),
    errno.EEXIST: ("something else has that name", f"move it away, or {_ANOTHER_FOLDER}"),
    errno.ELOOP: ("a symbolic link leads in a circle", f"remove the link, or {_ANOTHER_FOLDER}"),
    errno.ENOENT: ("a folder on the way vanished", "let nothing else change the folder, then run again"),
}


def fault(error: OSError, path: Path, action: str) -> Failure:
    """Message of an OSError for a user: `action` is a verb such as `write`."""
    number = error.errno or 0
    if action in ("read", "list"):
        rule, fix = "output-unreadable", "make it readable for you, then run the same command again"
        reason = _UNWRITABLE[number][0] if number in _UNWRITABLE else str(error.strerror)
    elif number in _NO_SPACE:
        rule, (reason, fix) = "output-no-space", _NO_SPACE[number]
    else:
        rule = "output-unwritable"
        reason, fix = _UNWRITABLE.get(
            number, (error.strerror or type(error).__name__, f"check the disk, or {_ANOTHER_FOLDER}")
        )
    return failure(rule, f"cannot {action} '{path.as_posix()}': {reason}", Span(path.as_posix()), fix)


@contextlib.contextmanager
def faults(path: Path, action: str) -> Iterator[None]:
    """Turns an OSError inside the block into the `Failure` that names `path`."""
    try:
        yield
    except OSError as error:
        raise fault(error, path, action) from error


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises `Failure` (`output-unreadable`)."""
    with faults(path, "read"):
        return path.read_bytes()


def file_mode(path: Path) -> int | None:
    """The permission bits of a plain file, or None where nothing is. Raises `Failure` for anything else there."""
    with faults(path, "write"):
        try:
            mode = os.lstat(path).st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(mode):
            raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EEXIST, "")
    return stat.S_IMODE(mode)


def stage(folder: Path, target: Path, content: bytes, mode: int | None) -> Path:
    """Writes `content` to a new temporary file in `folder` and through to the disk; gives its path.

    `mode` holds the permission bits of the file that it will replace; None leaves them to the umask. When
    writing fails the temporary file is gone again, and the `Failure` names `target`.
    """
    temporary = folder / f"{RESERVED_PREFIX}{secrets.token_hex(8)}.tmp"
    with faults(target, "write"):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            try:
                if mode is not None:
                    os.fchmod(descriptor, mode)
                rest = memoryview(content)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            discard([temporary])
            raise
    return temporary


def publish(temporary: Path, target: Path) -> None:
    """Puts a staged file in its place, in one step."""
    with faults(target, "write"):
        os.replace(temporary, target)


def write_file(target: Path, content: bytes, mode: int | None = None) -> None:
    """Replaces one file in one step. A failure leaves the old file and no temporary one."""
    temporary = stage(target.parent, target, content, mode)
    try:
        publish(temporary, target)
    except BaseException:
        discard([temporary])
        raise


def discard(temporaries: Iterable[Path]) -> None:
    """Removes files on the way out of a failed run; what cannot be removed is left to the next sweep."""
    for temporary in temporaries:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def remove_file(path: Path) -> None:
    with faults(path, "remove"), contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def make_folder(path: Path) -> bool:
    """Makes one folder; False where it is there already."""
    with faults(path, "make the folder"):
        try:
            os.mkdir(path)
        except FileExistsError:
            if not path.is_dir():
                raise
            return False
    return True


def remove_empty_folder(path: Path) -> None:
    """Removes a folder if nothing is in it; one that is not empty, not there or mounted on stays as it is."""
    with faults(path, "remove"):
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.EBUSY):
                raise


def discard_folders(created: Iterable[Path]) -> None:
    """Removes, of the folders that a failed run made (outer ones first), those that are empty."""
    for folder in reversed(list(created)):
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def sync_folder(path: Path) -> None:
    """Makes renames in `path` durable, so that a power cut cannot bring them to the disk in another order."""
    # Some network file systems refuse to sync a folder; their own ordering has to do then.
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def is_temporary(name: str) -> bool:
    """Returns whether a file name is that of a temporary file of ours."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(folders: Iterable[Path]) -> None:
    """Removes temporary files that a killed run left in these folders. The caller holds the lock."""
    for folder in folders:
        with contextlib.suppress(OSError):
            discard([folder / name for name in os.listdir(folder) if is_temporary(name)])
