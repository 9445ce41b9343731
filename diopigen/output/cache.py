"""Results cached in the user's cache folder under a digest of their inputs: always right, or not used.

An entry is found by a digest over every byte that it follows from, so that nothing has to be invalidated. It is
written to a temporary name and renamed, so that concurrent runs see whole entries; a digest over its content is in
front, and an entry that does not have it counts as absent. Trouble with the folder is no fault: the work is done again.

Entries are pickles. They are read from a folder that belongs to the user and that no other user may write to.
`DIOPIGEN_CACHE` names another folder, or is `off`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import os
import pickle
import stat
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from diopigen.collection import no_collection
from diopigen.package import package_data
from diopigen.spec.folder import entries_below
from diopigen.spec.text_file import read_once, read_regular

MAX_ENTRIES = 8
"""Entries of one kind that stay; the oldest go first."""
_DIGEST = 32
_LIBRARIES = ("pyyaml", "jinja2")
_PACKAGE = Path(__file__).resolve().parents[1]
_PROGRAM_DATA = ("formulas.yaml", "types.yaml")
"""Files of the spec that travels along which the program reads for itself, whatever spec it works on."""


def key_of(folders: Iterable[Path], words: Iterable[str] = ()) -> str:
    """A key for work on `folders` and `words`. Raises `OSError` where a file or folder cannot be read."""
    return keyed(digest_of(folders), words)


def keyed(digest: str, words: Iterable[str]) -> str:
    """A key for work on folders with this digest and on `words`."""
    return hashlib.blake2b(repr((digest, *words)).encode(), digest_size=_DIGEST).hexdigest()


def digest_of(folders: Iterable[Path]) -> str:
    """A digest over diopigen's own sources, the versions of Python and of the libraries that read specs and templates,
    the names of all entries below `folders`, and the bytes of those that are regular files. Raises `OSError` where a
    file or folder cannot be read."""
    digest = hashlib.blake2b(_digest_of_program(_PACKAGE), digest_size=_DIGEST)
    for folder in folders:
        _add(digest, folder)
    return digest.hexdigest()


@functools.cache
def _digest_of_program(package: Path) -> bytes:
    """Read once: the modules that do the work are those that were imported, whatever becomes of their files."""
    versions = repr((sys.version, *(version(library) for library in _LIBRARIES)))
    digest = hashlib.blake2b(versions.encode(), digest_size=_DIGEST)
    _add(digest, package)
    for name in _PROGRAM_DATA:
        digest.update(read_regular(package_data("specs") / name))
    return digest.digest()


def forget_program() -> bytes:
    """The digest of the program as its files are now; that of what was imported is forgotten."""
    _digest_of_program.cache_clear()
    return _digest_of_program(_PACKAGE)


def _add(digest: hashlib.blake2b, folder: Path) -> None:
    digest.update(b"folder")
    for found in entries_below(folder):
        name = found.name
        if not found.regular:  # never opened: what it holds is not ours to wait for
            kind = "folder" if found.path.is_dir() else "other"
            digest.update(f"{len(name)} {name} {kind} ".encode(errors="surrogateescape"))
            continue
        content = read_once(found.path)
        digest.update(f"{len(name)} {name} {len(content)} ".encode(errors="surrogateescape"))
        digest.update(content)


def folder() -> Path | None:
    """The cache folder, made where it is missing; None where there is to be none or it is not safe to read from."""
    named = os.environ.get("DIOPIGEN_CACHE", "")
    if named.lower() in ("off", "0", "no"):
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    try:
        selected = Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "diopigen"
        selected.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = selected.lstat()
    except (OSError, RuntimeError):
        return None
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    safe = stat.S_ISDIR(found.st_mode) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return selected if mine and safe else None


def read(kind: str, key: str) -> Any:
    """The entry, or None where there is none that is whole."""
    folder_of_cache = folder()
    if folder_of_cache is None:
        return None
    try:
        path = folder_of_cache / f"{kind}-{key}"
        data = read_regular(path)
        content = memoryview(data)[_DIGEST:]
        if hashlib.blake2b(content, digest_size=_DIGEST).digest() != data[:_DIGEST]:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return unpacked(content)
    except Exception:  # whatever a broken entry does: the work is done again
        return None


def write(kind: str, key: str, value: Any) -> None:
    """Keeps an entry, and lets the oldest ones of its kind go."""
    folder_of_cache = folder()
    if folder_of_cache is None:
        return
    with contextlib.suppress(OSError, pickle.PicklingError, RecursionError):
        content = packed(value)
        digest = hashlib.blake2b(content, digest_size=_DIGEST).digest()
        handle, temporary = tempfile.mkstemp(prefix=f".{kind}-", dir=folder_of_cache)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(digest)
                file.write(content)
            os.replace(temporary, folder_of_cache / f"{kind}-{key}")  # noqa: PTH105  # Path costs more than the call
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108  # as above
            raise
        _prune(folder_of_cache, kind)


class Parts:
    """Many values in one entry, each found by a key of its own and read alone. Those that a run used stay."""

    def __init__(self, kind: str, words: Iterable[str]) -> None:
        self._kind = kind
        self._changed = False
        self._used: dict[str, bytes] = {}
        self._known: dict[str, bytes] = {}
        self._key = ""
        if folder() is not None:
            with contextlib.suppress(OSError):
                self._key = key_of((), words)
                self._known = read(kind, self._key) or {}

    def get(self, key: str) -> Any:
        """The value, or None where it is not known."""
        content = self._known.get(key)
        if content is None:
            return None
        self._used[key] = content
        return unpacked(content)

    def put(self, key: str, value: Any) -> None:
        """Adds a value."""
        if self._key:
            self._used[key] = packed(value)
            self._changed = True

    def save(self) -> None:
        """Writes the entry where something is new."""
        if self._changed:
            write(self._kind, self._key, self._used)


def packed(value: Any) -> bytes:
    """A value as bytes of an entry, for entries of which a part is read alone."""
    stream = io.BytesIO()
    with no_collection():
        _Pickler(stream, protocol=5).dump(value)
    return stream.getvalue()


def unpacked(content: bytes | memoryview) -> Any:
    """Inverse of `packed`."""
    with no_collection():
        return pickle.loads(content)


class _Pickler(pickle.Pickler):
    """Frozen dataclasses as calls of their class: they are read in half the time that their own form takes."""

    def reducer_override(self, obj: Any) -> Any:
        kind = type(obj)
        if kind not in _FIELDS:
            _FIELDS[kind] = _arguments(kind)
        names = _FIELDS[kind]
        return NotImplemented if names is None else (kind, tuple(getattr(obj, name) for name in names))


_FIELDS: dict[type, tuple[str, ...] | None] = {}


def _arguments(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass that its constructor takes as they are; None for all other classes."""
    if not dataclasses.is_dataclass(kind) or hasattr(kind, "__post_init__"):
        return None
    fields = dataclasses.fields(kind)
    plain = all(field.init and not field.kw_only for field in fields)
    return tuple(field.name for field in fields) if plain else None


def _prune(folder_of_cache: Path, kind: str) -> None:
    entries = [
        (entry.stat().st_mtime, entry.path)
        for entry in os.scandir(folder_of_cache)
        if entry.name.startswith(f"{kind}-")
    ]
    for _, path in sorted(entries, reverse=True)[MAX_ENTRIES:]:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108  # as above
