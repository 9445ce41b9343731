"""The time of a call, by the clock of the checker.

The executor makes copies of the call with other data at other addresses. The checker then has them called and measures
until it is told that all is done. A library that remembers results meets no operand twice, and one that returns early
leaves outputs that are compared afterwards. Nothing that the other process says of time counts: the empty round trip
that is subtracted is measured without the library, and is never more than a twentieth of the whole.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from diopigen.conformance.cases.held_out import FREE
from diopigen.conformance.dtypes import STORAGE, decode
from diopigen.conformance.model import Case, Operand
from diopigen.conformance.run.blocks import Block
from diopigen.conformance.run.execute import ELSEWHERE
from diopigen.conformance.run.executor import Copies, Ended, Overdue, Rejected
from diopigen.conformance.run.fields import FrameError
from diopigen.conformance.run.frames import NO_SUCH_CALL, Answer, Argument, Frame, Rotation
from diopigen.conformance.run.prepare import Prepared, Preparer
from diopigen.ir.model import Function, Parameter

Clock = Callable[[], float]
_ROUND_TRIPS = 20
"""A run takes as long as so many empty round trips, where copies enough fit."""
_COPIES = 2000
_GROWTH = 32
"""Factor by which the calls of a run grow at most, while their number is found."""
_TOTAL = 256 << 20
"""Bytes of all copies at most."""
_LONG, _FEW = 0.5, 2
"""Seconds of a call from which so few trials are enough; trials without a gain after which there are no more."""
_MOST, _GAIN = 4, 0.98
"""Trials are at most so many times those asked for; a shorter time by less than this factor is no gain."""
_READ = 4
"""Copies of a run whose outputs are read."""
_READ_BYTES, _OTHER_BYTES = 8 << 20, 32 << 20
"""Bytes that are read of a run, and that are retained of all slower runs, beyond those of a first copy."""


class Calls(Protocol):
    """Makes copies of a call, calls them and reads them (`run.executor.Executor`)."""

    def prepare(
        self, function: str, frame: Frame, arguments: Sequence[Argument], copies: Copies, limit: float
    ) -> None: ...

    def run(self, count: int, limit: float) -> tuple[int, int]: ...

    def read(self, index: int, frame: Frame, limit: float) -> Answer: ...


class TrialError(Exception):
    """A run of a library has failed: `outcome` as in `model.OUTCOMES`."""

    def __init__(self, timer: Timer, outcome: str, message: str) -> None:
        super().__init__(message)
        self.timer, self.outcome = timer, outcome


class Subject:
    """One call, as it is sent to each library, with the data of all of its copies."""

    def __init__(self, preparer: Preparer, function: Function, case: Case) -> None:
        self.case, self.function = case, function
        self.frame, self.ready = preparer.frame(case, function)
        self._rotated = list(_rotated(function, case, self.ready))
        self.rotations = [rotation for _, _, rotation in self._rotated]

    @property
    def bytes(self) -> int:
        """Bytes of a copy."""
        return sum(content.size for _, content in self.frame.storages)

    def copy(self, number: int) -> Prepared:
        """The call with the data of a copy."""
        blocks = {name: list(found) for name, found in self.ready.blocks.items()}
        values: dict[str, Any] = dict(self.ready.values)
        for name, index, rotation in self._rotated:
            block = blocks[name][index]
            assert block is not None
            before, end = block.before.copy(), rotation.start + rotation.bytes
            before[rotation.start : end] = np.roll(before[rotation.start : end], -rotation.shift(number))
            blocks[name][index] = changed = replace(block, before=before)
            seen = np.array(decode(changed.elements(before), changed.dtype))
            if isinstance(values[name], list):
                values[name] = [*values[name][:index], seen, *values[name][index + 1 :]]
            else:
                values[name] = seen
        return replace(self.ready, blocks=blocks, values=values)


def _rotated(function: Function, case: Case, ready: Prepared) -> Iterator[tuple[str, int, Rotation]]:
    """The operands whose elements may be in any order, by parameter and position in its list."""
    for param in function.params:
        for index, (block, item) in enumerate(zip(ready.blocks.get(param.name, ()), _items(case, param), strict=False)):
            if block is not None and _is_free(function, param, item, block):
                size = STORAGE[block.dtype].itemsize
                yield param.name, index, Rotation(block.base, block.start, math.prod(block.shape) * size, size)


def _items(case: Case, param: Parameter) -> Sequence[Any]:
    value = case.arguments.get(param.name)
    return value if isinstance(value, tuple) else (value,)


def _is_free(function: Function, param: Parameter, item: Any, block: Block) -> bool:
    """Returns whether elements may be in any order: those of elementwise operators, and random numbers."""
    return (
        isinstance(item, Operand)
        and param.is_read
        and not param.sparse
        and block.base is not None
        and block.owner
        and item.layout == "contiguous"
        and (function.kernel is not None or getattr(item.values, "distribution", "") in FREE)
        and math.prod(block.shape) > 1
    )


@dataclass(frozen=True, slots=True)
class Speed:
    """Seconds of a call in the fastest of some runs, without and (`longest`) with the round trip, and the calls of a
    run; `is_coarse` if it was so short that the round trip counts."""

    seconds: float
    longest: float
    calls: int
    is_coarse: bool


@dataclass(slots=True)
class Run:
    """The fastest run so far with the answers of some of its copies by their numbers, and an answer of other runs."""

    count: int
    seconds: float = math.inf
    answers: list[tuple[int, Answer]] = field(default_factory=list)
    others: list[tuple[int, Answer]] = field(default_factory=list)


class Timer:
    """Times one call of one library."""

    def __init__(
        self,
        calls: Calls,
        subject: Subject,
        statuses: Mapping[int, str],
        clock: Clock,
        draw: random.Random,
        limit: float,
    ) -> None:
        """`statuses` are those of the interface by number, `limit` seconds for a run."""
        self.calls, self.subject, self.statuses = calls, subject, statuses
        self.clock, self.draw, self.limit = clock, draw, limit
        self.empty = math.inf
        """Seconds of a round trip without calls, the shortest so far."""

    def trial(self, run: Run, evicted: int) -> float:
        """Makes the calls of a run on fresh data, and returns the seconds that it took. Raises `TrialError`."""
        try:
            return self._trial(run, evicted)
        except Overdue:
            raise TrialError(self, "hung", f"no answer within {self.limit:g} s") from None
        except Rejected as error:
            outcome = "inapplicable" if error.code == NO_SUCH_CALL else "crashed"
            raise TrialError(self, outcome, str(error)) from None
        except (Ended, FrameError, MemoryError) as error:
            raise TrialError(self, "crashed", str(error) or "memory is exhausted") from None

    def _trial(self, run: Run, evicted: int) -> float:
        subject, calls = self.subject, self.calls
        first = self.draw.getrandbits(40)
        copies = Copies(first, run.count, evicted, subject.rotations)
        calls.prepare(subject.case.called, subject.frame, subject.ready.arguments, copies, self.limit)
        start = self.clock()
        calls.run(0, self.limit)
        middle = self.clock()
        status, late = calls.run(run.count, self.limit)
        seconds = self.clock() - middle
        if status or late:
            name = self.statuses.get(status or late, "an unknown status")
            raise TrialError(self, "unimplemented" if name in ELSEWHERE else "failed", f"the call returns {name}")
        self.empty = min(self.empty, middle - start)
        read = min(run.count, _READ, max(1, _READ_BYTES // max(subject.bytes, 1)))
        answers = [
            (first + index, calls.read(index, subject.frame, self.limit))
            for index in self.draw.sample(range(run.count), read)
        ]
        slower = answers
        if seconds < run.seconds:
            slower, run.seconds, run.answers = run.answers, seconds, answers
        if not run.others or (len(run.others) + 1) * subject.bytes <= _OTHER_BYTES:
            run.others += slower[:1]
        return seconds

    def count(self, total: int) -> int:
        """The calls of a run that is long enough, or as many as fit into `total` bytes; 0 if not even one does."""
        most = min(_COPIES, total // max(self.subject.bytes, 1))
        count = min(1, most)
        while count < most:
            seconds = min(self.trial(Run(count), 0) for _ in range(_FEW))  # one alone may be slow by other work
            if seconds >= _ROUND_TRIPS * self.empty:
                break
            needed = math.ceil(1.5 * _ROUND_TRIPS * self.empty / max(seconds, 1e-9) * count)
            count = min(most, _GROWTH * count, max(needed, 2 * count))
        return count

    def speed(self, run: Run) -> Speed:
        """The time of a call of a run."""
        subtracted = min(self.empty, run.seconds / _ROUND_TRIPS)
        return Speed(
            (run.seconds - subtracted) / run.count,
            run.seconds / run.count,
            run.count,
            self.empty > run.seconds / _ROUND_TRIPS,
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """The speeds of a call with operands in memory and in the cache, and the answers that show whether they count; the
    cache has none of calls that do not fit."""

    cold: Speed
    warm: Speed | None
    answers: Sequence[tuple[int, Answer]]


def measure(timers: Sequence[Timer], cache: int, trials: int) -> list[Measured]:
    """The speeds of a call in each library, which take turns: `trials` times, and then until neither is faster. `cache`
    is bytes of the last-level cache. Raises `TrialError`."""
    longest = 0.0
    for timer in timers:
        timer.trial(Run(1), 0)  # the first call of a library sets up what later ones use
        longest = max(longest, timer.trial(Run(1), 0))
    # All have runs of the same length: of few calls the first one counts more, which finds its code in no cache either.
    count = max(timer.count(max(_TOTAL, timer.subject.bytes)) for timer in timers)
    fitting = min(count, cache // 2 // max(timers[0].subject.bytes, 1))
    cold = [Run(count) for _ in timers]
    warm = [Run(fitting) if fitting else None for _ in timers]
    turns = without_gain = 0
    least = min(trials, _FEW) if longest > _LONG else trials
    while turns < least or (without_gain < _FEW and turns < _MOST * least):
        before = [one.seconds for one in cold]
        for timer, one in zip(timers, cold, strict=True):
            timer.trial(one, 2 * cache)
        for timer, other in zip(timers, warm, strict=True):
            if other is not None:
                timer.trial(other, 0)
        turns += 1
        has_gain = any(one.seconds < _GAIN * then for one, then in zip(cold, before, strict=True))
        without_gain = 0 if has_gain else without_gain + 1
    return [
        Measured(timer.speed(one), None if other is None else timer.speed(other), _answers(one, other))
        for timer, one, other in zip(timers, cold, warm, strict=True)
    ]


def _answers(cold: Run, warm: Run | None) -> list[tuple[int, Answer]]:
    """The answers to compare, those of the fastest runs first."""
    runs = [cold] if warm is None else [cold, warm]
    return [answer for run in runs for answer in run.answers] + [answer for run in runs for answer in run.others]


CACHE = 64 << 20
"""Bytes of the last-level cache of a machine that does not tell."""


def last_level_cache() -> int:
    """Bytes of the last-level cache of this machine."""
    try:
        return max(os.sysconf("SC_LEVEL3_CACHE_SIZE"), os.sysconf("SC_LEVEL2_CACHE_SIZE")) or CACHE
    except (OSError, ValueError):
        return CACHE
