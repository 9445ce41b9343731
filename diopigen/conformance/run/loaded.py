"""Libraries of functions of the interface that are in the processes of an executor, besides the one under test.

A library may open another one and pass calls on to it. Results are then those of the other one, which a report must
name. What is read here is the system's account of the processes, not theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from diopigen.diagnostics import Failure
from diopigen.vendor.elf import read_symbols

_LARGEST = 4 << 30
"""Bytes of a library; kernels for many processors take gigabytes."""
_FIRST_WORDS = 5
"""Words of a line of /proc/PID/maps before the path."""


def serving_libraries(process: int, functions: Iterable[str], own: Iterable[str]) -> dict[str, list[str]]:
    """Paths of libraries that are loaded in a process or in those that it has started, and the functions of each, in
    order. Those of `own` and those that variables of the environment name are left out. Nothing is found on systems
    without /proc."""
    known = {os.path.realpath(path) for path in own}
    known |= {os.path.realpath(value) for name, value in os.environ.items() if name.startswith("DIOPI_") and value}
    names = frozenset(functions)
    found = {}
    for path in sorted({path for pid in _family(process) for path in _mapped(pid)} - known):
        defined = sorted(names & _defined(path))
        if defined:
            found[path] = defined
    return found


def _family(process: int) -> Iterator[int]:
    yield process
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return
    for child in children:
        yield from _family(int(child))


def _mapped(process: int) -> set[str]:
    try:
        lines = Path(f"/proc/{process}/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return set()
    words = (line.split(maxsplit=_FIRST_WORDS) for line in lines)
    return {one[_FIRST_WORDS] for one in words if len(one) > _FIRST_WORDS and one[_FIRST_WORDS].startswith("/")}


@lru_cache(maxsize=512)
def _defined(path: str) -> frozenset[str]:
    """The names that a file defines; none of one of another kind, of one that is gone, and of one that is larger than
    libraries are: the library under test may map any file."""
    try:
        return read_symbols(Path(path)).defined if Path(path).stat().st_size <= _LARGEST else frozenset()
    except (Failure, OSError):
        return frozenset()
