"""`MANIFEST.json`, the record of what was written, and the journal of a run that is under way.

The manifest is a function of the plan alone: sorted, one line per file, no time, no version, no absolute path.
While a run replaces files, `.diopigen-journal.json` lists the hashes of what it is about to write. If the run
is killed, the next one finds both hashes of every file, the old one in the manifest and the new one in the
journal, and so does not take a half-done tree for one that was edited by hand.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Failure, Sink, Span, failure
from diopigen.emit.plan import MANIFEST_NAME, RESERVED_PREFIX, Plan, unsafe_reason
from diopigen.output import disk

FORMAT = 1
"""The number in `format`; it changes when a reader of the old form could not read the new one."""

JOURNAL_NAME = f"{RESERVED_PREFIX}journal.json"

_HASH = re.compile(r"[0-9a-f]{64}")
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7})( |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that was written: its path below the root, the hash of its bytes, the names of its inputs."""

    path: str
    sha256: str
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Records:
    """Manifest of an output root: `known` maps a path to every hash of generated content.

    `trusted` is False where the manifest could not be read, so that nothing can be said about hand edits.
    """

    known: Mapping[str, frozenset[str]] = field(default_factory=dict)
    journal: Mapping[str, frozenset[str]] | None = None
    trusted: bool = True


def sha256(content: bytes) -> str:
    """The hash that manifests hold: SHA-256, lower-case hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def manifest_bytes(plan: Plan) -> bytes:
    """The manifest of a plan, as in the file."""
    entries = (
        {"path": path, "sha256": sha256(content), "inputs": list(plan.inputs(path))} for path, content in plan.items()
    )
    return _document(entries)


def journal_bytes(journal: Mapping[str, frozenset[str]]) -> bytes:
    """The journal as in the file: each path with all hashes that a run may leave there."""
    return _document({"path": path, "sha256": sorted(hashes)} for path, hashes in sorted(journal.items()))


def _document(entries: Iterable[Mapping[str, Any]]) -> bytes:
    # One line per file: a review shows what changed, and version control can merge two changes.
    lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
    files = f"[\n{lines}\n  ]" if lines else "[]"
    return f'{{\n  "format": {FORMAT},\n  "files": {files}\n}}\n'.encode()


def parse_manifest(content: bytes, name: str, command: str) -> tuple[Entry, ...]:
    """The entries of a manifest.

    Raises `Failure` with `manifest-damaged`, `manifest-foreign` or `manifest-format`; `name` is the file
    that the message points at, `command` the one to run again.
    """
    start_over = f"restore it from version control, or delete it and run '{command} --force'"
    document = _load(content, name, start_over)
    if not isinstance(document, dict) or "format" not in document or "files" not in document:
        raise failure(
            "manifest-foreign",
            f"'{name}' is not a manifest of diopigen",
            Span(name),
            "choose another output folder, or move that file away",
        )
    if type(document["format"]) is not int or document["format"] != FORMAT:
        found = json.dumps(document["format"])[:40]
        raise failure(
            "manifest-format",
            f"'{name}' has format {found}, this diopigen reads format {FORMAT}",
            Span(name),
            f"use the diopigen that wrote it, or delete it and run '{command} --force'",
        )
    entries = tuple(_entry(raw, name, start_over) for raw in _files(document, name, start_over))
    _require_distinct([entry.path for entry in entries], name, start_over)
    return entries


def parse_journal(content: bytes, name: str, command: str) -> dict[str, frozenset[str]]:
    """Path to hashes out of a journal. Raises `Failure` with `manifest-damaged`."""
    fix = f"delete it and run '{command}' again"
    document = _load(content, name, fix)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise _damaged(name, f"it has no format {FORMAT}", fix)
    journal: dict[str, frozenset[str]] = {}
    for raw in _files(document, name, fix):
        path, hashes = _path(raw, name, fix), raw.get("sha256")
        if not isinstance(hashes, list) or not all(_is_hash(value) for value in hashes):
            raise _damaged(name, f"the entry of '{path}' has no list of SHA-256 hashes", fix)
        journal[path] = frozenset(hashes)
    return journal


def read_records(root: Path, sink: Sink, command: str) -> Records:
    """Content of the manifest and the journal below `root`. Reports to the sink what cannot be read of them."""
    known: dict[str, frozenset[str]] = {}
    journal: dict[str, frozenset[str]] | None = None
    trusted = True
    try:
        manifest = root / MANIFEST_NAME
        if manifest.is_file() and not manifest.is_symlink():
            for entry in parse_manifest(disk.read_bytes(manifest), manifest.as_posix(), command):
                known[entry.path] = frozenset([entry.sha256])
    except Failure as problem:
        sink.extend(problem.diagnostics)
        trusted = False
    try:
        unfinished = root / JOURNAL_NAME
        if unfinished.is_file() and not unfinished.is_symlink():
            journal = parse_journal(disk.read_bytes(unfinished), unfinished.as_posix(), command)
            for path, hashes in journal.items():
                known[path] = known.get(path, frozenset()) | hashes
    except Failure as problem:
        sink.extend(problem.diagnostics)
        trusted = False
    return Records(known, journal, trusted)


def _load(content: bytes, name: str, fix: str) -> Any:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _damaged(name, f"byte {error.start} is not UTF-8", fix) from None
    conflict = _CONFLICT.search(text)
    if conflict:
        line = text.count("\n", 0, conflict.start()) + 1
        raise _damaged(name, "it has the markers of a merge conflict", fix, Span(name, line, 1))
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _damaged(name, error.msg, fix, Span(name, error.lineno, error.colno)) from None
    except (RecursionError, ValueError):
        raise _damaged(name, "it is not JSON of a reasonable size", fix) from None


def _files(document: dict[str, Any], name: str, fix: str) -> list[dict[str, Any]]:
    files = document.get("files")
    if not isinstance(files, list):
        raise _damaged(name, "'files' is not a list", fix)
    for index, raw in enumerate(files):
        if not isinstance(raw, dict):
            raise _damaged(name, f"entry {index + 1} of 'files' is not an object", fix)
    return files


def _entry(raw: dict[str, Any], name: str, fix: str) -> Entry:
    path, digest, inputs = _path(raw, name, fix), raw.get("sha256"), raw.get("inputs")
    if not _is_hash(digest):
        raise _damaged(name, f"the entry of '{path}' has no SHA-256 hash", fix)
    if not isinstance(inputs, list) or not all(isinstance(value, str) for value in inputs):
        raise _damaged(name, f"the entry of '{path}' has no list of inputs", fix)
    return Entry(path, str(digest), tuple(inputs))


def _path(raw: dict[str, Any], name: str, fix: str) -> str:
    path = raw.get("path")
    if not isinstance(path, str):
        raise _damaged(name, "an entry of 'files' has no path", fix)
    # The run deletes files that this list names: a path that leaves the root must never get further.
    reason = unsafe_reason(path)
    if reason:
        raise _damaged(name, f"the path {json.dumps(path)[:200]} cannot be one of ours: {reason}", fix)
    return path


def _is_hash(value: object) -> bool:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _require_distinct(paths: list[str], name: str, fix: str) -> None:
    seen: set[str] = set()
    for path in paths:
        if path in seen:
            raise _damaged(name, f"it lists '{path}' twice", fix)
        seen.add(path)


def _damaged(name: str, what: str, fix: str, span: Span | None = None) -> Failure:
    return failure("manifest-damaged", f"'{name}' is damaged: {what}", span or Span(name), fix)
