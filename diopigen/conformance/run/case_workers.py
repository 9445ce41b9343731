"""Worker processes that check cases, and the queue of cases that they share."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

from diopigen.conformance.cases.models import AXIS as MODEL_AXIS
from diopigen.conformance.compare.describe import describe
from diopigen.conformance.model import Case, CaseResult, Ending, Fault, Measured, Sentinel
from diopigen.conformance.run.cards import AFTER, BEFORE, WorkerPlan
from diopigen.conformance.run.executor import ending
from diopigen.conformance.run.processes import Processes
from diopigen.conformance.run.worker import Setup, send, tail
from diopigen.diagnostics import failure

Progress = Callable[[int, int, CaseResult], None]
"""Called after each case with the number done, the number of all, and the result."""

_BATCH = 64
_LONG_BATCH = 4
"""Calls of models that are handed out at once: some take a minute, and no process should be left with the last ones."""


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    errors: Any
    number: int = 0
    waiting: deque[tuple[int, Case]] = field(default_factory=deque)
    buffer: bytes = b""
    ready: bool = False
    checked: bool = False
    """Its last sentinel cases were handed out."""
    done: bool = False
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


class CaseWorkers:
    """Processes that check cases, each with an executor of its own."""

    def __init__(
        self,
        setup: Setup,
        progress: Progress | None = None,
        processes: Processes | None = None,
        plan: WorkerPlan | None = None,
    ) -> None:
        """`processes` is where the workers are from; `plan` binds them to cards."""
        self.plan = plan or WorkerPlan()
        self.sentinels: list[Sentinel] = []
        self.on_sentinel: Callable[[Sentinel], None] | None = None
        """Called with what came of each sentinel case."""
        self._free: list[int] = []
        """Numbers of workers that may be started."""
        self.setup = setup
        self.progress = progress
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
        self.serving: dict[str, list[str]] = {}
        """Other libraries of functions of the interface that the one under test has opened, and their functions."""
        self.in_force: tuple[str, ...] = ()
        """Names of what confines the library."""

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
        """Checks cases in the process that is there, or in a new one."""
        self._take_on(cases)
        if self.workers:
            self._feed(self.workers[0])
        elif cases:
            self._start()
        return self._wait()

    def end(self) -> tuple[Ending, ...]:
        """Lets all processes leave the library. What a library does wrong in its last moments is in the result."""
        self.open = False
        for worker in list(self.workers):
            self._feed(worker)
        while self.workers:
            for key, _ in self.selector.select():
                self._read(key.data)
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
            for key, _ in self.selector.select():
                self._read(key.data)
        return [result for result in self.results if result is not None]

    # ---- workers ----------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        number = self._free.pop(0) if self._free else 0
        process, errors = self.processes.take()
        worker = _Worker(process, errors, number)
        self.workers.append(worker)
        self.selector.register(worker.stdout, selectors.EVENT_READ, worker)
        variables = {**self.setup.environment, **self.plan.environment(number)}
        self._send(worker, replace(self.setup, environment=variables))
        if self.plan.sentinels:
            self._hand_out(worker, self._tests(0))
        self._feed(worker)  # each card has a share, however fast another worker starts

    def _send(self, worker: _Worker, message: Any) -> None:
        with contextlib.suppress(OSError):  # the worker has ended; reading from it says how
            send(worker.stdin, message)

    def _feed(self, worker: _Worker) -> None:
        """Gives a worker its next cases, or the end of its input."""
        if worker.done:
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
            self._answer(worker, json.loads(line))
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
            self.in_force = tuple(map(str, line["in_force"]))
            return
        if "ended" in line:
            worker.ended = True
            if line["ended"]:
                self.endings.append(Ending(str(line["ended"]), str(line["printed"])))
            self.serving.update(line["serving"])
            return
        index, case = worker.waiting.popleft()
        assert index == int(line["case"]), "a worker answers in order"
        faults = tuple(Fault(**fault) for fault in line.get("faults", ()))
        operands = tuple(line.get("operands", ()))
        outcome, seconds, reason = str(line["outcome"]), float(line["seconds"]), str(line.get("reason", ""))
        declared = tuple(line.get("declared", ()))
        errors = tuple(Measured(*one) for one in line.get("errors", ()))
        digest = str(line.get("digest", ""))
        result = CaseResult(case, outcome, seconds, faults, operands, reason, declared, errors, digest, worker.number)
        self._finish(index, result)
        if outcome == "crashed":
            self._count_crash(case)

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

    def _count_crash(self, case: Case) -> None:
        """Counts a crash, and with the last of many all other cases of the function that no worker has yet."""
        self._crashes[case.called] += 1
        if self._crashes[case.called] != self.setup.execution.crash_limit:
            return
        message = f"not called: {case.function} has crashed {self.setup.execution.crash_limit} times"
        for number, other in [entry for entry in self.queue if entry[1].called == case.called]:
            self.queue.remove((number, other))
            fault = Fault("crash", "", message)
            self._finish(number, CaseResult(other, "crashed", 0.0, (fault,), describe(other)))

    def _ended(self, worker: _Worker) -> None:
        """A worker is gone: at the end of its work, or by a fault of the suite or of the system."""
        code = worker.process.wait()
        worker.errors.seek(0)
        text = tail(worker.errors.read().decode(errors="replace").strip())
        self._end(worker, kill=False)
        if worker.ended and not worker.waiting:
            return
        if not worker.ready:
            message = f"a process of the suite ended ({ending(code)}) {text}"
            raise failure("library-init", message, fix="look for what ends processes, such as the lack of memory")
        if worker.waiting:
            index, case = worker.waiting.popleft()
            fault = Fault("crash", "", f"the process that checks ended with {ending(code)}: {text}")
            self._finish(index, CaseResult(case, "crashed", 0.0, (fault,), describe(case), worker=worker.number))
        # A sentinel case is of its worker alone: what this one has not run, no other runs in its place.
        self.queue.extendleft(entry for entry in reversed(worker.waiting) if entry[0] < len(self.cases))
        if self.queue and not self.workers:
            self._start()

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
