"""Checks one case: has the function called, and checks status, values and memory."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from diopigen.chip.accuracy import Declaration
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.compare.describe import describe
from diopigen.conformance.dtypes import Array
from diopigen.conformance.model import ANY_FAILURE, ANY_STATUS, SUCCESS, Case, CaseResult, Fault, operands_of
from diopigen.conformance.oracles import Call
from diopigen.conformance.run.blocks import Block
from diopigen.conformance.run.executor import Rejected
from diopigen.conformance.run.frames import FOREIGN, NO_SUCH_CALL, OWN, Answer, Argument, Frame
from diopigen.conformance.run.outputs import Output, digest_of, outputs_of
from diopigen.conformance.run.prepare import ALLOCATED, Prepared, Preparer
from diopigen.conformance.run.verdict import Accuracies, Validator, Verdict
from diopigen.conformance.run.views import loses_integers
from diopigen.conformance.strides import GUARD
from diopigen.ir.model import Function, Interface, Parameter

NOT_ITS_OWN = "defined by another library, which this one needs"
"""Why a function is missing that a process would find all the same."""
_REHEARSED = {"": 16, "held-out": 4}
"""One of so many cases of an axis is called with other numbers first."""
ELSEWHERE = ("diopiNoImplement", "diopiForceFallbackToCPU")
"""Statuses of functions that a library leaves to others."""


class Calls(Protocol):
    """Makes calls."""

    @property
    def state(self) -> Mapping[str, int]:
        """The state of each function."""

    @property
    def has_device(self) -> bool:
        """Returns whether tensors are on a device."""

    def call(self, function: str, frame: Frame, arguments: Sequence[Argument], limit: float) -> Answer:
        """Makes a call within a time limit in seconds."""


Expresses = Callable[[Function, Case], bool]
"""Tells if a binding can make the call of a case."""


@dataclass(slots=True)
class Done:
    """A call that has been done."""

    frame: Frame
    ready: Prepared
    answer: Answer


class Checker:
    """Checks cases of one library, which others call."""

    not_its_own = NOT_ITS_OWN
    """Why a function is missing whose state is `FOREIGN`."""

    def __init__(
        self,
        interface: Interface,
        *,
        seed: int = 0,
        limit: float = 20.0,
        counters: Path | None = None,
        accuracy: Sequence[Declaration] = (),
        observes: bool = False,
        expresses: Expresses = lambda _function, _case: True,
    ) -> None:
        """`limit` is seconds for a call. `counters` is a file of numbers: a call that leaves them as they are passes
        without being checked. `accuracy` is what a chip declares of its results. With `observes` the bytes of outputs
        stay in `outputs` until the next case, and results have their digest."""
        self.observes, self.limit, self.expresses = observes, limit, expresses
        self.outputs: tuple[Output, ...] = ()
        self.accuracies = Accuracies(accuracy)
        self.counters = None if counters is None else np.memmap(counters, dtype=np.uint64, mode="r")
        self.functions: Mapping[str, Function] = {function.name: function for function in interface.functions}
        error = interface.enum("diopiError_t")
        self.statuses = {value.value: value.name for value in error.values} if error is not None else {}
        self.preparer = Preparer(interface, seed=seed)
        self.others = Preparer(interface, seed=seed + 1)
        self.rehearsed: set[str] = set()
        self.rehearsal: Prepared | None = None
        self.before = ""
        """The case before, which is not called with other numbers when it is repeated."""

    def check(self, case: Case, calls: Calls) -> CaseResult:
        """The result of a case. Errors of the library come out as faults; raises what `calls` raises."""
        start, self.seconds = time.thread_time(), 0.0
        function = self.functions[case.function]
        state = calls.state[case.called]
        if state != OWN:
            return CaseResult(case, "missing", 0.0, reason=self.not_its_own if state == FOREIGN else "")
        on_host = any(operand.on_host for operand in operands_of(case.arguments.values()))
        if (on_host and not calls.has_device) or not self.expresses(function, case):
            return CaseResult(case, "inapplicable", 0.0)
        self.values: Mapping[str, Any] = {}
        self.outputs = ()
        self.reason = ""
        self.verdict = Verdict("passed")
        try:
            outcome, faults = self._check(case, function, calls)
        except (Rejected, RecipeError) as error:
            if isinstance(error, Rejected) and error.code == NO_SUCH_CALL:
                self.reason = str(error)
            elif case.expect != ANY_STATUS or (isinstance(error, Rejected) and error.code != "host"):
                raise
            outcome, faults = "inapplicable", []  # there is no such tensor, or no such call
        if outcome == "passed" and case.waiver is not None and case.waiver.kind == "unsupported":
            outcome = "excepted"
        operands = describe(case, self.values) if faults else ()
        seconds = time.thread_time() - start + self.seconds
        return CaseResult(
            case, outcome, seconds, tuple(faults), operands, self.reason,
            self.verdict.sources, self.verdict.errors, digest_of(self.outputs),
        )  # fmt: skip

    def _called(self, name: str, frame: Frame, ready: Prepared, calls: Calls) -> Done:
        answer = calls.call(name, frame, ready.arguments, self.limit)
        self.seconds += max(0.0, answer.seconds)
        ready.answered(frame, answer)
        return Done(frame, ready, answer)

    def _check(self, case: Case, function: Function, calls: Calls) -> tuple[str, list[Fault]]:
        frame, ready = self.preparer.frame(case, function)
        self.values = ready.values
        self.rehearsal = self._rehearsed(case, function, calls)
        before = None if self.counters is None else int(self.counters.sum())
        done = self._called(case.called, frame, ready, calls)
        if self.counters is not None and int(self.counters.sum()) == before:
            return "passed", []
        return self._outcome(case, done, calls)

    def examine(self, case: Case, frame: Frame, ready: Prepared, answer: Answer) -> tuple[str, list[Fault]]:
        """The outcome and the faults of a call that has been made already."""
        ready.answered(frame, answer)
        self.reason, self.verdict, self.outputs = "", Verdict("passed"), ()
        return self._outcome(case, Done(frame, ready, answer), None)

    def _outcome(self, case: Case, done: Done, calls: Calls | None) -> tuple[str, list[Fault]]:
        function, ready = done.ready.function, done.ready
        status = self.statuses.get(done.answer.status, "an unknown status")
        if status == SUCCESS:
            status = self.statuses.get(done.answer.late, "an unknown status")
        said = done.answer.text
        if case.expect == ANY_STATUS:
            return self._check_random(function, ready, status)
        if status in ELSEWHERE and case.expect != status:
            # Else it is of an earlier call; one about diopiAddmm is not about diopiAdd.
            self.reason = said if re.search(rf"{function.name}\b", said) else ""
            return "unimplemented", self._memory(function, ready, written=False)
        conversion = case.conversion
        if case.expect != SUCCESS and not (status == SUCCESS and conversion is not None and conversion.accepts):
            return self._check_refusal(case, function, ready, status, said)
        faults = self._memory(function, ready, written=status == SUCCESS)
        call = Call(function, ready.values, ready.dtypes, ready.shapes)
        if status != SUCCESS:
            if conversion is not None and loses_integers(call, conversion) and not faults:
                return "converted", []
            message = f"the call is refused ({said})" if said else "the call is refused"
            faults.insert(0, Fault("status", "", message, SUCCESS, status))
            return "failed", faults
        return self._verified(case, done, call, calls, faults)

    def _verified(
        self, case: Case, done: Done, call: Call, calls: Calls | None, faults: list[Fault]
    ) -> tuple[str, list[Fault]]:
        """The outcome of a call that has succeeded, with the faults of memory around it."""
        function, ready = done.ready.function, done.ready
        validator = Validator(self.accuracies)
        self.verdict = validator.verdict(case, ready, call)
        if self.observes:
            self.outputs = outputs_of(function, ready, validator.compared)
        if self.verdict.outcome == "uncovered":
            faults += self._undetermined(function, ready)
            return ("failed" if faults else "uncovered"), faults
        faults += self.verdict.faults
        if self.rehearsal is not None:
            faults = [*self._remembered(case, self.rehearsal, ready, validator.compared), *faults]
        if function.tolerance == "random" and not faults and calls is not None:
            varying = validator.varying if case.axis == "distribution" else set()
            faults += self._again(case, done, calls, validator.compared, varying)
        return ("failed" if faults else self.verdict.outcome), faults

    def _rehearsed(self, case: Case, function: Function, calls: Calls) -> Prepared | None:
        """The same call with other numbers, which comes before the cases of a function until their results differ, and
        before some of the others: what a library remembers of a call by its sizes or addresses is then wrong."""
        is_repeated, self.before = case.id == self.before, case.id
        if is_repeated or case.expect != SUCCESS or function.tolerance == "random" or self.counters is not None:
            return None
        share = _REHEARSED.get(case.axis, _REHEARSED[""])
        if function.name in self.rehearsed and zlib.crc32(case.id.encode()) % share:
            return None
        frame, ready = self.others.frame(case, function)
        ready.answered(frame, calls.call(case.called, frame, ready.arguments, self.limit))
        return ready

    def _remembered(self, case: Case, rehearsal: Prepared, ready: Prepared, compared: set[str]) -> list[Fault]:
        """Outputs of a wrong result that are those of the call before, where they were right."""
        pairs = zip(_written(rehearsal), _written(ready), strict=True)
        alike = [
            (param.name, np.array_equal(rehearsal.after(before), ready.after(now)))
            for (_, before), (param, now) in pairs
            if param.name in compared
        ]
        if not all(is_same for _, is_same in alike) or not alike:
            self.rehearsed.add(case.function)
        if not self.verdict.faults:
            return []
        call = Call(ready.function, rehearsal.values, rehearsal.dtypes, rehearsal.shapes)
        if Validator(self.accuracies).verdict(case, rehearsal, call).faults:
            return []
        message = "the result is that of the call before, whose operands had other numbers"
        return [Fault("state", name, message) for name, is_same in alike if is_same]

    def _check_random(self, function: Function, ready: Prepared, status: str) -> tuple[str, list[Fault]]:
        faults = self._memory(function, ready, written=status == SUCCESS)
        if status not in self.statuses.values():
            faults.append(Fault("status", "", "the call returns no status of the interface", ANY_STATUS, status))
        return ("failed" if faults else "passed"), faults

    def _check_refusal(
        self, case: Case, function: Function, ready: Prepared, status: str, said: str
    ) -> tuple[str, list[Fault]]:
        faults = self._memory(function, ready, written=status == SUCCESS)
        if status == SUCCESS and case.conversion is not None and case.conversion.hides:
            # The input that the output overlaps is overwritten, after it has been copied.
            faults = [fault for fault in faults if fault.kind != "input changed"]
            return ("failed" if faults else "converted"), faults
        self.reason = "" if status == SUCCESS else said
        wrong = status == SUCCESS if case.expect == ANY_FAILURE else status != case.expect
        if wrong:
            about = f": {case.about}" if case.about else ""
            word = "accepted" if status == SUCCESS else "refused with another status"
            text = f" ({self.reason})" if self.reason else ""
            faults.insert(0, Fault("status", "", f"the call is {word}{about}{text}", case.expect, status))
        return ("failed" if faults else "passed"), faults

    # ---- checks -----------------------------------------------------------------------------------------------------

    def _memory(self, function: Function, ready: Prepared, *, written: bool) -> list[Fault]:
        """Guards and inputs must be as they were; outputs too, unless the call has succeeded. None of them may have
        been written meanwhile, and the state of the process must be as it was."""
        faults: list[Fault] = []
        shared = ready.written
        for param in function.params:
            for block in ready.blocks.get(param.name, ()):
                if block is None or block.base is None or not block.owner:
                    continue
                is_output = written and (param.is_written or block.base in shared)
                fault = _untouched(param, block, ready.after(block), is_output)
                writes = [byte for base, byte in ready.writes if base == block.base]
                if fault is None and writes:
                    fault = _restored(param, block, writes[0])
                if fault is not None:
                    faults.append(fault)
        if ready.changed:
            faults.append(Fault("environment", "", ready.changed))
        return faults

    def _undetermined(self, function: Function, ready: Prepared) -> list[Fault]:
        """Checks results without an oracle: allocated outputs exist."""
        return [
            Fault("missing output", param.name, "the call succeeds without setting the tensor", "a tensor", "null")
            for param in function.params
            if param.type in ALLOCATED and None in ready.allocated(param.name)
        ]

    def _again(self, case: Case, done: Done, calls: Calls, compared: set[str], random: set[str]) -> list[Fault]:
        """The same seed and offset give the same numbers again to what is compared, which scratch memory is not; the
        next call without them gives others to `random`."""
        function, states = done.ready.function, done.answer.generators

        def called(states: Sequence[tuple[int, int]]) -> list[Array]:
            frame, ready = self.preparer.frame(case, function)
            frame.seeds = list(states)
            self._called(case.called, frame, ready, calls)
            return [ready.after(block) for _, block in _written(ready)]

        written = _written(done.ready)
        first = [done.ready.after(block) for _, block in written]
        after = called(states)
        advances = [offset > 0 for _, offset in states]
        again = called(done.frame.seeds)
        faults = [
            Fault("reproducibility", param.name, "the same seed gives other numbers the second time")
            for (param, _), before, now in zip(written, first, again, strict=True)
            if param.name in compared and not np.array_equal(now, before)
        ]
        for (param, _), before, now in zip(written, first, after, strict=True):
            if param.name in random and np.array_equal(now, before):
                moved = "" if all(advances) else ", and the generator's offset has not advanced"
                message = f"the next call gives the same numbers{moved}"
                faults.append(Fault("reproducibility", param.name, message))
        return faults


def _written(ready: Prepared) -> list[tuple[Parameter, Block]]:
    return [
        (param, block)
        for param in ready.function.params
        if param.is_written
        for block in ready.blocks.get(param.name, ())
        if block is not None
    ]


def _restored(param: Parameter, block: Block, byte: int) -> Fault:
    if block.start <= byte < block.before.size - GUARD:
        return Fault("input changed", param.name, "an input is written by the call, and restored")
    message = f"memory outside the tensor is written and restored (byte {byte - block.start} from its first element)"
    return Fault("guard", param.name, message)


def _untouched(param: Parameter, block: Block, now: Array, is_output: bool) -> Fault | None:
    if is_output:
        outside = now.copy()
        block.elements(outside)[...] = block.elements(block.before)
    else:
        outside = now
    if np.array_equal(outside, block.before):
        return None
    index = int(np.flatnonzero(outside != block.before)[0])
    inside = not np.array_equal(block.elements(outside), block.elements(block.before))
    expected, actual = f"0x{int(block.before[index]):02x}", f"0x{int(now[index]):02x}"
    if not inside:
        message = f"memory outside the tensor is written (byte {index - block.start} from its first element)"
        return Fault("guard", param.name, message, expected, actual)
    if param.is_written:
        return Fault("output of a failure", param.name, "the call fails but has written", expected, actual)
    return Fault("input changed", param.name, "an input is changed by the call", expected, actual)
