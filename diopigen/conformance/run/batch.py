"""Batch invariance: the result of a row has the same bytes whichever rows are computed with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diopigen.chip.accuracy import Declaration, invariance_of
from diopigen.conformance.cases.rows import PARTS, RowCall, row_calls
from diopigen.conformance.compare.ulp import unit
from diopigen.conformance.dtypes import Array, decode
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.run.execute import Calls
from diopigen.conformance.run.executor import Ended, Overdue, Rejected
from diopigen.conformance.run.fields import FrameError
from diopigen.conformance.run.frames import OWN, Frame
from diopigen.conformance.run.prepare import Prepared, Preparer
from diopigen.conformance.run.rows import Rows
from diopigen.ir.model import Function, Interface

INVARIANT, VARIES, NO_ROWS, MISSING = "invariant", "varies", "no rows", "missing"


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows of a call that have other bytes without the rest of the batch. `ulps` is the largest distance of the values
    by the spacing of the dtype's numbers, 0 where they are not floats."""

    case: str
    rows: tuple[int, int]
    parameter: str
    elements: int
    ulps: float


@dataclass(frozen=True, slots=True)
class Invariance:
    """Result of a function: its state, the operands with rows, how many calls were compared, and their differences;
    `note` tells why a call was not compared. `declared` are the entries of the chip's file that these calls break, as
    file:line; `is_broken` holds where a call ended the process."""

    function: str
    state: str
    batched: tuple[str, ...] = ()
    calls: int = 0
    differences: tuple[Difference, ...] = ()
    note: str = ""
    declared: tuple[str, ...] = ()
    is_broken: bool = False

    @property
    def is_wrong(self) -> bool:
        """Returns whether this counts against the library."""
        return bool(self.declared) or self.is_broken


class BatchCheck:
    """Compares calls with and without the other rows."""

    def __init__(self, interface: Interface, *, seed: int, limit: float, declared: Sequence[Declaration] = ()) -> None:
        """`limit` is seconds for a call, `declared` what the chip's file declares."""
        self.interface, self.seed, self.limit, self.declared = interface, seed, limit, declared
        self.preparer = Preparer(interface, seed=seed)
        self.rows = Rows(self.preparer)
        error = interface.enum("diopiError_t")
        self.success = next(value.value for value in error.values if value.name == SUCCESS) if error else 0

    def check(self, function: Function, calls: Calls) -> Invariance:
        """The result of a function. Raises what `calls` raises."""
        if calls.state[function.name] != OWN:
            return Invariance(function.name, MISSING)
        found = Invariance(function.name, NO_ROWS)
        for ways in row_calls(self.interface, function, self.seed):
            way = next((one for one in ways if self.rows.is_independent(function, one)), None)
            if way is None:
                continue
            try:
                found = self._compared(function, way, calls, found)
            except (Ended, Overdue, Rejected, FrameError) as error:
                note = f"{way.case.id}: {str(error) or 'the call does not return'}"
                return replace(found, state=VARIES, note=note, is_broken=True)
        return found

    def _compared(self, function: Function, way: RowCall, calls: Calls, found: Invariance) -> Invariance:
        frame, whole = self.preparer.frame(way.case, function)
        if not self._succeeds(function, frame, whole, calls):
            return replace(found, note=f"{way.case.id} is refused") if found.state == NO_ROWS else found
        differences = []
        for first, last in PARTS:
            frame, part = self.rows.part(function, way, whole, first, last)
            if not self._succeeds(function, frame, part, calls):
                differences.append(Difference(way.case.id, (first, last), "status", 0, 0.0))
                continue
            differences += [
                Difference(way.case.id, (first, last), param.name, *_distance(before, now, dtype))
                for param in function.params
                if param.is_written and param.name in way.batched
                for before, now, dtype in _elements(whole, part, param.name, first, last)
                if before.tobytes() != now.tobytes()
            ]
        entry = invariance_of(self.declared, function, way.case.dtype) if differences else None
        broken = {*found.declared, *((entry.where,) if entry is not None else ())}
        state = VARIES if differences or found.state == VARIES else INVARIANT
        return replace(
            found, state=state, batched=found.batched or way.batched, calls=found.calls + 1,
            differences=(*found.differences, *differences),
            declared=tuple(sorted(broken)),
        )  # fmt: skip

    def _succeeds(self, function: Function, frame: Frame, ready: Prepared, calls: Calls) -> bool:
        answer = calls.call(function.name, frame, ready.arguments, self.limit)
        ready.answered(frame, answer)
        return answer.status == self.success and answer.late == self.success


def _elements(whole: Prepared, part: Prepared, name: str, first: int, last: int) -> Sequence[tuple[Array, Array, str]]:
    blocks = zip(whole.blocks[name], part.blocks[name], strict=True)
    return [
        (
            np.ascontiguousarray(one.elements(whole.after(one))[first:last]),
            np.ascontiguousarray(two.elements(part.after(two))),
            one.dtype,
        )
        for one, two in blocks
        if one is not None and two is not None
    ]


def _distance(before: Array, now: Array, dtype: str) -> tuple[int, float]:
    """The number of elements with other bytes, and their distance in units of the last place."""
    size = before.dtype.itemsize
    bytes_of = [one.view(np.uint8).reshape(-1, size) for one in (before, now)]
    count = int((bytes_of[0] != bytes_of[1]).any(axis=1).sum())
    values = [np.array(decode(one, dtype)) for one in (before, now)]
    if values[0].dtype.kind != "f":
        return count, 0.0
    with np.errstate(all="ignore"):
        units = np.abs(values[0] - values[1]) / unit(values[0], dtype)
    return count, float(np.nanmax(units, initial=0.0))
