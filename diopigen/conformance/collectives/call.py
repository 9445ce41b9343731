"""A call of a collective: arguments from the spec, buffers on the device, what came back."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diopigen.conformance.collectives.model import CollectiveCase
from diopigen.conformance.collectives.oracle import ORACLES, Expected, Step, contribution
from diopigen.conformance.dtypes import STORAGE, Array, decode, encode
from diopigen.conformance.run.binding import Host, HostError, Library, size_struct
from diopigen.conformance.run.blocks import CANARY, Block
from diopigen.conformance.run.memory import Arena
from diopigen.contract.compile import Compiler
from diopigen.ir.clauses import Formula
from diopigen.ir.model import Function, Interface, Parameter


@dataclass(frozen=True, slots=True)
class Communicator:
    """A communicator of this process."""

    handle: ctypes.c_void_p
    name: str
    rank: int
    nranks: int


@dataclass(slots=True)
class _Bound:
    """Variables of expressions over a call."""

    values: Mapping[str, Any]
    dimensions: Mapping[str, int]


@dataclass(slots=True)
class Pending:
    """A call that is on its stream: its buffers, and what is expected in the one that receives."""

    case: CollectiveCase
    status: int
    received: Block | None
    start: int
    expected: Expected | None
    others: list[tuple[str, Block]] = field(default_factory=list)
    """Buffers that must stay as they were."""


class Caller:
    """Makes calls on one stream, and receives on another one: a rank that sends waits for one that receives."""

    def __init__(
        self, interface: Interface, host: Host, library: Library, arenas: tuple[Arena, Arena], seed: int
    ) -> None:
        self.interface = interface
        self.library = library
        self.arena, self.receiving = arenas
        self.seed = seed
        self.values = {value.name: value.value for enum in interface.enums for value in enum.values}
        self.host = host

    def issue(self, case: CollectiveCase, comm: Communicator, repeat: int = 0) -> list[Pending]:
        """Puts the calls of a case on the stream: one, or a receive and a send."""
        function = self._function(case.function)
        step = self._step(function, case, comm, repeat)
        expected = ORACLES[case.function](step) if not case.wrong else None
        if case.function != "diopiSend":
            return [self._call(function, case, comm, step, {"root": case.root}, expected)]
        before, behind = (comm.rank - 1) % comm.nranks, (comm.rank + 1) % comm.nranks
        sent = self._call(function, case, comm, step, {"peer": behind}, None)
        if case.wrong or sent.status:
            return [sent]
        return [sent, self._call(self._function("diopiRecv"), case, comm, step, {"peer": before}, expected)]

    def synchronize(self) -> None:
        """Waits for both streams."""
        for arena in (self.arena, self.receiving):
            self.host.call("diopiHostSynchronize", arena.context)

    def clear(self) -> None:
        """Frees the buffers of a case."""
        for arena in (self.arena, self.receiving):
            with contextlib.suppress(HostError):
                arena.clear()

    def _stream(self, arena: Arena) -> ctypes.c_void_p:
        stream = ctypes.c_void_p()
        get_stream = self.host.library["diopiGetStream"]
        get_stream.argtypes, get_stream.restype = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)], ctypes.c_int
        if get_stream(arena.context, ctypes.byref(stream)) != 0:
            raise RuntimeError("the context has no stream")
        return stream

    def check(self, pending: Pending) -> tuple[str, bytes]:
        """Returns the error after the stream is done, empty if there is none, and the received bytes."""
        for name, block in pending.others:
            if not np.array_equal(self.arena.read(block), block.before):
                return f"'{name}' or the memory around it has changed", b""
        if pending.received is None:
            return "", b""
        storage = self.arena.read(pending.received)
        dtype = pending.case.dtype
        elements = pending.received.elements(storage)
        guarded = storage.copy()
        pending.received.elements(guarded)[...] = pending.received.elements(pending.received.before)
        if not np.array_equal(guarded, pending.received.before):
            return "memory around the receive buffer has changed", b""
        if pending.expected is None:
            return "", elements.tobytes()
        return _difference(decode(elements, dtype), pending.expected), elements.tobytes()

    def _function(self, name: str) -> Function:
        found = self.interface.function(name)
        assert found is not None, name
        return found

    def _step(self, function: Function, case: CollectiveCase, comm: Communicator, repeat: int) -> Step:
        splits: list[list[int]] = []
        counts = [0] * comm.nranks
        if function.param("sendcounts") is not None:
            # Uneven, with zeros among them; all ranks know all of it.
            splits = [[case.count * ((a + 2 * b) % 3) // 2 for b in range(comm.nranks)] for a in range(comm.nranks)]
            counts = [sum(row) for row in splits]
        else:
            send = _buffers(function)[0]
            assert send.elements is not None
            count = self._number(function, send.elements.count, {"count": case.count}, comm, case.count)
            counts = [count] * comm.nranks
        key = int.from_bytes(hashlib.sha256(case.id.encode()).digest()[:8], "little")
        sent = [
            contribution(np.random.default_rng((self.seed, key, repeat, rank)), count, case.dtype)
            for rank, count in enumerate(counts)
        ]
        return Step(sent, case.dtype, case.op, case.root, comm.rank, splits)

    def _number(
        self, function: Function, formula: Formula, values: Mapping[str, Any], comm: Communicator, count: int = 0
    ) -> int:
        known = {param.name: count for param in function.params if param.type == "int64"} | dict(values)
        bound = _Bound(known, {"rank": comm.rank, "nranks": comm.nranks})
        return int(Compiler.of(function).value(formula.expression)(bound))

    def _call(
        self,
        function: Function,
        case: CollectiveCase,
        comm: Communicator,
        step: Step,
        ranks: Mapping[str, int],
        expected: Expected | None,
    ) -> Pending:
        arena = self.receiving if function.name == "diopiRecv" else self.arena
        values = self._values(function, case, step, ranks)
        buffers = _buffers(function)
        used = [param for param in buffers if self._is_used(function, param, values, comm)]
        blocks: dict[str, tuple[Block, int]] = {}
        sent = step.sent[step.rank]
        inner = next((p for p in used if case.in_place and p.elements is not None and p.elements.in_place), None)
        location = inner.elements.in_place if inner is not None and inner.elements is not None else None
        outer = next((p for p in used if location is not None and p.name == location.buffer), None)
        for param in used:
            if param is inner and outer is not None:
                continue
            assert param.elements is not None
            count = self._number(function, param.elements.count, values, comm)
            stored = sent if param.direction == "in" or param.direction == "inout" else _noise(count, case.dtype)
            if len(stored) != count:
                raise RuntimeError(f"'{param.name}' holds {len(stored)} elements, the spec says {count}")
            if param is outer and inner is not None and location is not None and inner.direction == "in":
                start = self._number(function, location.offset, values, comm)
                stored = stored.copy()
                stored[start : start + len(sent)] = sent
            blocks[param.name] = (arena.tensor(stored, case.dtype), 0)
        if inner is not None and outer is not None and location is not None:
            blocks[inner.name] = (blocks[outer.name][0], self._number(function, location.offset, values, comm))
        arguments = [self._argument(param, values, blocks, comm, case, arena) for param in function.params]
        status = self.library.functions[function.name](*arguments)
        receiving = next((param for param in used if param.direction != "in"), None)
        received, start = blocks[receiving.name] if receiving is not None else (None, 0)
        if status or case.wrong:  # nothing may have happened
            received, expected = None, None
        others = [(name, block) for name, (block, _) in blocks.items() if block is not received]
        if received is not None and expected is not None and receiving is inner and outer is not None:
            # Only the place of the result is written, in the middle of what was sent.
            expected = _within(expected, decode(received.elements(received.before), case.dtype), start)
        return Pending(case, status, received, start, expected, others)

    def _values(self, function: Function, case: CollectiveCase, step: Step, ranks: Mapping[str, int]) -> dict[str, Any]:
        values: dict[str, Any] = {param.name: case.count for param in function.params if param.type == "int64"}
        values.update(ranks)
        values["datatype"] = self.values[f"diopi_dtype_{case.dtype}"]
        values["op"] = self.values.get(case.op, 0)
        if step.splits:
            rows = {"send": step.splits[step.rank], "recv": [row[step.rank] for row in step.splits]}
            for side, counts in rows.items():
                values[f"{side}counts"] = tuple(counts)
                values[f"{side}displs"] = tuple(sum(counts[:i]) for i in range(len(counts)))
        return values

    def _is_used(self, function: Function, param: Parameter, values: Mapping[str, Any], comm: Communicator) -> bool:
        assert param.elements is not None
        return param.elements.on is None or bool(self._number(function, param.elements.on, values, comm))

    def _argument(
        self,
        param: Parameter,
        values: Mapping[str, Any],
        blocks: Mapping[str, tuple[Block, int]],
        comm: Communicator,
        case: CollectiveCase,
        arena: Arena,
    ) -> Any:
        if param.type == "buffer":
            return self._address(*blocks[param.name], case.dtype) if param.name in blocks else None
        if param.type == "diopiComm_t":
            return comm.handle
        if param.type == "stream":
            return self._stream(arena)
        if param.type == "sizes":
            return size_struct(values[param.name])
        return case.wrong.get(param.name, values[param.name])

    def _address(self, block: Block, start: int, dtype: str) -> int | None:
        address = ctypes.c_void_p()
        self.host.call("diopiGetTensorData", block.handle, ctypes.byref(address))
        if address.value is None:
            return None
        return address.value + start * STORAGE[dtype].itemsize


def _buffers(function: Function) -> Sequence[Parameter]:
    return [param for param in function.params if param.elements is not None]


def _noise(count: int, dtype: str) -> Array:
    """Initial content of a buffer that is only written: not the result of any case."""
    if dtype == "bool":
        return encode(np.ones(count), dtype)
    return np.full(count * STORAGE[dtype].itemsize, CANARY, np.uint8).view(STORAGE[dtype])


def _within(expected: Expected, whole: Array, start: int) -> Expected:
    values = np.array(whole, dtype=expected.values.dtype)
    error = np.zeros(values.shape)
    values[start : start + len(expected.values)] = expected.values
    error[start : start + len(expected.values)] = expected.error
    return Expected(values, error)


def _difference(found: Array, expected: Expected) -> str:
    if found.shape != expected.values.shape:
        return f"{found.shape[0]} elements, expected {expected.values.shape[0]}"
    with np.errstate(all="ignore"):
        far = np.abs(found - expected.values) > expected.error if found.dtype.kind in "fc" else found != expected.values
        far |= np.isnan(found) if found.dtype.kind in "fc" else False
    if not far.any():
        return ""
    first = int(np.flatnonzero(far)[0])
    return (
        f"{np.count_nonzero(far)} of {far.size} elements differ, the first at {first}: {found[first]}, "
        f"expected {expected.values[first]}"
    )
