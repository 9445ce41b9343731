"""Spreads cases over worker processes, and survives whatever the library does to them."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from diopigen.conformance.describe import describe
from diopigen.conformance.model import OUTCOMES, Case, CaseResult, Fault, Results
from diopigen.conformance.processes import take
from diopigen.conformance.worker import Setup, send
from diopigen.diagnostics import failure
from diopigen.ir.model import Function, Header, Interface

Progress = Callable[[int, int, CaseResult], None]
"""Called after each case with the number done, the number of all, and the result."""

_BATCH = 64
_START_LIMIT = 120.0
"""Seconds that a worker may take to load the library."""
MEMORY_LIMIT = 8 << 30


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: Any
    waiting: deque[tuple[int, Case]] = field(default_factory=deque)
    buffer: bytes = b""
    since: float = 0.0
    ready: bool = False
    done: bool = False
    leaving: bool = False

    @property
    def stdout(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin


def run(
    cases: Sequence[Case],
    interface: Interface,
    library: Path,
    runtime: Path,
    *,
    jobs: int = 1,
    seed: int = 0,
    time_limit: float = 20.0,
    memory_limit: int = MEMORY_LIMIT,
    progress: Progress | None = None,
    environment: Mapping[str, str] | None = None,
) -> Results:
    """Runs cases in `jobs` processes; `time_limit` is seconds for a case, `memory_limit` bytes for a process (0: none).
    `environment` is added to that of the processes.

    Raises `Failure` where the library or the runtime does not load.
    """
    started = time.monotonic()
    called = [case for case in cases if not is_skipped(case)]
    session = _Session(called, _slim(interface, called), library, runtime, seed, time_limit, memory_limit, progress)
    session.setup = replace(session.setup, environment=environment or {})
    session.run(max(1, min(jobs, -(-sum(map(_weight, called)) // _SHARE))))
    judged = iter(result for result in session.results if result is not None)
    results = tuple(CaseResult(case, "excepted", 0.0) if is_skipped(case) else next(judged) for case in cases)
    counts = Counter(result.outcome for result in results)
    return Results(
        results,
        time.monotonic() - started,
        seed,
        str(library),
        session.vendor,
        session.version,
        {outcome: counts[outcome] for outcome in OUTCOMES},
    )


_SHARE = 200
"""Ordinary cases that are worth the start of one more process."""


def _weight(case: Case) -> int:
    """Ordinary cases that a case takes as long as."""
    return _SHARE // 4 if case.axis == "model" else 1


def is_skipped(case: Case) -> bool:
    """Whether a known exception keeps a case from being called at all."""
    return case.excuse is not None and case.excuse.kind == "skip"


def _slim(interface: Interface, cases: Sequence[Case]) -> Interface:
    """The interface with the functions of the cases only, and without what a worker does not need."""
    names = {case.function for case in cases}

    def slim(function: Function) -> Function:
        return replace(function, cases=(), constraints=(), aten=(), spans={}, kernel=None)

    headers = tuple(
        Header(h.file, h.doc, (), (), tuple(slim(f) for f in h.functions if f.name in names), h.span)
        for h in interface.headers
    )
    return replace(interface, headers=headers, aten_schemas={}, file_of={}, family_docs={}, files=())


class _Session:
    def __init__(
        self,
        cases: Sequence[Case],
        interface: Interface,
        library: Path,
        runtime: Path,
        seed: int,
        time_limit: float,
        memory_limit: int,
        progress: Progress | None,
    ) -> None:
        self.cases = cases
        self.setup = Setup(interface, library, runtime, seed, memory_limit)
        self.time_limit = time_limit
        self.progress = progress
        self.results: list[CaseResult | None] = [None] * len(cases)
        self.queue: deque[tuple[int, Case]] = deque(enumerate(cases))
        self.selector = selectors.DefaultSelector()
        self.workers: list[_Worker] = []
        self.finished = 0
        self.open = False
        """Whether more cases may come: a worker without work waits for them."""
        self.vendor = self.version = ""

    def run(self, jobs: int) -> None:
        """Runs everything; no process is left behind, whatever happens."""
        try:
            for _ in range(jobs if self.cases else 0):
                self._start()
            while self.finished < len(self.cases):
                for key, _ in self.selector.select(timeout=0.2):
                    self._read(key.data)
                self._stop_hanging()
        finally:
            self.close()

    def judge(self, cases: Sequence[Case]) -> list[CaseResult]:
        """Runs cases in the process that is there, or in a new one."""
        self.cases, self.results, self.finished = cases, [None] * len(cases), 0
        self.queue.extend(enumerate(cases))
        if self.workers:
            self._feed(self.workers[0])
        elif cases:
            self._start()
        while self.finished < len(cases):
            for key, _ in self.selector.select(timeout=0.2):
                self._read(key.data)
            self._stop_hanging()
        return [result for result in self.results if result is not None]

    def close(self) -> None:
        """Ends all processes."""
        for worker in list(self.workers):
            self._end(worker, kill=True)
        self.selector.close()

    # ---- workers ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        process, errors = take(self.setup.environment)
        worker = _Worker(process, errors, since=time.monotonic())
        self.workers.append(worker)
        self.selector.register(worker.stdout, selectors.EVENT_READ, worker)
        self._send(worker, self.setup)
        self._feed(worker)

    def _send(self, worker: _Worker, message: Any) -> None:
        with contextlib.suppress(OSError):  # the worker has ended; reading from it says how
            send(worker.stdin, message)

    def _feed(self, worker: _Worker) -> None:
        """Gives a worker its next cases, or the end of its input."""
        if worker.done:
            return
        share = max(1, min(_BATCH, len(self.queue) // (2 * max(len(self.workers), 1)) or 1))
        batch = [self.queue.popleft() for _ in range(min(share, len(self.queue)))]
        if not batch:
            if self.open:
                return
            worker.done = True
            with contextlib.suppress(OSError):
                worker.stdin.close()
            return
        if worker.ready and not worker.waiting:
            worker.since = time.monotonic()
        worker.waiting.extend(batch)
        self._send(worker, batch)

    def _read(self, worker: _Worker) -> None:
        data = os.read(worker.stdout, 1 << 16)
        if not data:
            self._ended(worker)
            return
        lines = (worker.buffer + data).split(b"\n")
        worker.buffer = lines.pop()
        for line in lines:
            self._answer(worker, json.loads(line))
        worker.since = time.monotonic()
        # The next batch is on its way before the last one is done, so that a worker never waits.
        if worker.ready and len(worker.waiting) < _BATCH // 4:
            self._feed(worker)

    def _answer(self, worker: _Worker, line: Mapping[str, Any]) -> None:
        if "setup" in line:
            raise failure(str(line["code"]), str(line["setup"]), fix=str(line["fix"]) or None)
        if "ready" in line:
            worker.ready = True
            self.vendor, self.version = str(line["vendor"]), str(line["version"])
            return
        if "leaving" in line:
            worker.leaving = True
            return
        place = int(line["case"])
        while worker.waiting and worker.waiting[0][0] != place:
            worker.waiting.popleft()
        if worker.waiting:
            worker.waiting.popleft()
        case = self.cases[place]
        faults = tuple(Fault(**fault) for fault in line.get("faults", ()))
        operands = tuple(line.get("operands", ()))
        if "text" in line:
            faults = (Fault(str(line["outcome"]), "", str(line["text"])),)
            operands = describe(case)
        outcome, seconds, reason = str(line["outcome"]), float(line["seconds"]), str(line.get("reason", ""))
        self._finish(place, CaseResult(case, outcome, seconds, faults, operands, reason))

    def _finish(self, place: int, result: CaseResult) -> None:
        if self.results[place] is None:
            self.finished += 1
        self.results[place] = result
        if self.progress is not None:
            self.progress(self.finished, len(self.cases), result)

    def _ended(self, worker: _Worker) -> None:
        """A worker is gone: by itself after an overrun, or because the library ended it."""
        code = worker.process.wait()
        text = _tail(worker.errors)
        self._end(worker, kill=False)
        if not worker.ready:
            fix = "run the library's initialisation by itself; the text is the end of what it printed"
            raise failure("library-init", f"the library under test ended its process ({_ending(code)}) {text}", fix=fix)
        # Whatever the status: a library that ends the process with that of success has not done its work.
        if worker.waiting and not worker.leaving:
            place, case = worker.waiting.popleft()
            message = f"the process ended with {_ending(code)}{': ' + text if text else ''}"
            fault = Fault("crash", "", message)
            self._finish(place, CaseResult(case, "crashed", 0.0, (fault,), describe(case)))
        self._requeue(worker)

    def _requeue(self, worker: _Worker) -> None:
        self.queue.extendleft(reversed(worker.waiting))
        if self.queue and len(self.workers) < 1 + len(self.queue):
            self._start()

    def _stop_hanging(self) -> None:
        now = time.monotonic()
        for worker in list(self.workers):
            limit = self.time_limit if worker.ready else _START_LIMIT
            if now - worker.since <= limit or (worker.ready and not worker.waiting):
                continue
            if not worker.ready:
                raise failure(
                    "library-init",
                    f"the library under test does not load within {limit:.0f} s",
                    fix="look at initLibrary",
                )
            self._end(worker, kill=True)
            place, case = worker.waiting.popleft()
            fault = Fault("hang", "", f"the call has not returned within {limit:g} s")
            self._finish(place, CaseResult(case, "hung", limit, (fault,), describe(case)))
            self._requeue(worker)

    def _end(self, worker: _Worker, *, kill: bool) -> None:
        self.selector.unregister(worker.stdout)
        self.workers.remove(worker)
        if kill:
            worker.process.kill()
        worker.process.wait()
        for pipe in (worker.process.stdin, worker.process.stdout, worker.errors):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


class Judge:
    """Judges cases one at a time in a process that stays, for those who hand out cases themselves (pytest, say)."""

    def __init__(
        self,
        cases: Sequence[Case],
        interface: Interface,
        library: Path,
        runtime: Path,
        *,
        seed: int = 0,
        time_limit: float = 20.0,
        memory_limit: int = MEMORY_LIMIT,
        environment: Mapping[str, str] | None = None,
        stays: bool = False,
        acts: str = "",
    ) -> None:
        """`cases` are all that may be asked about; limits are as for `run`. `environment` is added to that of the
        process; `stays` and `acts` are those of `Setup`."""
        self._session = _Session(
            (), _slim(interface, cases), library, runtime, seed, time_limit, memory_limit, progress=None
        )
        self._session.setup = replace(self._session.setup, environment=environment or {}, stays=stays, acts=acts)
        self._session.open = True

    def judge(self, case: Case) -> CaseResult:
        """What came of a case. Raises `Failure` where the library or the runtime does not load."""
        if is_skipped(case):
            return CaseResult(case, "excepted", 0.0)
        return self._session.judge([case])[0]

    def judge_all(self, cases: Sequence[Case]) -> list[CaseResult]:
        """What came of several cases, none of which is to be skipped, in their order."""
        return self._session.judge(cases)

    def close(self) -> None:
        """Ends the process."""
        self._session.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _tail(errors: Any, lines: int = 3) -> str:
    """The end of what a process printed."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 2000))
    text = errors.read().decode(errors="replace").strip()
    return " | ".join(line.strip() for line in text.splitlines()[-lines:])
