"""The history of a suite: one SQLite file with every run, small enough to keep them all.

A run has one byte for the outcome and one for the time of each case, compressed; what is equal in several runs (the ids
of their cases, outcomes, errors) is in the file once. Messages are there where an outcome changed.
"""

from __future__ import annotations

import datetime
import errno
import hashlib
import json
import math
import os
import platform
import sqlite3
import statistics
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.conformance.model import FAILURES, CaseResult, Results
from diopigen.conformance.report.accuracy import rows_of
from diopigen.diagnostics import Span, failure
from diopigen.output.disk import fault
from diopigen.spec.text_file import read_regular

MAGIC = b"SQLite format 3\0"
FORM = 1
CODES = {
    "passed": "p", "declared": "d", "converted": "v", "excepted": "e", "failed": "F", "crashed": "C", "hung": "H",
    "nondeterministic": "N", "unimplemented": "u", "missing": "m", "uncovered": "o", "inapplicable": "i",
}  # fmt: skip
"""The byte of each outcome; files that exist have them."""
NAMES = {code: name for name, code in CODES.items()}
_UNIT, _STEPS = 1e-6, 8
"""Times are in steps of an eighth of a power of two above a microsecond: 4 per cent off at most, up to an hour."""
_WRITING = {
    "database or disk is full": errno.ENOSPC,
    "disk I/O error": errno.EIO,
    "attempt to write a readonly database": errno.EACCES,
}
"""Messages of SQLite about the disk, as error numbers: the content of the file is not at fault."""
_WAIT = 60.0
"""Seconds to wait for another process that writes."""
_SCHEMA = """
CREATE TABLE blob (id INTEGER PRIMARY KEY, digest TEXT UNIQUE NOT NULL, data BLOB NOT NULL);
CREATE TABLE run (
    id INTEGER PRIMARY KEY, at TEXT NOT NULL, host TEXT NOT NULL, library TEXT NOT NULL, vendor TEXT NOT NULL,
    version TEXT NOT NULL, library_digest TEXT NOT NULL, spec_digest TEXT NOT NULL, settings TEXT NOT NULL,
    seed INTEGER NOT NULL, seconds REAL NOT NULL, not_run INTEGER NOT NULL, suspects TEXT NOT NULL,
    counts TEXT NOT NULL,
    cases INTEGER NOT NULL REFERENCES blob, outcomes INTEGER NOT NULL REFERENCES blob,
    times INTEGER NOT NULL REFERENCES blob, errors INTEGER NOT NULL REFERENCES blob,
    fingerprint TEXT UNIQUE NOT NULL
);
CREATE TABLE change (run INTEGER NOT NULL REFERENCES run, "case" TEXT NOT NULL, before TEXT NOT NULL,
    outcome TEXT NOT NULL, message TEXT NOT NULL);
CREATE INDEX change_of_run ON change (run);
"""


def time_code(seconds: float) -> int:
    """A time as one byte."""
    return max(0, min(255, round(_STEPS * math.log2(max(seconds, _UNIT) / _UNIT))))


def time_of(code: int) -> float:
    """The seconds of a byte."""
    return float(_UNIT * 2 ** (code / _STEPS))


@dataclass(frozen=True, slots=True)
class Run:
    """A run as the history has it. `cases`, `outcomes`, `times` and `errors` are numbers of blobs."""

    id: int
    at: str
    host: str
    library: str
    vendor: str
    version: str
    library_digest: str
    spec_digest: str
    settings: str
    seed: int
    seconds: float
    not_run: int
    suspects: tuple[str, ...]
    counts: Mapping[str, int]
    cases: int
    outcomes: int
    times: int
    errors: int


@dataclass(frozen=True, slots=True)
class Change:
    """A case whose outcome is another one than in the run before; the message is that of its first fault."""

    run: int
    case: str
    before: str
    outcome: str
    message: str


class History:
    """An open history."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def runs(self) -> list[Run]:
        """All runs, the oldest first."""
        columns = ", ".join(Run.__slots__)
        rows = self._connection.execute(f"SELECT {columns} FROM run ORDER BY at, id")
        return [_run(dict(zip(Run.__slots__, row, strict=True))) for row in rows]

    def blob(self, number: int) -> bytes:
        """The content of a blob."""
        (data,) = self._connection.execute("SELECT data FROM blob WHERE id = ?", (number,)).fetchone()
        return zlib.decompress(data)

    def ids(self, run: Run) -> list[str]:
        """The ids of the cases of a run; `outcomes` and `times` are in their order."""
        content = self.blob(run.cases).decode()
        return content.split("\n") if content else []

    def changes(self, run: Run) -> list[Change]:
        """Changes in a run, compared with the previous one of the same vendor."""
        columns = 'run, "case", before, outcome, message'
        rows = self._connection.execute(f'SELECT {columns} FROM change WHERE run = ? ORDER BY "case"', (run.id,))
        return [Change(*row) for row in rows]

    def last(self, vendor: str) -> Run | None:
        """The latest run of a vendor's library."""
        return next((run for run in reversed(self.runs()) if run.vendor == vendor), None)

    def add(self, results: Results, at: datetime.datetime, host: str = "") -> int | None:
        """Adds a run; its number, or None where the same results are there already."""
        ordered = sorted(results.results, key=lambda one: one.case.id)
        ids = "\n".join(one.case.id for one in ordered).encode()
        outcomes = "".join(CODES[one.outcome] for one in ordered).encode()
        times = bytes(time_code(one.seconds) for one in ordered)
        identity = [results.identity.get(key, "") for key in ("library", "spec", "settings")]
        facts = repr((identity, results.library, results.vendor, results.library_version, results.seed))
        fingerprint = hashlib.blake2b(b"\0".join((facts.encode(), ids, outcomes, times)), digest_size=16).hexdigest()
        if self._connection.execute("SELECT 1 FROM run WHERE fingerprint = ?", (fingerprint,)).fetchone():
            return None
        before = self.last(results.vendor)
        errors = [[row.function, row.dtype, row.worst] for row in rows_of(ordered)]
        blobs = [self._stored(one) for one in (ids, outcomes, times, json.dumps(errors).encode())]
        values = (
            at.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), host or platform.node(),
            results.library, results.vendor, results.library_version, *identity, results.seed, results.seconds,
            results.not_run, json.dumps([one.card for one in results.suspects]),
            json.dumps({name: count for name, count in results.counts.items() if count}), *blobs, fingerprint,
        )  # fmt: skip
        columns = ", ".join((*Run.__slots__[1:], "fingerprint"))
        marks = ", ".join("?" * len(values))
        number = self._connection.execute(f"INSERT INTO run ({columns}) VALUES ({marks})", values).lastrowid
        assert number is not None
        rows = [(number, *change) for change in self._changed(before, ordered)] if before else []
        self._connection.executemany("INSERT INTO change VALUES (?, ?, ?, ?, ?)", rows)
        return number

    def _changed(self, before: Run, ordered: Sequence[CaseResult]) -> Iterator[tuple[str, str, str, str]]:
        codes = self.blob(before.outcomes).decode()
        known = dict(zip(self.ids(before), codes, strict=True))
        for one in ordered:
            was = NAMES[known[one.case.id]] if one.case.id in known else ""
            if was != one.outcome and (was or one.outcome in FAILURES):
                yield one.case.id, was, one.outcome, one.faults[0].message[:300] if one.faults else ""

    def _stored(self, content: bytes) -> int:
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        found = self._connection.execute("SELECT id FROM blob WHERE digest = ?", (digest,)).fetchone()
        if found:
            return int(found[0])
        done = self._connection.execute(
            "INSERT INTO blob (digest, data) VALUES (?, ?)", (digest, zlib.compress(content, 9))
        )
        assert done.lastrowid is not None
        return done.lastrowid

    def costs(self, count: int = 5) -> dict[str, float]:
        """The seconds of each case: the median of the latest `count` runs that have it. Cases that ended their process
        cost nothing that is worth knowing."""
        found: dict[str, list[float]] = {}
        for run in self.runs()[-count:]:
            codes = self.blob(run.outcomes).decode()
            for name, code, outcome in zip(self.ids(run), self.blob(run.times), codes, strict=True):
                if NAMES[outcome] not in ("crashed", "excepted"):
                    found.setdefault(name, []).append(time_of(code))
        return {name: statistics.median(times) for name, times in found.items()}


def _run(row: dict[str, Any]) -> Run:
    return Run(**{**row, "suspects": tuple(json.loads(row["suspects"])), "counts": json.loads(row["counts"])})


def is_history(path: Path) -> bool:
    """Returns whether a file is one of SQLite."""
    try:
        return read_regular(path, len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


@contextmanager
def opened(path: Path, *, create: bool = False) -> Iterator[History]:
    """A history; what is added is in the file when the block ends, all or nothing. Raises `Failure`
    (`history-unreadable`) where the file is none, or cannot be used."""
    fix = "name a file that `conformance history add` wrote"
    if path.exists() and not path.is_file():
        raise failure("history-unreadable", "is not a regular file", Span(str(path)), fix)
    if not create and not path.exists():
        raise failure("history-unreadable", "does not exist", Span(str(path)), fix)
    try:
        connection = sqlite3.connect(path, timeout=_WAIT, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE" if create else "BEGIN")
            (form,) = connection.execute("PRAGMA user_version").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if create and not tables:
                for statement in _SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {FORM}")
            elif form != FORM:
                message = f"is no history that this diopigen reads: its form is {form}, not {FORM}"
                raise failure("history-unreadable", message, Span(str(path)), fix)
            yield History(connection)
            connection.execute("COMMIT")
        finally:
            connection.close()
    except (sqlite3.Error, zlib.error) as error:
        if number := _WRITING.get(str(error)):
            raise fault(OSError(number, os.strerror(number)), path, "write") from None
        raise failure("history-unreadable", f"cannot be used: {error}", Span(str(path)), fix) from None
