"""Where the host runtime lies that a library under test runs on."""

from __future__ import annotations

from pathlib import Path

from diopigen.diagnostics import Span, failure

RUNTIME_NAME = "libdiopirt.so"


def runtime_for(library: Path, named: str | None) -> Path:
    """The runtime that is named, else the one in the folder of the library or below it. Raises `Failure` without."""
    if named:
        return Path(named)
    folder = library.parent
    found = sorted(folder.rglob(RUNTIME_NAME), key=lambda path: len(path.parts))
    if found:
        return found[0]
    fix = "build runtime/ and name it with --runtime"
    raise failure("runtime-missing", f"there is no {RUNTIME_NAME} beside the library", Span(str(folder)), fix)
