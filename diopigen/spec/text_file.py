"""The text of a file that the user names: bounded in size, and rejected with a reason where it is no text."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diopigen.diagnostics import Span, failure

RULES = {
    "file-unreadable": "A file of the spec exists, is a file and may be read.",
    "file-too-large": "A file of the spec has at most 4 MiB.",
    "file-not-text": "A file of the spec is text, without null bytes.",
    "file-not-utf8": "A file of the spec is encoded as UTF-8.",
    "line-too-long": "A line of the spec has at most 20,000 characters.",
}
"""The rules that every file is held to before it is parsed, with what each one is for."""

MAX_BYTES = 4 * 1024 * 1024
MAX_LINE = 20_000


_FIX = "name a .yaml file"
_FIXES = {
    errno.ENOENT: "check the path",
    errno.EACCES: "check its permissions",
    errno.ELOOP: "let the link point at a file",
}
_PROBLEMS = {
    errno.ENOENT: "does not exist",
    errno.EISDIR: "is a directory, not a file",
    errno.ENOTDIR: "does not exist: a part of its path is a file",
    errno.EINVAL: "is not a regular file",
    errno.ELOOP: "is a link that leads in a circle",
}


_contents: dict[str, bytes] | None = None
"""Bytes of the files that `read_once` has read, by path, while `files_read_once` lasts."""


@contextmanager
def files_read_once() -> Iterator[None]:
    """Each file is read once: a digest and the work that is stored under it see the same bytes, whatever is written
    meanwhile."""
    global _contents
    if _contents is not None:
        yield
        return
    _contents = {}
    try:
        yield
    finally:
        _contents = None


def read_once(path: Path, size: int = -1) -> bytes:
    """As `read_regular`; while `files_read_once` lasts, the bytes of the first time."""
    if _contents is None:
        return read_regular(path, size)
    name = str(path)
    if name not in _contents:
        _contents[name] = read_regular(path)
    return _contents[name] if size < 0 else _contents[name][:size]


def read_regular(path: Path, size: int = -1) -> bytes:
    """The bytes of a regular file, at most `size`. A pipe, which would wait for a writer, is not opened: that and
    whatever else cannot be read raises `OSError` (or `ValueError`, for a path that no file can have)."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "is not a regular file")
    with path.open("rb") as stream:
        return stream.read(size)


def unreadable(error: OSError | ValueError) -> str:
    """Why a file could not be read, in words that follow its name."""
    number = _number(error)
    return _PROBLEMS.get(number) or f"cannot be read: {os.strerror(number)}"


def _number(error: OSError | ValueError) -> int:
    return (error.errno if isinstance(error, OSError) else None) or errno.EINVAL


def read_text(path: Path, display: str) -> str:
    """The text of a YAML file.

    Raises `Failure` where it cannot be read, is a directory, binary, not UTF-8, too large (4 MiB) or has a line of more
    than 20,000 characters: no spec file is like that, and a clear word beats minutes of parsing.
    """
    try:
        data = read_once(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise failure("file-unreadable", unreadable(error), Span(display), _FIXES.get(_number(error), _FIX)) from None
    if len(data) > MAX_BYTES:
        raise failure(
            "file-too-large", f"is larger than {MAX_BYTES // 2**20} MiB", Span(display), "split the file by family"
        )
    if b"\0" in data:
        raise failure("file-not-text", "holds null bytes and is not a text file", Span(display), "name a .yaml file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise failure(
            "file-not-utf8", f"is not UTF-8 (byte {error.start})", Span(display, line), "save it as UTF-8"
        ) from None
    for number, line_text in enumerate(text.split("\n"), 1):
        if len(line_text) > MAX_LINE:
            message = f"line of {len(line_text)} characters; at most {MAX_LINE} are read"
            raise failure("line-too-long", message, Span(display, number), "break the line")
    return text
