"""Runs one case: calls the function, and checks status, values and memory."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diopigen.chip.accuracy import Declaration
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.compare.describe import describe
from diopigen.conformance.dtypes import Array
from diopigen.conformance.model import ANY_FAILURE, ANY_STATUS, SUCCESS, Case, CaseResult, Fault, operands_of
from diopigen.conformance.oracles import Call
from diopigen.conformance.run.binding import Host, HostError, Library
from diopigen.conformance.run.clock import CaseClock
from diopigen.conformance.run.memory import Arena, Block
from diopigen.conformance.run.outputs import Output, digest_of, outputs_of
from diopigen.conformance.run.prepare import ALLOCATED, Prepared, Preparer
from diopigen.conformance.run.verdict import Accuracies, Validator, Verdict
from diopigen.conformance.run.views import loses_integers
from diopigen.ir.model import Function, Interface, Parameter

FOREIGN = "defined by another library, which this one needs"
"""Why a function is missing that a process would find all the same."""
_ELSEWHERE = ("diopiNoImplement", "diopiForceFallbackToCPU")


class Executor:
    """Runs cases against one library in this process."""

    def __init__(
        self,
        interface: Interface,
        host: Host,
        library: Library,
        *,
        seed: int = 0,
        counters: Path | None = None,
        accuracy: Sequence[Declaration] = (),
        observes: bool = False,
    ) -> None:
        """`counters` is a file of numbers: a call that leaves them as they are passes without being checked. `accuracy`
        is what a chip declares of its results. With `observes` the bytes of outputs stay in `outputs` until the next
        case, and results have their digest."""
        self.observes = observes
        self.outputs: tuple[Output, ...] = ()
        self.accuracies = Accuracies(accuracy)
        self.counters = None if counters is None else np.memmap(counters, dtype=np.uint64, mode="r")
        self.functions: Mapping[str, Function] = {function.name: function for function in interface.functions}
        self.library = library
        enum_values = {value.name: value.value for enum in interface.enums for value in enum.values}
        error = interface.enum("diopiError_t")
        self.statuses = {value.value: value.name for value in error.values} if error is not None else {}
        self.arena = Arena(host, {info.name: enum_values[info.enum] for info in interface.dtypes})
        self.preparer = Preparer(interface, self.arena, seed=seed)
        self.clock = CaseClock(on_host=self.arena.device == 0)

    def run(self, case: Case) -> CaseResult:
        """Runs a case. What the library does wrong comes out as faults, never as an exception."""
        self.clock.start()
        function = self.functions[case.function]
        target = self.library.functions.get(case.function)
        if target is None:
            reason = FOREIGN if case.function in self.library.foreign else ""
            return CaseResult(case, "missing", self.clock.seconds(), reason=reason)
        on_host = any(operand.on_host for operand in operands_of(case.arguments.values()))
        if (on_host and self.arena.device == 0) or not self.library.expresses(function, case):
            return CaseResult(case, "inapplicable", self.clock.seconds())
        self.values: Mapping[str, Any] = {}
        self.outputs = ()
        self.reason = ""
        self.verdict = Verdict("passed")
        try:
            outcome, faults = self._check(case, function, target)
        except (HostError, RecipeError):
            if case.expect != ANY_STATUS:
                raise
            outcome, faults = "inapplicable", []  # there is no such tensor
        finally:
            self.arena.clear()
        if outcome == "passed" and case.waiver is not None and case.waiver.kind == "unsupported":
            outcome = "excepted"
        operands = describe(case, self.values) if faults else ()
        return CaseResult(
            case, outcome, self.clock.seconds(), tuple(faults), operands, self.reason,
            self.verdict.sources, self.verdict.errors, digest_of(self.outputs),
        )  # fmt: skip

    def _check(self, case: Case, function: Function, target: Any) -> tuple[str, list[Fault]]:
        ready = self.preparer.prepare(case, function)
        self.values = ready.values
        before = None if self.counters is None else int(self.counters.sum())
        status = self.statuses.get(target(*ready.arguments), "an unknown status")
        if self.counters is not None and int(self.counters.sum()) == before:
            return "passed", []
        if status == SUCCESS:
            late = self.arena.host.status("diopiHostSynchronize", self.arena.context)
            status = self.statuses.get(late, "an unknown status")
        if case.expect == ANY_STATUS:
            return self._check_random(function, ready, status)
        if status in _ELSEWHERE and case.expect != status:
            said = self.library.text("diopiGetLastErrorString")
            # Else it is of an earlier call; one about diopiAddmm is not about diopiAdd.
            self.reason = said if re.search(rf"{function.name}\b", said) else ""
            return "unimplemented", self._memory(function, ready, written=False)
        conversion = case.conversion
        if case.expect != SUCCESS and not (status == SUCCESS and conversion is not None and conversion.accepts):
            return self._check_refusal(case, function, ready, status)
        faults = self._memory(function, ready, written=status == SUCCESS)
        call = Call(function, ready.values, ready.dtypes, ready.shapes)
        if status != SUCCESS:
            if conversion is not None and loses_integers(call, conversion) and not faults:
                return "converted", []
            said = self.library.text("diopiGetLastErrorString")
            message = f"the call is refused ({said})" if said else "the call is refused"
            faults.insert(0, Fault("status", "", message, SUCCESS, status))
            return "failed", faults
        validator = Validator(self.arena, self.accuracies)
        self.verdict = validator.verdict(case, ready, call)
        if self.observes:
            self.outputs = outputs_of(self.arena, function, ready, validator.compared)
        if self.verdict.outcome == "uncovered":
            faults += self._undetermined(function, ready)
            return ("failed" if faults else "uncovered"), faults
        faults += self.verdict.faults
        if function.tolerance == "random" and not faults:
            varying = validator.varying if case.axis == "distribution" else set()
            faults += self._again(function, target, ready, validator.compared, varying)
        return ("failed" if faults else self.verdict.outcome), faults

    def _check_random(self, function: Function, ready: Prepared, status: str) -> tuple[str, list[Fault]]:
        faults = self._memory(function, ready, written=status == SUCCESS)
        if status not in self.statuses.values():
            faults.append(Fault("status", "", "the call returns no status of the interface", ANY_STATUS, status))
        return ("failed" if faults else "passed"), faults

    def _check_refusal(self, case: Case, function: Function, ready: Prepared, status: str) -> tuple[str, list[Fault]]:
        faults = self._memory(function, ready, written=status == SUCCESS)
        if status == SUCCESS and case.conversion is not None and case.conversion.hides:
            # The input that the output overlaps is overwritten, after it has been copied.
            faults = [fault for fault in faults if fault.kind != "input changed"]
            return ("failed" if faults else "converted"), faults
        self.reason = "" if status == SUCCESS else self.library.text("diopiGetLastErrorString")
        wrong = status == SUCCESS if case.expect == ANY_FAILURE else status != case.expect
        if wrong:
            about = f": {case.about}" if case.about else ""
            word = "accepted" if status == SUCCESS else "refused with another status"
            said = f" ({self.reason})" if self.reason else ""
            faults.insert(0, Fault("status", "", f"the call is {word}{about}{said}", case.expect, status))
        return ("failed" if faults else "passed"), faults

    # ---- checks -----------------------------------------------------------------------------------------------------

    def _memory(self, function: Function, ready: Prepared, *, written: bool) -> list[Fault]:
        """Guards and inputs must be as they were; outputs too, unless the call has succeeded."""
        faults: list[Fault] = []
        shared = {_address(b) for p in function.params if p.is_written for b in ready.blocks.get(p.name, ()) if b}
        for param in function.params:
            for block in ready.blocks.get(param.name, ()):
                if block is None or block.base is None or not block.owner:
                    continue
                now = self.arena.read(block)
                is_output = written and (param.is_written or _address(block) in shared)
                fault = _untouched(param, block, now, is_output)
                if fault is not None:
                    faults.append(fault)
        return faults

    def _undetermined(self, function: Function, ready: Prepared) -> list[Fault]:
        """Checks results without an oracle: allocated outputs exist."""
        return [
            Fault("missing output", param.name, "the call succeeds without setting the tensor", "a tensor", "null")
            for param in function.params
            if param.type in ALLOCATED and not all(handle.value for handle in ready.allocated(param.name))
        ]

    def _again(
        self, function: Function, target: Any, ready: Prepared, compared: set[str], random: set[str]
    ) -> list[Fault]:
        """The same seed and offset give the same numbers again to what is compared, which scratch memory is not; the
        next call without them gives others to `random`."""
        written = [(p, b) for p in function.params if p.is_written for b in ready.blocks.get(p.name, ()) if b]
        first = [self.arena.read(block) for _, block in written]

        def called() -> list[Array]:
            for _, block in written:
                self.arena.write(block, block.before)
            target(*ready.arguments)
            self.arena.host.status("diopiHostSynchronize", self.arena.context)
            return [self.arena.read(block) for _, block in written]

        after = called()
        advances = [offset > 0 for _, offset in map(self.arena.state, (handle for handle, _ in ready.generators))]
        for handle, seed in ready.generators:
            self.arena.host.call("diopiGeneratorSetSeedAndOffset", handle, seed, 0)
        faults = [
            Fault("reproducibility", param.name, "the same seed gives other numbers the second time")
            for (param, _), before, now in zip(written, first, called(), strict=True)
            if param.name in compared and not np.array_equal(now, before)
        ]
        for (param, _), before, now in zip(written, first, after, strict=True):
            if param.name in random and np.array_equal(now, before):
                moved = "" if all(advances) else ", and the generator's offset has not advanced"
                message = f"the next call gives the same numbers{moved}"
                faults.append(Fault("reproducibility", param.name, message))
        return faults


def _address(block: Block) -> int:
    return int(block.base.value or 0) if block.base is not None else 0


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
