"""Calls with more elements than an index of 32 bits counts: rows that repeat, so that a small call tells the results.

Only the executor has the tensors as a whole. It gets the rows of a small call and how often they come, and the repeats
of what it returns are compared with one another; each that differs is compared as the result of the small call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from diopigen.conformance.cases.legal import LegalCalls
from diopigen.conformance.cases.rows import RowCall, small_row_calls
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Case, Fault, Operand, Value, operands_of
from diopigen.conformance.run.execute import Calls, Checker
from diopigen.conformance.run.executor import Ended, Overdue, Rejected
from diopigen.conformance.run.fields import FrameError
from diopigen.conformance.run.frames import OWN, Answer
from diopigen.conformance.run.rows import Rows
from diopigen.ir.model import Function, Interface

AXIS = "beyond-32-bits"
NO_ROWS, TOO_LARGE, NOT_SMALL = "no rows", "too large", "not at any size"
"""Outcomes besides those of cases: there is no such call, it needs more memory than the process may have, or no dtype
has a call that succeeds with few elements."""
_ROWS = 1009
"""Rows that repeat, a prime number, so that an index that overflows meets another row."""
_ELEMENTS = 1 << 18
"""Elements of these rows of a tensor at most."""
_SPARE = 1 << 30
"""Bytes of a process besides its tensors."""
_BYTES_PER_SECOND = 1 << 26
"""Bytes that a slow machine writes, reads and sends in a second."""


@dataclass(frozen=True, slots=True)
class LargeCall:
    """A call of rows that repeat: `case` is that of one repeat."""

    case: Case
    batched: tuple[str, ...]
    times: int
    elements: int
    """Elements of its largest tensor."""
    bytes: int
    """Bytes of all tensors."""


@dataclass(frozen=True, slots=True)
class LargeResult:
    """Outcome of a function, one of cases or of this module; its call, and the number of the first wrong repeat."""

    function: str
    outcome: str
    call: LargeCall | None = None
    repeat: int = 0
    faults: tuple[Fault, ...] = ()
    note: str = ""

    @property
    def is_broken(self) -> bool:
        """Returns whether this counts against the library, whose process may be broken."""
        return self.outcome in ("failed", "crashed", "hung")


class LargeCheck:
    """Makes such calls and checks their results."""

    def __init__(self, interface: Interface, *, seed: int, elements: int, memory: int, limit: float) -> None:
        """`elements` is how many a tensor has at least, `memory` the bytes that the process with the library may have,
        0 for no limit, `limit` seconds for a call, besides the time that its bytes take."""
        self.interface, self.elements, self.memory, self.limit = interface, elements, memory, limit
        self.checker = Checker(interface, seed=seed)
        self.rows = Rows(self.checker.preparer)

    def check(self, function: Function, calls: Calls) -> LargeResult:
        """The result of a function. Raises what `calls` raises, but for the end of the process in a call."""
        if calls.state[function.name] != OWN:
            return LargeResult(function.name, "missing")
        result = LargeResult(function.name, NO_ROWS)
        for call in self._calls(function):
            result = self._result(function, call, calls)
            if result.outcome != NOT_SMALL:
                break
        return result

    def _result(self, function: Function, call: LargeCall, calls: Calls) -> LargeResult:
        needed = call.bytes * (2 if calls.has_device else 1) + _SPARE  # what is on a device is copied to the host
        if self.memory and needed > self.memory:
            return LargeResult(function.name, TOO_LARGE, call, note=f"needs {needed / (1 << 30):.1f} GiB")
        try:
            small = self.checker.check(call.case, calls)
            if small.outcome != "passed":
                is_rejected = small.outcome != "failed" or all(fault.kind == "status" for fault in small.faults)
                outcome = NOT_SMALL if is_rejected else "failed"
                return LargeResult(function.name, outcome, call, faults=small.faults, note=small.reason)
            return self._compared(function, call, calls)
        except Overdue:
            return LargeResult(function.name, "hung", call, note="the call does not return")
        except Ended as error:
            return LargeResult(function.name, "crashed", call, note=str(error))
        except (Rejected, FrameError) as error:
            return LargeResult(function.name, "failed", call, note=str(error))

    def _calls(self, function: Function) -> list[LargeCall]:
        """A call for each dtype, the one with the fewest bytes; ordered by them."""
        legal, smallest = LegalCalls(function), dict[str, LargeCall]()
        for ways in small_row_calls(self.interface, function):
            way = next((one for one in ways if self.rows.is_repeatable(function, one)), None)
            call = None if way is None else self._enlarged(way)
            if call is None or not legal.admits(_whole(call)):
                continue
            other = smallest.get(call.case.dtype)
            if other is None or call.bytes < other.bytes:
                smallest[call.case.dtype] = call
        return sorted(smallest.values(), key=lambda call: call.bytes)

    def _enlarged(self, way: RowCall) -> LargeCall | None:
        sizes = [math.prod(one.shape[1:]) for one in _batched(way.case, way.batched)]
        if 0 in sizes:
            return None
        row = max(sizes)
        rows = min(_ROWS, max(1, _ELEMENTS // row) // 2 * 2 + 1)
        small = way.part(rows)
        case = replace(small, id=f"{small.id.rpartition('/')[0]}/{AXIS}", axis=AXIS)
        times = self.elements // (rows * row) + 1
        counts = [(one, math.prod(one.shape)) for one in operands_of(case.arguments.values())]
        repeated = sum(math.prod(one.shape) * STORAGE[one.dtype].itemsize for one in _batched(case, way.batched))
        others = sum(count * STORAGE[one.dtype].itemsize for one, count in counts) - repeated
        return LargeCall(case, way.batched, times, times * rows * row, times * repeated + others)

    def _compared(self, function: Function, call: LargeCall, calls: Calls) -> LargeResult:
        frame, ready = self.checker.preparer.frame(call.case, function)
        for name in call.batched:
            (block,) = ready.blocks[name]
            assert block is not None, name
            frame.repeat(block, call.times)
        limit = self.limit + call.bytes / _BYTES_PER_SECOND
        answer = calls.call(function.name, frame, ready.arguments, limit)
        found = LargeResult(function.name, "passed", call)
        for repeat, one in _answers(answer):
            outcome, faults = self.checker.examine(call.case, frame, ready, one)
            if outcome != "passed":
                return replace(found, outcome=outcome, repeat=repeat, faults=tuple(faults), note=self.checker.reason)
        if answer.unread:
            note = f"{answer.unread} more repeats differ from these, and were not compared"
            return replace(found, outcome="failed", note=note)
        return found


def _answers(answer: Answer) -> Iterator[tuple[int, Answer]]:
    """Yields a repeat for all that are alike, by number, and the answer of a small call with its bytes. The first is
    last: a write to an input that has changed another repeat is a fault of that one."""
    for repeat, storages in sorted(answer.others.items()):
        changed = [storages.get(number, content) for number, content in enumerate(answer.storages)]
        yield repeat, replace(answer, storages=changed)
    yield 0, answer


def _batched(case: Case, names: tuple[str, ...]) -> list[Operand]:
    return list(operands_of(case.arguments[name] for name in names))


def _whole(call: LargeCall) -> dict[str, Value]:
    """The arguments of the call with all repeats."""

    def repeated(name: str, value: Value) -> Value:
        if name not in call.batched or not isinstance(value, Operand):
            return value
        return replace(value, shape=(value.shape[0] * call.times, *value.shape[1:]))

    return {name: repeated(name, value) for name, value in call.case.arguments.items()}
