"""Results on disk as they come, one line of JSON each, so that a run that is killed goes on where it ended.

The first line says what the results follow from and which cases are expected. Each start of the run adds a line of its
own; lines after it are of that start. A line that a kill has cut off is dropped.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import platform
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diopigen.conformance.model import FAILURES, OUTCOMES, CaseResult, Ending, Results, Sentinel
from diopigen.conformance.run.records import result_of
from diopigen.diagnostics import Span, failure
from diopigen.spec.json_form import Form, FormFault
from diopigen.spec.text_file import read_regular, unreadable

FORM = 1
_CODE = "report-unreadable"
_FIX = "name a file that `conformance run --resume` wrote"
_START = 4096
"""More than a machine has workers: a card of a recording is its start times this, plus its worker."""
_BATCH = 64
_PERIOD = 1.0
"""Lines, and seconds, after which what was written is on the disk, whatever happens to the machine."""


class Recorder:
    """Appends results to a file; without one it does nothing."""

    def __init__(self, descriptor: int | None = None, file: str = "") -> None:
        self._descriptor = descriptor
        self._file = file
        self._lines = 0
        self._synced = time.monotonic()
        self._named = False

    def add(self, result: CaseResult, vendor: str = "", version: str = "") -> None:
        """Records a result; the first one also what the library says of itself."""
        if self._descriptor is None:
            return
        from diopigen.conformance.report.results import result_record

        if vendor and not self._named:
            self._named = True
            self._write({"vendor": vendor, "version": version})
        self._write({**result_record(result), **({"worker": result.worker} if result.worker else {})})

    def add_sentinel(self, found: Sentinel) -> None:
        """Records what came of a sentinel case on a card."""
        record = {"sentinel": found.case, "worker": found.worker, "phase": found.phase}
        self._write({**record, "outcome": found.outcome, "digest": found.digest})

    def add_ending(self, ending: Ending) -> None:
        """Records what went wrong when a process left the library."""
        self._write({"ending": ending.message, "printed": ending.printed})

    def discard(self, worker: int) -> None:
        """Takes back the results of a worker of this start."""
        self._write({"discard": worker})

    def start(self, workers: Mapping[int, str]) -> None:
        """Records that a run begins, on this host and with these cards."""
        named = {str(number): name for number, name in workers.items()}
        self._write({"start": platform.node(), "workers": named})

    def close(self) -> None:
        """Writes all to the disk and lets go of the file."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self, record: Mapping[str, Any]) -> None:
        if self._descriptor is None:
            return
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
            self._lines += 1
            now = time.monotonic()
            if self._lines >= _BATCH or now - self._synced > _PERIOD:
                os.fsync(self._descriptor)
                self._lines, self._synced = 0, now
        except OSError as error:
            code = "output-no-space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "output-unwritable"
            fix = "make room, then start the same command again"
            raise failure(code, f"cannot be written: {os.strerror(error.errno or 0)}", Span(self._file), fix) from None


def open_recording(path: Path, head: Results) -> tuple[Recorder, Results]:
    """A file to append to, made where there is none, and what it holds by now.

    Raises `Failure` where the file is of another run than `head` describes (`report-mixed`), is in use
    (`output-locked`), or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        fix = "choose another file, or change the permissions"
        raise failure("output-unwritable", unreadable(error), Span(str(path)), fix) from None
    recorder = Recorder(descriptor, str(path))
    try:
        _lock(descriptor, path)
        content = path.read_bytes()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            os.ftruncate(descriptor, end)
        if end == 0:
            recorder._write(_head_record(head))
            return recorder, replace(head, results=())
        found = recording(content[:end], path)
        for what, one, two in differences(found, head):
            message = f"holds results of another run: {what} is {one!r} there, and {two!r} here"
            raise failure("report-mixed", message, Span(str(path)), "name another file, or remove this one")
        return recorder, found
    except BaseException:
        os.close(descriptor)
        raise


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            fix = "let each shard have a file of its own, or wait until that run has ended"
            raise failure("output-locked", "another run is writing to it", Span(str(path)), fix) from None
        # A file system without locks: two runs that write to one file are then not detected.


def differences(one: Results, two: Results) -> Iterator[tuple[str, str, str]]:
    """Differences between the inputs of two results, with both values. What either does not record does not count."""
    yield from (("the seed", str(one.seed), str(two.seed)) for _ in range(one.seed != two.seed))
    names = {"library": "the digest of the library", "spec": "the digest of spec and suite", "settings": "the settings"}
    for key, what in names.items():
        mine, other = one.identity.get(key, ""), two.identity.get(key, "")
        if mine and other and mine != other:
            yield what, mine, other
    if one.plan and two.plan and (one.plan != two.plan or one.shard != two.shard):
        yield "the choice of cases", f"{one.plan} {one.shard}".strip(), f"{two.plan} {two.shard}".strip()


def _head_record(head: Results) -> dict[str, Any]:
    return {
        "recording": FORM, "library": head.library, "runtime": head.runtime, "options": list(head.options),
        "seed": head.seed, "shard": head.shard, "identity": dict(head.identity), "plan": head.plan,
        "declarations": dict(head.declarations), "cases": list(head.expected),
    }  # fmt: skip


def is_recording(content: bytes) -> bool:
    """Returns whether a file is one that a `Recorder` wrote, and not the JSON of finished results."""
    return content.startswith(b'{"recording":')


def read_recording(path: Path) -> Results:
    """Content of a recording. Raises `Failure` for any other file."""
    try:
        content = read_regular(path)
    except (OSError, ValueError) as error:
        problem = unreadable(error) if isinstance(error, OSError) else "is no path"
        raise failure(_CODE, problem, Span(str(path)), _FIX) from None
    return recording(content[: content.rfind(b"\n") + 1], path)


@dataclass(slots=True)
class _Reading:
    """Content of the lines read."""

    results: dict[str, CaseResult] = field(default_factory=dict)
    sentinels: list[Sentinel] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    workers: dict[int, str] = field(default_factory=dict)
    vendor: str = ""
    version: str = ""
    start: int = -1

    def take(self, line: Form) -> None:
        if "outcome" in line and "id" in line:
            found = result_of(line)
            found = replace(found, worker=self._card(line.get("worker", 0)))
            self.results[found.case.id] = found
        elif "sentinel" in line:
            names = (line[name].text() for name in ("phase", "sentinel", "outcome", "digest"))
            self.sentinels.append(Sentinel(self._card(line["worker"]), *names))
        elif "start" in line:
            self.start += 1
            host = line["start"].text()
            for number, name in line["workers"].entries():
                if not number.isdecimal():
                    raise line["workers"].fault("an object of workers by number")
                self.workers[self.start * _START + int(number)] = f"{host}, {name.text()}"
        elif "vendor" in line:
            self.vendor, self.version = line["vendor"].text(), line["version"].text()
        elif "ending" in line:
            self.endings.append(Ending(line["ending"].text(), line["printed"].text()))
        elif "discard" in line:
            card = self._card(line["discard"])
            self.results = {name: one for name, one in self.results.items() if one.worker != card}
        else:
            raise line.fault("a result")

    def _card(self, number: Form) -> int:
        return max(self.start, 0) * _START + number.whole(0, _START - 1)


def recording(content: bytes, path: Path) -> Results:
    """Content of the lines of a recording. Raises `Failure` where one is none of a recording."""
    read = _Reading()
    head: Results | None = None
    for number, text in enumerate(content.splitlines(), 1):
        try:
            line = Form(json.loads(text))
            if head is None:
                head = _head(line)
            else:
                read.take(line)
        except (FormFault, ValueError, RecursionError) as error:
            said = str(error) if isinstance(error, FormFault) else "it is not JSON"
            raise failure(_CODE, f"holds no results of a run: {said}", Span(str(path), number), _FIX) from None
    if head is None:
        raise failure(_CODE, "holds no results of a run: it is empty", Span(str(path)), _FIX)
    order = {name: index for index, name in enumerate(head.expected)}
    results = sorted(read.results.values(), key=lambda one: order.get(one.case.id, len(order)))
    counts = Counter(one.outcome for one in results)
    found = replace(
        head,
        results=tuple(results),
        seconds=sum(one.seconds for one in results),
        counts={outcome: counts[outcome] for outcome in OUTCOMES},
        vendor=read.vendor,
        library_version=read.version,
        sentinels=tuple(read.sentinels),
        endings=tuple(read.endings),
        workers=read.workers,
    )
    return replace(found, not_run=len(found.holes))


def _head(line: Form) -> Results:
    if line["recording"].whole(0) != FORM:
        raise FormFault(f"it has the form {line['recording'].whole(0)}, and this diopigen reads {FORM}")
    return Results(
        (),
        0.0,
        line["seed"].whole(0),
        line["library"].text(),
        runtime=line["runtime"].text(),
        options=tuple(word.text() for word in line["options"].items()),
        shard=line["shard"].text(),
        declarations={key: text.text() for key, text in line["declarations"].entries()},
        identity={key: text.text() for key, text in line["identity"].entries()},
        plan=line["plan"].text(),
        expected=tuple(name.text() for name in line["cases"].items()),
    )


def failed_ids(results: Sequence[CaseResult]) -> frozenset[str]:
    """The ids of the cases that count against the library."""
    return frozenset(one.case.id for one in results if one.outcome in FAILURES)
