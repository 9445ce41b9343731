"""Dependency files in the form that Make, Ninja and CMake's `DEPFILE` read.

The target is a stamp and not the generated files: these keep their times when their content stays, so a build
tool that compared their times with the inputs' would run the generator again at every build.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from diopigen.diagnostics import Span, failure
from diopigen.output import disk
from diopigen.output.lock import locked

_ESCAPES = str.maketrans({" ": "\\ ", "#": "\\#", "$": "$$"})
_IMPOSSIBLE = frozenset("\n\r\t\0\\")
"""No escape of these is read alike by Make and by Ninja."""


def depfile_text(target: str, inputs: Iterable[str]) -> str:
    """`target: inputs`, one input per line, sorted, each once, with spaces, `#` and `$` escaped.

    Raises `Failure` (`depfile-name`) for a name that the form cannot hold: an empty one, or one with a
    backslash, a tab or a line break.
    """
    names = [_escaped(name) for name in sorted(set(inputs))]
    return " \\\n  ".join([f"{_escaped(target)}:", *names]) + "\n"


def write_stamp(stamp: Path, depfile: Path | None, inputs: Iterable[str]) -> None:
    """Gives the stamp the time of this run, and names the inputs in the dependency file. Raises as its two parts do."""
    write_if_changed(stamp, b"")
    os.utime(stamp)
    if depfile is not None:
        write_if_changed(depfile, os.fsencode(depfile_text(str(stamp), inputs)))


def write_if_changed(path: Path, content: bytes) -> bool:
    """Replaces `path` in one step if its content differs, else leaves it and its time alone; says which.

    Makes the folder if need be. For single files outside any plan, such as a depfile. Raises `Failure`
    (`output-unwritable`, `output-unreadable`, `output-no-space`, `output-locked`).
    """
    with locked(path.parent):
        disk.sweep([path.parent])
        mode = disk.file_mode(path)
        if mode is not None and disk.read_bytes(path) == content:
            return False
        disk.write_file(path, content, mode)
        return True


def _escaped(name: str) -> str:
    bad = next((character for character in name if character in _IMPOSSIBLE), None)
    if not name or bad:
        raise failure(
            "depfile-name",
            f"cannot name {name!r} in a dependency file: it " + (f"has {bad!r} in it" if bad else "is empty"),
            Span(name) if name else None,
            "rename the file or the folder that it is in",
        )
    return name.translate(_ESCAPES)
