"""Libraries of functions of the interface that are in the processes of an executor, besides the one under test.

A library may open another one and pass calls on to it. Results are then those of the other one, which a report must
name. What is read here is the system's account of the processes, not theirs.
"""

from __future__ import annotations

import filecmp
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from diopigen.diagnostics import Failure
from diopigen.vendor.elf import read_symbols

_LARGEST = 4 << 30
"""Bytes of a library; kernels for many processors take gigabytes."""
_LARGEST_UNNAMED = 64 << 20
"""Bytes that are read of a file in memory."""
_DELETED = " (deleted)"
_FIRST_WORDS = 5
"""Words of a line of /proc/PID/maps before the path."""


def serving_libraries(process: int, functions: Iterable[str], own: Iterable[str]) -> dict[str, list[str]]:
    """Paths of libraries that are loaded in a process or in those that it has started, and the functions of each, in
    order. Those of `own`, their copies and those that variables of the environment name are left out. Nothing is found
    on systems without /proc."""
    known = {os.path.realpath(path) for path in own}
    known |= {os.path.realpath(value) for name, value in os.environ.items() if name.startswith("DIOPI_") and value}
    names = frozenset(functions)
    found = {}
    for path, mapping in sorted(_mappings(process).items()):
        if path.removesuffix(_DELETED) in known:
            continue
        defined = sorted(names & mapping.names(path, names))
        if defined and not any(_is_copy(path, one) for one in known):
            found[path] = defined
    return found


def _is_copy(path: str, other: str) -> bool:
    """Returns whether two files have the same name and bytes, as an executor's copy of the library under test has."""
    try:
        return Path(path).name == Path(other).name and filecmp.cmp(path, other, shallow=False)
    except OSError:
        return False


@dataclass(slots=True)
class _Mapping:
    """A file in a process: its inode, and its readable addresses."""

    process: int
    inode: int
    ranges: list[tuple[int, int]]

    def names(self, path: str, names: frozenset[str]) -> frozenset[str]:
        """The names that the file defines. One without a name here, as in memory or below a mount of the process, is
        read there: it has the names between zero bytes."""
        try:
            if Path(path).stat().st_ino == self.inode:
                return _defined(path)
        except OSError:
            pass
        try:
            with Path(f"/proc/{self.process}/mem").open("rb", buffering=0) as memory:
                content = b"".join(self._read(memory, start, end) for start, end in self.ranges)
        except OSError:
            return frozenset()
        return frozenset(name for name in names if b"\0" + name.encode() + b"\0" in content)

    @staticmethod
    def _read(memory: io.RawIOBase, start: int, end: int) -> bytes:
        try:
            memory.seek(start)
            return memory.read(min(end - start, _LARGEST_UNNAMED)) or b""
        except OSError:
            return b""


def _family(process: int) -> Iterator[int]:
    yield process
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return
    for child in children:
        yield from _family(int(child))


def _mappings(process: int) -> dict[str, _Mapping]:
    """The files from which code is mapped into a process or those that it has started."""
    found: dict[str, _Mapping] = {}
    for one in _family(process):
        readable: dict[str, list[tuple[int, int]]] = {}
        inodes: dict[str, int] = {}
        for line in _lines(f"/proc/{one}/maps"):
            words = line.split(maxsplit=_FIRST_WORDS)
            if len(words) <= _FIRST_WORDS or not words[_FIRST_WORDS].startswith("/"):
                continue
            path = words[_FIRST_WORDS]
            if words[1].startswith("r"):
                start, _, end = words[0].partition("-")
                readable.setdefault(path, []).append((int(start, 16), int(end, 16)))
            if "x" in words[1]:
                inodes[path] = int(words[4])
        found.update({path: _Mapping(one, inode, readable.get(path, [])) for path, inode in inodes.items()})
    return found


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []


@lru_cache(maxsize=512)
def _defined(path: str) -> frozenset[str]:
    """The names that a file defines; none of one of another kind, of one that is gone, and of one that is larger than
    libraries are: the library under test may map any file."""
    try:
        return read_symbols(Path(path)).defined if Path(path).stat().st_size <= _LARGEST else frozenset()
    except (Failure, OSError):
        return frozenset()
