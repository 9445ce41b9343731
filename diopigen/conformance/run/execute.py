"""Runs one case: calls the function, and checks status, values and memory."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from diopigen.conformance.compare.describe import describe
from diopigen.conformance.compare.order import Arrangement, Stored, arranged, selected_from
from diopigen.conformance.compare.results import bool_byte
from diopigen.conformance.dtypes import Array, decode
from diopigen.conformance.model import ANY_FAILURE, SUCCESS, Case, CaseResult, Fault, operands_of
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Property, oracle_of
from diopigen.conformance.run.binding import Host, Library
from diopigen.conformance.run.memory import Arena, Block
from diopigen.conformance.run.prepare import ALLOCATED, Prepared, Preparer
from diopigen.contract.dtypes import category
from diopigen.ir.model import Function, Interface, Parameter

_ELSEWHERE = ("diopiNoImplement", "diopiForceFallbackToCPU")


class Executor:
    """Runs cases against one library in this process."""

    def __init__(
        self, interface: Interface, host: Host, library: Library, *, seed: int = 0, counters: Path | None = None
    ) -> None:
        """`counters` is a file of numbers: a call that leaves them as they are passes without being checked."""
        self.counters = None if counters is None else np.memmap(counters, dtype=np.uint64, mode="r")
        self.functions: Mapping[str, Function] = {function.name: function for function in interface.functions}
        self.library = library
        enum_values = {value.name: value.value for enum in interface.enums for value in enum.values}
        error = interface.enum("diopiError_t")
        self.statuses = {value.value: value.name for value in error.values} if error is not None else {}
        self.arena = Arena(host, {info.name: enum_values[info.enum] for info in interface.dtypes})
        self.preparer = Preparer(interface, self.arena, seed=seed)

    def run(self, case: Case) -> CaseResult:
        """Runs a case. What the library does wrong comes out as faults, never as an exception."""
        started = time.perf_counter()
        function = self.functions[case.function]
        target = self.library.functions.get(case.function)
        if target is None:
            return CaseResult(case, "missing", time.perf_counter() - started)
        if self.arena.device == 0 and any(operand.on_host for operand in operands_of(case.arguments.values())):
            return CaseResult(case, "inapplicable", time.perf_counter() - started)
        self.values: Mapping[str, Any] = {}
        self.reason = ""
        self.factor = case.waiver.factor if case.waiver is not None else 1.0
        self.loosened = False
        self.arranged = Arrangement()
        try:
            outcome, faults = self._check(case, function, target)
        finally:
            self.arena.clear()
        if outcome == "passed" and (self.loosened or (case.waiver is not None and case.waiver.kind == "unsupported")):
            outcome = "excepted"
        operands = describe(case, self.values) if faults else ()
        return CaseResult(case, outcome, time.perf_counter() - started, tuple(faults), operands, self.reason)

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
        if status in _ELSEWHERE and case.expect != status:
            said = self.library.text("diopiGetLastErrorString")
            self.reason = said if function.name in said else ""  # it may be of an earlier call
            return "unimplemented", self._memory(function, ready, written=False)
        if case.expect != SUCCESS:
            return self._check_refusal(case, function, ready, status)
        faults = self._memory(function, ready, written=status == SUCCESS)
        if status != SUCCESS:
            said = self.library.text("diopiGetLastErrorString")
            message = f"the call is refused ({said})" if said else "the call is refused"
            faults.insert(0, Fault("status", "", message, SUCCESS, status))
            return "failed", faults
        answer = self._answer(function, ready)
        if answer is None:
            faults += self._undetermined(function, ready)
            return ("failed" if faults else "uncovered"), faults
        faults += self._results(case, function, ready, answer)
        if function.tolerance == "random" and not faults:
            varying = {name for name, expected in answer.items() if isinstance(expected, Property) and expected.varies}
            faults += self._again(function, target, ready, varying if case.axis == "distribution" else set())
        return ("failed" if faults else "passed"), faults

    def _check_refusal(self, case: Case, function: Function, ready: Prepared, status: str) -> tuple[str, list[Fault]]:
        faults = self._memory(function, ready, written=status == SUCCESS)
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

    def _answer(self, function: Function, ready: Prepared) -> Answer | None:
        found = oracle_of(function)
        if found is None:
            return None
        with np.errstate(all="ignore"):
            return found(Call(function, ready.values, ready.dtypes, ready.shapes))

    def _undetermined(self, function: Function, ready: Prepared) -> list[Fault]:
        """What can be said of results without an oracle: allocated outputs are there."""
        return [
            Fault("missing output", param.name, "the call succeeds without setting the tensor", "a tensor", "null")
            for param in function.params
            if param.type in ALLOCATED and param.name in ready.slots and not ready.slots[param.name].value
        ]

    def _stored(self, name: str, ready: Prepared) -> Stored | None:
        """A tensor that is written, or that the operator has allocated; None where there is none."""
        if name in ready.slots:
            handle = ready.slots[name]
            return Stored(*self.arena.fetch(handle)[:2]) if handle.value else None
        block = ready.blocks[name][0] if ready.blocks.get(name) else None
        return None if block is None else Stored(block.elements(self.arena.read(block)), block.dtype)

    def _results(self, case: Case, function: Function, ready: Prepared, answer: Answer) -> list[Fault]:
        faults: list[Fault] = []
        unordered = [p.name for p in function.params if p.unordered is not None or p.ties is not None]
        results = {name: stored for name in unordered if (stored := self._stored(name, ready)) is not None}
        blocks = {name: ready.blocks[name][0] for name in selected_from(function)}
        inputs = {name: Stored(block.elements(block.before), block.dtype) for name, block in blocks.items() if block}
        self.arranged = arranged(case, function, results, answer, inputs)
        for name, expected in answer.items():
            param = function.param(name)
            assert param is not None, f"the oracle of {function.operator} answers for '{name}'"
            if expected is None:
                continue
            if param.type == "new_tensor":
                faults += self._allocated(function, param, ready, expected)
            elif param.type in ("tensor", "tensors"):
                several = list(expected) if isinstance(expected, (list, tuple)) else [expected]
                for block, one in zip(ready.blocks[name], several, strict=True):
                    if block is not None and isinstance(one, Property):
                        faults += self._property_faults(name, block, one, ready)
                    elif block is not None and one is not None:
                        faults += self._compared(
                            function, name, block.elements(self.arena.read(block)), block.dtype, one
                        )
            elif name in ready.slots and isinstance(expected, Expected):
                number = np.array(ready.slots[name].value, dtype=np.float64)
                faults += self._compared(function, name, number, "float64", expected)
            elif name in ready.slots and ready.slots[name].value != expected:
                faults.append(Fault("values", name, "wrong value", str(expected), str(ready.slots[name].value)))
        return faults

    def _allocated(self, function: Function, param: Parameter, ready: Prepared, expected: Any) -> list[Fault]:
        if param.name not in ready.slots:
            return []
        handle = ready.slots[param.name]
        if not handle.value:
            message = "the call succeeds without setting the tensor"
            return [Fault("missing output", param.name, message, "a tensor", "null")]
        stored, dtype, strides = self.arena.fetch(handle)
        assert isinstance(expected, Allocated), f"the oracle of {function.operator} names the dtype of '{param.name}'"
        is_free = "dtype" in param.free and category(dtype) == category(expected.dtype)
        if dtype != expected.dtype and not is_free:
            return [Fault("dtype", param.name, "wrong dtype", expected.dtype, dtype)]
        if expected.order is not None and len(expected.order) == stored.ndim and stored.size:
            dense = _dense(stored.shape, expected.order)
            if any(size > 1 and one != two for size, one, two in zip(stored.shape, strides, dense, strict=True)):
                return [Fault("strides", param.name, "wrong memory format", str(list(dense)), str(list(strides)))]
        return self._compared(function, param.name, stored, dtype, expected.expected)

    def _property_faults(self, name: str, block: Block, expected: Property, ready: Prepared) -> list[Fault]:
        found = [one for other in (name, *expected.others) if (one := self._stored(other, ready)) is not None]
        wrong_byte = bool_byte(found[0].elements, block.dtype, name)
        if wrong_byte is not None:
            return [wrong_byte]
        complaint = expected.check(*(decode(one.elements, one.dtype) for one in found))
        return [Fault("distribution", name, complaint)] if complaint else []

    def _compared(self, function: Function, name: str, stored: Array, dtype: str, expected: Any) -> list[Fault]:
        if isinstance(expected, Property):
            wrong_byte = bool_byte(stored, dtype, name)
            if wrong_byte is not None:
                return [wrong_byte]
            complaint = expected.check(decode(stored, dtype))
            return [Fault("distribution", name, complaint)] if complaint else []
        found = Stored(stored, dtype)
        fault = self.arranged.fault(name, found, expected, function.tolerance)
        if fault is not None and self.factor > 1:
            fault = self.arranged.fault(name, found, expected, function.tolerance, self.factor)
            self.loosened = self.loosened or fault is None
        return [fault] if fault else []

    def _again(self, function: Function, target: Any, ready: Prepared, random: set[str]) -> list[Fault]:
        """The same seed and offset give the same numbers again; the next call without them gives others to `random`."""
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
            if not np.array_equal(now, before)
        ]
        for (param, _), before, now in zip(written, first, after, strict=True):
            if param.name in random and np.array_equal(now, before):
                moved = "" if all(advances) else ", and the generator's offset has not advanced"
                message = f"the next call gives the same numbers{moved}"
                faults.append(Fault("reproducibility", param.name, message))
        return faults


def _dense(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Strides without gaps, in elements, of dimensions that are in memory in an order from the outermost."""
    strides = [1] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


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
