"""Runs one case: makes its tensors, calls the function, and judges status, values and memory."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from diopigen.conformance.admits import SPARSE
from diopigen.conformance.binding import Host, Library, ScalarStruct, SizeStruct, Types, size_struct
from diopigen.conformance.compare import bool_byte, compare
from diopigen.conformance.describe import describe
from diopigen.conformance.dtypes import STORAGE, Array, decode, kind
from diopigen.conformance.memory import Arena, Block
from diopigen.conformance.model import ANY_FAILURE, SUCCESS, Case, CaseResult, Fault, Number, Operand, operands_of
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Law, oracles
from diopigen.conformance.values import POISON, draw, seed_of
from diopigen.header.signature import c_type
from diopigen.ir.model import Function, Interface, Parameter

_ELSEWHERE = ("diopiNoImplement", "diopiForceFallbackToCPU")
_ALLOCATED = ("new_tensor", "new_tensors")


@dataclass(slots=True)
class _Prepared:
    """A call that is ready: C arguments, blocks by parameter, slots that the operator fills, and the oracle's view."""

    arguments: list[Any] = field(default_factory=list)
    blocks: dict[str, list[Block | None]] = field(default_factory=dict)
    slots: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, Any] = field(default_factory=dict)
    generators: list[tuple[ctypes.c_void_p, int]] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)


class Executor:
    """Runs cases against one library in this process."""

    def __init__(
        self, interface: Interface, host: Host, library: Library, *, seed: int = 0, counters: Path | None = None
    ) -> None:
        """`counters` is a file of numbers: a call that leaves them as they are passes without being judged."""
        self.counters = None if counters is None else np.memmap(counters, dtype=np.uint64, mode="r")
        self.functions: Mapping[str, Function] = {function.name: function for function in interface.functions}
        self.types = Types(interface)
        self.library = library
        self.seed = seed
        self.statuses: dict[int, str] = {}
        self.enum_values: dict[str, int] = {}
        for enum in interface.enums:
            self.enum_values.update({value.name: value.value for value in enum.values})
        error = interface.enum("diopiError_t")
        if error is not None:
            self.statuses = {value.value: value.name for value in error.values}
        self.dtype_values = {info.name: self.enum_values[info.enum] for info in interface.dtypes}
        self.arena = Arena(host, self.dtype_values)

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
        self.factor = case.excuse.factor if case.excuse is not None else 1.0
        self.loosened = False
        try:
            outcome, faults = self._judge(case, function, target)
        finally:
            self.arena.clear()
        if outcome == "passed" and (self.loosened or (case.excuse is not None and case.excuse.kind == "unsupported")):
            outcome = "excepted"
        operands = describe(case, self.values) if faults else ()
        return CaseResult(case, outcome, time.perf_counter() - started, tuple(faults), operands, self.reason)

    def _judge(self, case: Case, function: Function, target: Any) -> tuple[str, list[Fault]]:
        ready = self._prepare(case, function)
        self.values = ready.values
        before = None if self.counters is None else int(self.counters.sum())
        status = self.statuses.get(target(*ready.arguments), "an unknown status")
        if self.counters is not None and int(self.counters.sum()) == before:
            return "passed", []
        if status == SUCCESS:
            late = self.arena.host.status("diopiHostSynchronize", self.arena.context)
            status = self.statuses.get(late, "an unknown status")
        if status in _ELSEWHERE and case.expect != status:
            return "unimplemented", self._memory(function, ready, written=False)
        if case.expect != SUCCESS:
            return self._judge_refusal(case, function, ready, status)
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
        faults += self._results(function, ready, answer)
        if function.tolerance == "random" and not faults:
            varying = {name for name, wanted in answer.items() if isinstance(wanted, Law) and wanted.varies}
            faults += self._again(function, target, ready, varying if case.axis == "distribution" else set())
        return ("failed" if faults else "passed"), faults

    def _judge_refusal(self, case: Case, function: Function, ready: _Prepared, status: str) -> tuple[str, list[Fault]]:
        faults = self._memory(function, ready, written=status == SUCCESS)
        self.reason = "" if status == SUCCESS else self.library.text("diopiGetLastErrorString")
        wrong = status == SUCCESS if case.expect == ANY_FAILURE else status != case.expect
        if wrong:
            about = f": {case.about}" if case.about else ""
            word = "accepted" if status == SUCCESS else "refused with another status"
            said = f" ({self.reason})" if self.reason else ""
            faults.insert(0, Fault("status", "", f"the call is {word}{about}{said}", case.expect, status))
        return ("failed" if faults else "passed"), faults

    # ---- making the call --------------------------------------------------------------------------------------------

    def _prepare(self, case: Case, function: Function) -> _Prepared:
        source = np.random.Generator(np.random.PCG64(seed_of(case.id, self.seed)))
        ready = _Prepared()
        if function.context:
            ready.arguments.append(self.arena.context)
        aliases = [p for p in function.params if _alias_of(case.arguments.get(p.name)) is not None]
        made: dict[str, Any] = {}
        for param in [p for p in function.params if p not in aliases] + aliases:
            made[param.name] = self._argument(param, case, ready, source)
        ready.arguments += [made[param.name] for param in function.params]
        return ready

    def _argument(self, param: Parameter, case: Case, ready: _Prepared, source: np.random.Generator) -> Any:
        value = case.arguments.get(param.name)
        if param.type == "context":
            return self.arena.context
        if param.type == "generator" or param.type == "generators":
            return self._generator(param, case, ready)
        if param.type == "opaque" and param.direction == "in":
            return None
        if isinstance(value, Operand) and SPARSE.get(self.functions[case.function].operator) == param.name:
            return self._sparse(param, value, ready, source)
        if param.type in ("tensor", "tensors") and (value is not None or param.type == "tensor"):
            return self._tensors(param, value, ready, source)
        if param.direction == "out" or param.type in _ALLOCATED:
            return self._slot(param, case, ready)
        ready.values[param.name] = value.value if isinstance(value, Number) else value
        if value is None:
            return None
        if isinstance(value, Number):
            ready.dtypes[param.name] = value.dtype
            return self._kept(ready, self._scalar(value))
        if param.type == "sizes":
            struct = size_struct([int(item) for item in _items(value)])
            return self._kept(ready, struct) if "*" in c_type(param) else struct
        if param.type == "string":
            return str(value).encode()
        if param.type == "float":
            assert isinstance(value, (int, float)), f"'{param.name}' is a number"
            ready.values[param.name] = float(np.float32(value))
        plain = self.enum_values.get(value, 0) if isinstance(value, str) else value
        wanted = c_type(param)
        return self._kept(ready, self.types.pointed(wanted)(plain)) if "*" in wanted else plain

    def _kept(self, ready: _Prepared, value: Any) -> Any:
        ready.keep.append(value)
        return ctypes.byref(value)

    def _scalar(self, value: Number) -> ScalarStruct:
        struct = ScalarStruct(self.dtype_values[value.dtype])
        if kind(value.dtype) == "float":
            struct.fval = float(value.value)
        else:
            struct.ival = int(value.value)
        return struct

    def _generator(self, param: Parameter, case: Case, ready: _Prepared) -> Any:
        if case.arguments.get(param.name, True) is None:
            return None
        given = case.arguments.get(str(param.count)) if param.type == "generators" else 1
        seed = seed_of(case.id, self.seed) >> 1
        for k in range(given if isinstance(given, int) else 1):
            ready.generators.append((self.arena.generator(seed + k), seed + k))
        if param.type == "generator":
            return ready.generators[-1][0]
        handles = (ctypes.c_void_p * len(ready.generators))(*[handle for handle, _ in ready.generators])
        ready.keep.append(handles)
        return ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p))

    def _slot(self, param: Parameter, case: Case, ready: _Prepared) -> Any:
        """Room for what the operator writes through a pointer: a handle, a number, a list."""
        if param.name in case.arguments and case.arguments[param.name] is None:
            return None
        pointed = self.types.pointed(c_type(param))
        slot = pointed()
        if pointed is not ctypes.c_void_p and pointed is not SizeStruct:
            ctypes.memset(ctypes.byref(slot), POISON, ctypes.sizeof(slot))
        if pointed is ctypes.c_bool:  # a poisoned bool would be read as true
            slot = ctypes.c_uint8(POISON)
            ready.slots[param.name] = slot
            ready.keep.append(slot)
            return ctypes.cast(ctypes.byref(slot), ctypes.POINTER(ctypes.c_bool))
        ready.slots[param.name] = slot
        return self._kept(ready, slot)

    def _sparse(self, param: Parameter, item: Operand, ready: _Prepared, source: np.random.Generator) -> Any:
        """A sparse matrix: its parts are guarded as other tensors are, and the oracle sees a dense one."""
        stored = draw(item.values, item.shape, item.dtype, source)
        whole, parts, dense = self.arena.sparse(stored, item.dtype, source)
        ready.blocks[param.name] = list(parts)
        ready.values[param.name] = np.array(decode(dense, item.dtype))
        ready.dtypes[param.name], ready.shapes[param.name] = item.dtype, item.shape
        return whole.handle

    def _tensors(self, param: Parameter, value: Any, ready: _Prepared, source: np.random.Generator) -> Any:
        items = list(value) if param.type == "tensors" else [value]
        blocks = [None if item is None else self._block(param, item, ready, source) for item in items]
        ready.blocks[param.name] = blocks
        seen = [None if block is None else self._seen(block) for block in blocks]
        if param.type == "tensor":
            ready.values[param.name] = seen[0]
            if blocks[0] is not None:
                ready.dtypes[param.name], ready.shapes[param.name] = blocks[0].dtype, blocks[0].shape
            return None if blocks[0] is None else blocks[0].handle
        ready.values[param.name] = seen
        ready.dtypes[param.name] = [block.dtype if block else None for block in blocks]
        ready.shapes[param.name] = [block.shape if block else None for block in blocks]
        handles = (ctypes.c_void_p * max(len(blocks), 1))(*(block.handle.value if block else None for block in blocks))
        ready.keep.append(handles)
        return ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p))

    def _seen(self, block: Block) -> Array:
        return np.array(decode(block.elements(block.before), block.dtype))

    def _block(self, param: Parameter, item: Operand, ready: _Prepared, source: np.random.Generator) -> Block:
        if item.alias is not None:
            other = ready.blocks[item.alias][0]
            assert other is not None, "an alias of null"
            if item.shift:
                # What is read keeps its own values, so that the overlap is all that is wrong.
                stored = draw(item.values, item.shape, item.dtype, source) if param.is_read else None
                return self.arena.overlap(other, item.shape, item.dtype, item.shift, stored)
            return self.arena.alias(other, item.shape, item.layout)
        if param.direction == "out":
            count = math.prod(item.shape) * STORAGE[item.dtype].itemsize
            stored = np.full(count, POISON, dtype=np.uint8).view(STORAGE[item.dtype]).reshape(item.shape)
            return self.arena.tensor(stored, item.dtype, item.layout, on_host=item.on_host)
        if item.layout == "expanded" and item.shape:
            one = draw(item.values, (1, *item.shape[1:]), item.dtype, source)
            return self.arena.tensor(np.broadcast_to(one, item.shape), item.dtype, item.layout)
        stored = draw(item.values, item.shape, item.dtype, source)
        return self.arena.tensor(stored, item.dtype, item.layout, on_host=item.on_host)

    # ---- judging ----------------------------------------------------------------------------------------------------

    def _memory(self, function: Function, ready: _Prepared, *, written: bool) -> list[Fault]:
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

    def _answer(self, function: Function, ready: _Prepared) -> Answer | None:
        found = oracles().get(function.operator)
        if found is None:
            return None
        with np.errstate(all="ignore"):
            return found(Call(function, ready.values, ready.dtypes, ready.shapes))

    def _undetermined(self, function: Function, ready: _Prepared) -> list[Fault]:
        """What can be said of results without an oracle: allocated outputs are there."""
        return [
            Fault("missing output", param.name, "the call succeeds without setting the tensor", "a tensor", "null")
            for param in function.params
            if param.type in _ALLOCATED and param.name in ready.slots and not ready.slots[param.name].value
        ]

    def _results(self, function: Function, ready: _Prepared, answer: Answer) -> list[Fault]:
        faults: list[Fault] = []
        for name, wanted in answer.items():
            param = function.param(name)
            assert param is not None, f"the oracle of {function.operator} answers for '{name}'"
            if wanted is None:
                continue
            if param.type == "new_tensor":
                faults += self._allocated(function, param, ready, wanted)
            elif param.type in ("tensor", "tensors"):
                several = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted]
                for block, one in zip(ready.blocks[name], several, strict=True):
                    if block is not None and isinstance(one, Law):
                        faults += self._lawful(name, block, one, ready)
                    elif block is not None and one is not None:
                        faults += self._compared(
                            function, name, block.elements(self.arena.read(block)), block.dtype, one
                        )
            elif name in ready.slots and isinstance(wanted, Expected):
                number = np.array(ready.slots[name].value, dtype=np.float64)
                faults += self._compared(function, name, number, "float64", wanted)
            elif name in ready.slots and ready.slots[name].value != wanted:
                faults.append(Fault("values", name, "wrong value", str(wanted), str(ready.slots[name].value)))
        return faults

    def _allocated(self, function: Function, param: Parameter, ready: _Prepared, wanted: Any) -> list[Fault]:
        if param.name not in ready.slots:
            return []
        handle = ready.slots[param.name]
        if not handle.value:
            message = "the call succeeds without setting the tensor"
            return [Fault("missing output", param.name, message, "a tensor", "null")]
        stored, dtype, strides = self.arena.fetch(handle)
        del strides  # the operator chooses them
        assert isinstance(wanted, Allocated), f"the oracle of {function.operator} names the dtype of '{param.name}'"
        if dtype != wanted.dtype:
            return [Fault("dtype", param.name, "wrong dtype", wanted.dtype, dtype)]
        return self._compared(function, param.name, stored, dtype, wanted.expected)

    def _lawful(self, name: str, block: Block, law: Law, ready: _Prepared) -> list[Fault]:
        blocks = [one for one in (block, *(ready.blocks[other][0] for other in law.beside)) if one is not None]
        stored = [one.elements(self.arena.read(one)) for one in blocks]
        wrong_byte = bool_byte(stored[0], block.dtype, name)
        if wrong_byte is not None:
            return [wrong_byte]
        read = [decode(elements, one.dtype) for elements, one in zip(stored, blocks, strict=True)]
        complaint = law.check(*read)
        return [Fault("distribution", name, complaint)] if complaint else []

    def _compared(self, function: Function, name: str, stored: Array, dtype: str, wanted: Any) -> list[Fault]:
        if isinstance(wanted, Law):
            wrong_byte = bool_byte(stored, dtype, name)
            if wrong_byte is not None:
                return [wrong_byte]
            complaint = wanted.check(decode(stored, dtype))
            return [Fault("distribution", name, complaint)] if complaint else []
        fault = compare(stored, dtype, wanted, function.tolerance, name)
        if fault is not None and self.factor > 1:
            fault = compare(stored, dtype, wanted, function.tolerance, name, self.factor)
            self.loosened = self.loosened or fault is None
        return [fault] if fault else []

    def _again(self, function: Function, target: Any, ready: _Prepared, random: set[str]) -> list[Fault]:
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


def _items(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _alias_of(value: Any) -> str | None:
    return next((operand.alias for operand in operands_of([value]) if operand.alias), None)


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
    place = int(np.flatnonzero(outside != block.before)[0])
    inside = not np.array_equal(block.elements(outside), block.elements(block.before))
    expected, actual = f"0x{int(block.before[place]):02x}", f"0x{int(now[place]):02x}"
    if not inside:
        message = f"memory outside the tensor is written (byte {place - block.start} from its first element)"
        return Fault("guard", param.name, message, expected, actual)
    if param.is_written:
        return Fault("output of a failure", param.name, "the call fails but has written", expected, actual)
    return Fault("input changed", param.name, "an input is changed by the call", expected, actual)
