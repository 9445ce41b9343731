"""Lets one fault after another act, and runs the cases that reach it until one fails."""

from __future__ import annotations

import hashlib
import itertools
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from diopigen.conformance.model import FAILURES, Case, CaseResult, Fault
from diopigen.conformance.run.runner import CaseRunner
from diopigen.diagnostics import Failure
from diopigen.ir.model import Interface
from lab.mutation.campaign import weight
from lab.mutation.sources.board import Board
from lab.mutation.sources.model import Point, Result, from_record, to_record
from lab.mutation.sources.reach import state_of

Progress = Callable[[int, int, Result], None]
_HANGS = 10.0
"""Seconds after which a call counts as hanging."""
_MEMORY = 4 << 30
_MOST = 1500
"""Cases that a fault in common code meets, of the tens of thousands that evaluate its place: of every function and axis
some. What these do not find counts as not found."""
_FIRST = 96
"""Cases that a fault meets in a process that others have used; a fault that none finds meets all in one of its own."""


class Campaign:
    """A library with faults, and the cases that reach each."""

    def __init__(
        self, interface: Interface, library: Path, runtime: Path, reached: Mapping[int, Sequence[Case]], count: int,
        *, thorough: bool = True,
    ) -> None:  # fmt: skip
        """`count` is above the number of every fault. `thorough`: what survives meets its cases in a process of its
        own as well."""
        self.thorough = thorough
        self.interface, self.library, self.runtime, self.count = interface, library, runtime, count
        self.reached = {number: spread(cases) for number, cases in reached.items()}
        every = {case.id: case for cases in reached.values() for case in cases}
        self.cases = list(every.values())

    def run(
        self, points: Mapping[int, Point], log: Path, *, jobs: int = 1, progress: Progress | None = None
    ) -> list[Result]:
        """Outcome of each fault. Results are added to `log` as they come; what is there already, of the same fault and
        the same cases, is not run again."""
        saved = _read(log)
        found = {number: saved[point.key][1] for number, point in points.items() if self._holds(saved, point, number)}
        # In no order, so that a run that is cut off has tried faults of all families.
        left = sorted((number for number in points if number not in found), key=lambda n: hash_of([points[n].key]))
        lock, pairs = threading.Lock(), queue.SimpleQueue[_Process]()
        with ThreadPoolExecutor(jobs) as pool, log.open("a", encoding="utf-8") as out:
            for _ in range(jobs):
                pairs.put(_Process(self))

            def one(number: int) -> tuple[int, Result]:
                process = pairs.get()
                try:
                    result = self._result(process, number, points[number])
                finally:
                    pairs.put(process)
                with lock:
                    out.write(json.dumps({"cases_state": self._state(number, result), **to_record(result)}) + "\n")
                    out.flush()
                return number, result

            running = [pool.submit(one, number) for number in left]
            try:
                for future in as_completed(running):
                    number, result = future.result()
                    found[number] = result
                    if progress is not None:
                        progress(len(found), len(points), result)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            finally:
                while not pairs.empty():
                    pairs.get().close()
        return [found[number] for number in points]

    def _state(self, number: int, result: Result) -> str:
        """A digest over the cases that the result rests on: the one that fails, or all that reach the fault."""
        cases = self.reached.get(number, ())
        resting = [case for case in cases if case.id == result.case] if result.outcome == "killed" else cases
        return hash_of(sorted(state_of(case) for case in resting))

    def _holds(self, saved: Mapping[str, tuple[str, Result]], point: Point, number: int) -> bool:
        """Returns whether there is an earlier result that rests on cases as they are now."""
        return point.key in saved and saved[point.key][0] == self._state(number, saved[point.key][1])

    def _result(self, process: _Process, number: int, point: Point) -> Result:
        started = time.monotonic()
        cases = self.reached.get(number, [])
        functions = tuple(sorted({case.function for case in cases}))
        if not cases:
            return Result(point, "not reached")
        failing = process.first_failing(number, cases[:_FIRST])
        if failing is None and not self.thorough:
            failing = process.first_failing(number, cases[_FIRST:])
        elif failing is None:
            process.renew()  # what is computed once, when the library loads, shows in a new process alone
            failing = process.first_failing(number, cases)
        seconds = round(time.monotonic() - started, 3)
        if failing is None:
            return Result(point, "survived", cases=len(cases), functions=functions, seconds=seconds)
        found_as = failing.faults[0].kind if failing.faults else failing.outcome
        return Result(point, "killed", failing.case.id, found_as, len(cases), functions, seconds=seconds)


def spread(cases: Sequence[Case], most: int = _MOST) -> list[Case]:
    """At most so many of the cases, in the order in which they are tried: of every function in turn, of each of its
    axes in turn, small cases first."""
    groups: dict[str, dict[str, list[Case]]] = {}
    for case in sorted(cases, key=weight):
        groups.setdefault(case.function, {}).setdefault(case.axis, []).append(case)
    of_functions = [_in_turn(list(axes.values())) for axes in groups.values()]
    return list(itertools.islice(_in_turn([list(queue) for queue in of_functions]), most))


def _in_turn(queues: Sequence[Sequence[Case]]) -> Iterator[Case]:
    """The first of each queue, then the second of each."""
    for row in itertools.zip_longest(*queues):
        yield from (case for case in row if case is not None)


def hash_of(states: Sequence[str]) -> str:
    """A digest over digests."""
    return hashlib.blake2b("".join(states).encode(), digest_size=12).hexdigest()


class _Process:
    """A process that stays from fault to fault for as long as it is sound."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.board = Board(campaign.count)
        self.runner: CaseRunner | None = None

    def first_failing(self, number: int, cases: Sequence[Case]) -> CaseResult | None:
        """The first failure of these cases with the fault. It must fail in a new process too, where the process that
        it failed in is not sound afterwards."""
        for chunk in _chunks(cases):
            failing = self._failing(number, chunk)
            if failing is None:
                continue
            # Without the fault the case passes, unless this fault or one before has damaged the process.
            if failing.outcome == "failed" and self._failing(-1, [failing.case]) is None:
                return failing
            self.renew()
            again = self._failing(number, [failing.case])
            self.renew()
            if again is not None:
                return again
        return None

    def _failing(self, number: int, cases: Sequence[Case]) -> CaseResult | None:
        if self.runner is None:
            self.runner = CaseRunner(
                self.campaign.cases, self.campaign.interface, self.campaign.library, self.campaign.runtime,
                time_limit=_HANGS, memory_limit=_MEMORY, environment=self.board.environment,
            )  # fmt: skip
        self.board.inject(number)
        try:
            results = self.runner.check_all(cases)
        except Failure as error:  # the library does not even load with it
            self.renew()
            return CaseResult(cases[0], "crashed", 0.0, (Fault("crash", "", str(error)),))
        finally:
            self.board.inject(-1)
        return next((result for result in results if result.outcome in FAILURES), None)

    def renew(self) -> None:
        """Ends the process: the next case starts another."""
        if self.runner is not None:
            self.runner.close()
            self.runner = None

    def close(self) -> None:
        """Ends the process for good."""
        self.renew()
        self.board.__exit__(None, None, None)


def _chunks(cases: Sequence[Case]) -> Iterator[Sequence[Case]]:
    """Few cases first, as most faults are found by the first ones, then more, to wait seldom."""
    start, size = 0, 2
    while start < len(cases):
        yield cases[start : start + size]
        start, size = start + size, min(2 * size, 64)


def _read(log: Path) -> dict[str, tuple[str, Result]]:
    """The results of an earlier run by the key of the fault, each with the digest of what it rests on; a last line that
    was cut off does not count."""
    found = {}
    if log.is_file():
        for line in log.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
                state = str(record.pop("cases_state"))
                result = from_record(record)
            except (ValueError, KeyError, TypeError):
                continue
            found[result.point.key] = state, result
    return found
