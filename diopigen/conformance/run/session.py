"""Worker processes with the library under test, and the queue of cases that they share."""

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
from dataclasses import dataclass, field
from typing import IO, Any

from diopigen.conformance.cases.models import AXIS as MODEL_AXIS
from diopigen.conformance.compare.describe import describe
from diopigen.conformance.model import Case, CaseResult, Ending, Fault, Measured, Sentinel
from diopigen.conformance.run.cards import AFTER, BEFORE, WorkerPlan
from diopigen.conformance.run.processes import Processes
from diopigen.conformance.run.worker import Setup, send
from diopigen.diagnostics import failure

Progress = Callable[[int, int, CaseResult], None]
"""Called after each case with the number done, the number of all, and the result."""

_BATCH = 64
_LONG_BATCH = 4
"""Calls of models that are handed out at once: some take a minute, and no process should be left with the last ones."""
_START_LIMIT = 120.0
"""Seconds that a worker may take to load the library; more where a case may take long, as in an emulator."""
CRASH_LIMIT = 20
"""Crashes of one function after which its other cases count as crashed without being called: each costs a process."""
_START_CASES = 6
"""As many times the limit of a case a worker may take to load the library."""


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: Any
    number: int = 0
    waiting: deque[tuple[int, Case]] = field(default_factory=deque)
    buffer: bytes = b""
    since: float = 0.0
    ready: bool = False
    checked: bool = False
    """Its last sentinel cases were handed out."""
    done: bool = False
    leaving: bool = False
    """It ends by itself, without leaving the library."""
    ending: int | None = None
    """Number of bytes printed before finalization; None before that."""
    ended: bool = False
    """It has left the library, well or badly, and said so."""

    @property
    def stdout(self) -> int:
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    @property
    def stdin(self) -> IO[bytes]:
        assert self.process.stdin is not None
        return self.process.stdin


class Session:
    """Processes that run cases. What a library does to a process costs the case that was running there."""

    def __init__(
        self,
        setup: Setup,
        time_limit: float,
        progress: Progress | None = None,
        launcher: Sequence[str] = (),
        processes: Processes | None = None,
        plan: WorkerPlan | None = None,
    ) -> None:
        """`time_limit` is seconds for a case, and for leaving the library; `launcher` is as for `Processes.take`, and
        `processes` where they are from. `plan` binds workers to cards."""
        self.plan = plan or WorkerPlan()
        self.sentinels: list[Sentinel] = []
        self.on_sentinel: Callable[[Sentinel], None] | None = None
        """Called with what came of each sentinel case."""
        self._free: list[int] = []
        """Numbers of workers that may be started."""
        self._begun: set[int] = set()
        """Workers that have been handed sentinel cases: one that comes in place of another is not tested again."""
        self.setup = setup
        self.time_limit = time_limit
        self.progress = progress
        self.launcher = launcher
        self.processes = processes or Processes()
        self.cases: Sequence[Case] = ()
        self.results: list[CaseResult | None] = []
        self.queue: deque[tuple[int, Case]] = deque()
        self.selector = selectors.DefaultSelector()
        self.workers: list[_Worker] = []
        self.endings: list[Ending] = []
        self.finished = 0
        self.interrupted = False
        """True if the user interrupted `run` (SIGINT): cases may be without a result."""
        self.open = False
        """True if more cases may come: a worker without work waits for them."""
        self._crashes: Counter[str] = Counter()
        """Of each function."""
        self.vendor = self.version = ""

    def run(self, cases: Sequence[Case], jobs: int) -> list[CaseResult | None]:
        """The result of each case; `endings` has what went wrong when the library was left. No process is left behind.

        An interrupt ends the run early: cases that have not finished then have the result None.
        """
        try:
            self._take_on(cases)
            self._free = list(range(jobs) if self.plan.workers is None else self.plan.workers)
            for _ in range(len(self._free) if cases else 0):
                self._start()
            self._wait()
            self.end()
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self.close()
        return self.results

    def check(self, cases: Sequence[Case]) -> list[CaseResult]:
        """Runs cases in the process that is there, or in a new one."""
        self._take_on(cases)
        if self.workers:
            self._feed(self.workers[0])
        elif cases:
            self._start()
        return self._wait()

    def end(self) -> tuple[Ending, ...]:
        """Lets all processes leave the library; those that have not done so within the time limit are ended.

        What a library does wrong in its last moments is in the result, also where a process ended before.
        """
        self.open = False
        for worker in list(self.workers):
            if worker.ready:
                self._feed(worker)
            else:  # nothing was left for it to do
                self._end(worker, kill=True)
        last = time.monotonic() + self.time_limit
        while self.workers and time.monotonic() < last:
            for key, _ in self.selector.select(timeout=0.2):
                self._read(key.data)
        for worker in list(self.workers):
            self._regret(worker, f"the library is not left within {self.time_limit:g} s: finalizeLibrary hangs")
            self._end(worker, kill=True)
        return tuple(self.endings)

    def close(self) -> None:
        """Ends all processes at once."""
        for worker in list(self.workers):
            self._end(worker, kill=True)
        self.selector.close()

    def _take_on(self, cases: Sequence[Case]) -> None:
        self.cases, self.results, self.finished = cases, [None] * len(cases), 0
        self.queue.extend(enumerate(cases))

    def _wait(self) -> list[CaseResult]:
        while self.finished < len(self.cases) or (self.plan.sentinels and any(one.waiting for one in self.workers)):
            for key, _ in self.selector.select(timeout=0.2):
                self._read(key.data)
            self._stop_hanging()
        return [result for result in self.results if result is not None]

    # ---- workers ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        number = self._free.pop(0) if self._free else 0
        variables = {**self.setup.environment, **self.plan.environment(number)}
        process, errors = self.processes.take(variables, self.launcher)
        worker = _Worker(process, errors, number, since=time.monotonic())
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
        if self.plan.sentinels and worker.number not in self._begun:
            self._begun.add(worker.number)
            self._hand_out(worker, self._tests(0))
            return
        chunk = max(1, min(_BATCH, len(self.queue) // (2 * max(len(self.workers), 1)) or 1))
        if self.queue and self.queue[0][1].axis == MODEL_AXIS:
            chunk = min(chunk, _LONG_BATCH)
        batch = [self.queue.popleft() for _ in range(min(chunk, len(self.queue)))]
        if not batch:
            if self.open:
                return
            if self.plan.sentinels and not worker.checked:
                worker.checked = True
                self._hand_out(worker, self._tests(1))
                return
            worker.done = True
            with contextlib.suppress(OSError):
                worker.stdin.close()
            return
        self._hand_out(worker, batch)

    def _hand_out(self, worker: _Worker, batch: list[tuple[int, Case]]) -> None:
        if worker.ready and not worker.waiting:
            worker.since = time.monotonic()
        worker.waiting.extend(batch)
        self._send(worker, batch)

    def _tests(self, phase: int) -> list[tuple[int, Case]]:
        """The sentinel cases as work: their indices follow those of the cases, first those of the phase before."""
        start = len(self.cases) + phase * len(self.plan.sentinels)
        return list(enumerate(self.plan.sentinels, start))

    def _read(self, worker: _Worker) -> None:
        data = os.read(worker.stdout, 1 << 16)
        if not data:
            self._ended(worker)
            return
        lines = (worker.buffer + data).split(b"\n")
        worker.buffer = lines.pop()
        for line in lines:
            try:
                self._answer(worker, json.loads(line))
            except (ValueError, KeyError, TypeError, IndexError, AttributeError):
                self._not_asked_for(worker)
            if worker not in self.workers:
                return
        worker.since = time.monotonic()
        # The next batch is on its way before the last one is done, so that a worker never waits.
        few = 2 if worker.waiting and worker.waiting[-1][1].axis == MODEL_AXIS else _BATCH // 4
        if worker.ready and len(worker.waiting) < few:
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
        if "ending" in line:
            worker.ending = int(line["ending"])
            return
        if "ended" in line:
            worker.ended = True
            if line["ended"]:
                self._regret(worker, str(line["ended"]))
            return
        index = int(line["case"])
        if not worker.waiting or worker.waiting[0][0] != index:
            self._not_asked_for(worker)
            return
        case = self.cases[index] if index < len(self.cases) else self._sentinel(index)
        faults = tuple(Fault(**fault) for fault in line.get("faults", ()))
        operands = tuple(line.get("operands", ()))
        if "text" in line:
            faults = (Fault(str(line["outcome"]), "", str(line["text"])),)
            operands = describe(case)
        outcome, seconds, reason = str(line["outcome"]), float(line["seconds"]), str(line.get("reason", ""))
        declared = tuple(line.get("declared", ()))
        errors = tuple(Measured(*one) for one in line.get("errors", ()))
        digest = str(line.get("digest", ""))
        result = CaseResult(case, outcome, seconds, faults, operands, reason, declared, errors, digest, worker.number)
        worker.waiting.popleft()
        self._finish(index, result)

    def _sentinel(self, index: int) -> Case:
        return self.plan.sentinels[(index - len(self.cases)) % len(self.plan.sentinels)]

    def _finish(self, index: int, result: CaseResult) -> None:
        if index >= len(self.cases):
            phase = BEFORE if index - len(self.cases) < len(self.plan.sentinels) else AFTER
            found = Sentinel(result.worker, phase, result.case.id, result.outcome, result.digest)
            self.sentinels.append(found)
            if self.on_sentinel is not None:
                self.on_sentinel(found)
            return
        if self.results[index] is None:
            self.finished += 1
        self.results[index] = result
        if self.progress is not None:
            self.progress(self.finished, len(self.cases), result)

    def _ended(self, worker: _Worker) -> None:
        """A worker is gone: at the end of its work, by itself after an overrun, or because the library ended it."""
        code = worker.process.wait()
        text = _tail(worker.errors) if len(self.cases) > 1 else _all_text(worker.errors)
        if worker.ready and not (worker.waiting or worker.leaving or worker.ended):
            while_what = "while no case ran" if worker.ending is None else "while the library was left"
            self._regret(worker, f"the process ended with {_ending(code)} {while_what}")
        self._end(worker, kill=False)
        if not worker.ready:
            fix = "run the library's initialisation by itself; the text is the end of what it printed"
            raise failure("library-init", f"the library under test ended its process ({_ending(code)}) {text}", fix=fix)
        # Whatever the status: a library that ends the process with that of success has not done its work.
        if worker.waiting and not worker.leaving:
            self._crashed(worker, f"the process ended with {_ending(code)}{': ' + text if text else ''}")
        self._requeue(worker)

    def _not_asked_for(self, worker: _Worker) -> None:
        """Ends a process in which not only the suite writes answers: only the case that was handed out and
        is open can have one."""
        self._end(worker, kill=True)
        self._crashed(worker, "the library has written what is not its to write: an answer to a case that is not open")
        self._requeue(worker)

    def _crashed(self, worker: _Worker, message: str) -> None:
        """Counts the open case of a worker as crashed, and with the last of many crashes all others of its function."""
        if not worker.waiting:
            return
        index, case = worker.waiting.popleft()
        self._finish(index, _crash(case, message, worker.number))
        self._crashes[case.function] += 1
        if self._crashes[case.function] != CRASH_LIMIT:
            return
        message = f"not called: {case.function} has crashed {CRASH_LIMIT} times"
        for entries in (worker.waiting, self.queue):
            for number, other in [entry for entry in entries if entry[1].function == case.function]:
                entries.remove((number, other))
                self._finish(number, _crash(other, message, worker.number))

    def _regret(self, worker: _Worker, message: str) -> None:
        """Keeps what went wrong at the end of a process, with what was printed then."""
        self.endings.append(Ending(message, _printed(worker.errors, worker.ending or 0)))

    def _requeue(self, worker: _Worker) -> None:
        # A sentinel case is of its worker alone: what this one has not run, no other runs in its place.
        self.queue.extendleft(entry for entry in reversed(worker.waiting) if entry[0] < len(self.cases))
        if self.queue and len(self.workers) < 1 + len(self.queue):
            self._start()

    def _stop_hanging(self) -> None:
        now = time.monotonic()
        for worker in list(self.workers):
            limit = self.time_limit if worker.ready else max(_START_LIMIT, _START_CASES * self.time_limit)
            if now - worker.since <= limit or (worker.ready and not worker.waiting):
                continue
            if not worker.ready:
                raise failure(
                    "library-init",
                    f"the library under test does not load within {limit:.0f} s",
                    fix="look at initLibrary",
                )
            self._end(worker, kill=True)
            index, case = worker.waiting.popleft()
            fault = Fault("hang", "", f"the call has not returned within {limit:g} s")
            self._finish(index, CaseResult(case, "hung", limit, (fault,), describe(case), worker=worker.number))
            self._requeue(worker)

    def _end(self, worker: _Worker, *, kill: bool) -> None:
        self.selector.unregister(worker.stdout)
        self.workers.remove(worker)
        self._free.append(worker.number)
        if kill:
            worker.process.kill()
        worker.process.wait()
        for pipe in (worker.process.stdin, worker.process.stdout, worker.errors):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def _all_text(errors: Any) -> str:
    """Output of a process that ran one case, with the stacks that a library may show, below the message."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 16000))
    text = errors.read().decode(errors="replace").strip()
    return "".join(f"\n    {line.rstrip()}" for line in text.splitlines())


def _crash(case: Case, message: str, worker: int) -> CaseResult:
    return CaseResult(case, "crashed", 0.0, (Fault("crash", "", message),), describe(case), worker=worker)


def _tail(errors: Any, lines: int = 3) -> str:
    """The end of what a process printed."""
    errors.seek(0, os.SEEK_END)
    errors.seek(max(0, errors.tell() - 2000))
    text = errors.read().decode(errors="replace").strip()
    return " | ".join(line.strip() for line in text.splitlines()[-lines:])


_SHOWN = 60
"""Lines of what a library prints while it is left: the first ones, as reports of leaks begin with what matters."""


def _printed(errors: Any, start: int) -> str:
    """Output of a process since `start`."""
    errors.seek(start)
    lines = errors.read(1 << 16).decode(errors="replace").strip().splitlines()
    more = [f"... and {len(lines) - _SHOWN} more lines"] if len(lines) > _SHOWN else []
    return "\n".join([*(line.rstrip() for line in lines[:_SHOWN]), *more])
