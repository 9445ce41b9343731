"""Locates the library under test and its host runtime."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from diopigen.diagnostics import Span, failure

RUNTIME_NAME = "libdiopirt.so"
DISPATCH_NAME = "libdiopi_dispatch.so"
PACKED_NAME = "libdiopi_tvm_ffi.so"
_DEPTH = 3
"""Levels of folders below the library's that are searched: `build/runtime`, `build/x/runtime`."""
_ENTRIES = 20_000
"""Directory entries that are looked at. A library in a large folder needs --runtime."""


def library_and_runtime(lib: str, runtime: str | None, built: Callable[[], Path] | None = None) -> tuple[Path, Path]:
    """The library, and the runtime that is named, else the one nearest to it, in its folder or below, else what
    `built` returns.

    Raises `Failure` where one of them is not a file.
    """
    library = Path(lib)
    _expect_file(library, "library-missing", "build the library, or name it with --lib")
    if runtime:
        found = Path(runtime)
        _expect_file(found, "runtime-missing", "build runtime/, or name libdiopirt.so with --runtime")
        return library, found
    nearest = _search(library.parent, RUNTIME_NAME)
    if nearest is None and built is not None:
        nearest = built()
    if nearest is None:
        fix = "build runtime/ and name it with --runtime"
        message = f"there is no {RUNTIME_NAME} in the library's folder or {_DEPTH} levels below it"
        raise failure("runtime-missing", message, Span(str(library.parent)), fix)
    return library, nearest


def dispatch_library(library: Path) -> Path:
    """The dispatch library nearest to a vendor's, in its folder or below, or in the folder above. Raises `Failure`."""
    found = _search(library.parent, DISPATCH_NAME) or _search(library.absolute().parent.parent, DISPATCH_NAME)
    if found is None:
        fix = "build runtime/dispatch below the library's folder"
        message = f"there is no {DISPATCH_NAME} in the library's folder or {_DEPTH} levels below it"
        raise failure("dispatch-missing", message, Span(str(library.parent)), fix)
    return found


def packed_library(library: Path) -> Path | None:
    """The library of packed functions nearest to a vendor's, in its folder or below, or in the folder above; None where
    there is none."""
    return _search(library.parent, PACKED_NAME) or _search(library.absolute().parent.parent, PACKED_NAME)


def _expect_file(path: Path, code: str, fix: str) -> None:
    try:
        if path.is_file():
            return
        what = "is not a file" if path.exists() else "does not exist"
    except (OSError, ValueError) as error:  # a loop of links, a NUL in the name
        what = f"cannot be read: {getattr(error, 'strerror', None) or error}"
    raise failure(code, what, Span(str(path)), fix)


def _search(folder: Path, name: str) -> Path | None:
    """The file of that name nearest to `folder`, level by level, past unreadable folders and links to folders."""
    level, looked_at = [folder], 0
    for _ in range(_DEPTH + 1):
        below: list[Path] = []
        for directory in level:
            candidate = directory / name
            if candidate.is_file():
                return candidate
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        looked_at += 1
                        if looked_at > _ENTRIES:
                            return None
                        if entry.is_dir(follow_symlinks=False):
                            below.append(directory / entry.name)
            except OSError:
                continue
        level = sorted(below)
    return None
