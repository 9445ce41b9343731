"""Definitions that a scan found in a vendor's files, cached by file with all that they follow from.

An entry belongs to one command line of clang. A file's definitions are taken from it while the file, every header that
clang read for it, and the paths at which it found none are as they were.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from diopigen.header import stubs
from diopigen.header.vendor_file import FileFacts
from diopigen.output import cache

_KIND = "vendor-scan"
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)?', re.MULTILINE)
_COMPUTED = re.compile(rb"__has_include|include_next|__has_embed|\?\?=|%:|\\\r?\n[ \t]*include")
"""Forms of an include that the text alone does not resolve; a file that has one is read each time."""
_JUST_NOW = 20_000_000
"""Nanoseconds: times of files are no finer than a tick of the kernel."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files that a parse read, with digests of their bytes, and paths at which it looked for one in vain."""

    files: tuple[tuple[str, str], ...]
    absent: tuple[str, ...]


class ScanCache:
    """The entry of one scan. `written` is a folder that was made for this scan alone: its name does not count."""

    def __init__(self, words: Sequence[str], arguments: Sequence[str], written: Path | None) -> None:
        self._written = "" if written is None else str(written.absolute())
        self._folders = [argument[2:] for argument in arguments if argument.startswith("-I")]
        self._key = ""
        self._known: dict[str, tuple[Inputs, FileFacts | None]] = {}
        self._digests: dict[str, str | None] = {}
        self._absent_by_file: dict[str, dict[str, None] | None] = {}
        self._changed = False
        self._started = time.time_ns()
        try:
            said = [version("libclang"), str(Path.cwd()), *(self._stored(word) for word in (*words, *arguments))]
            self._key = cache.key_of((), said)
        except (OSError, PackageNotFoundError):
            return
        self._known = cache.read(_KIND, self._key) or {}

    def get(self, name: str) -> FileFacts | None:
        """The definitions in a file; None where they are not known."""
        return self._known[name][1] if self.holds(name) else None

    def holds(self, name: str) -> bool:
        """Returns whether something was stored for this name, and nothing that it follows from has changed."""
        if name not in self._known:
            return False
        inputs = self._known[name][0]
        return all(self._digest(self._real(path)) == digest for path, digest in inputs.files) and not any(
            self._digest(self._real(path)) is not None for path in inputs.absent
        )

    def put(self, name: str, units: Sequence[Any], facts: FileFacts | None = None) -> None:
        """Stores what these parses of a file found, if the files that they read tell what it follows from."""
        inputs = self._inputs(units)
        if inputs is not None:
            self._known[name] = inputs, facts
        else:
            self._known.pop(name, None)
        self._changed = True

    def drop(self) -> None:
        """Forgets everything: the headers ahead of each file have changed."""
        self._known = {}

    def save(self, names: Sequence[str]) -> None:
        """Writes the entry, with these names alone, where something is new."""
        if self._changed and self._key:
            cache.write(_KIND, self._key, {name: self._known[name] for name in names if name in self._known})

    def _stored(self, path: str) -> str:
        return path.replace(self._written, "@", 1) if self._written else path

    def _real(self, path: str) -> str:
        return self._written + path[1:] if path.startswith("@") and self._written else path

    def _digest(self, path: str) -> str | None:
        """A digest of the bytes of a file; None where there is none."""
        if path not in self._digests:
            try:
                self._digests[path] = hashlib.blake2b(Path(path).read_bytes(), digest_size=16).hexdigest()
            except (OSError, ValueError):
                self._digests[path] = None
        return self._digests[path]

    def _is_new(self, path: str) -> bool:
        """Returns whether a file may have been written since clang has read it."""
        own = self._stored(path) != path
        return not own and Path(path).stat().st_mtime_ns > self._started - _JUST_NOW

    def _inputs(self, units: Sequence[Any]) -> Inputs | None:
        """The inputs of these parses; None where the texts do not tell them."""
        files: dict[str, str] = {}
        absent: dict[str, None] = {}
        for path in _read_by(units):
            digest = self._digest(path)
            if digest is None or self._is_new(path):
                return None
            if path not in self._absent_by_file:
                self._absent_by_file[path] = self._looked_for(path)
            paths = self._absent_by_file[path]
            if paths is None:
                return None
            files[self._stored(path)] = digest
            absent.update(paths)
        return Inputs(tuple(files.items()), tuple(absent))

    def _looked_for(self, path: str) -> dict[str, None] | None:
        """The paths at which clang finds nothing for an include of a file; None where the text does not tell them."""
        text = Path(path).read_bytes()
        if _COMPUTED.search(text):
            return None
        absent: dict[str, None] = {}
        for match in _INCLUDE.finditer(text):
            name = match[1] or match[2]
            if name is None:
                return None
            including = [str(Path(path).parent)] if match[1] else []
            for folder in (*including, *self._folders):
                candidate = str(Path(folder, name.decode("utf-8", errors="surrogateescape")))
                if self._digest(candidate) is not None:
                    break
                absent[self._stored(candidate)] = None
        return absent


def _read_by(units: Sequence[Any]) -> Iterator[str]:
    """The files that units read, without those that stand for the standard library."""
    names: dict[str, None] = {}
    for unit in units:
        names[unit.spelling] = None
        names.update(dict.fromkeys(str(inclusion.include.name) for inclusion in unit.get_includes()))
    yield from (name for name in names if not name.startswith(stubs.FOLDER))
