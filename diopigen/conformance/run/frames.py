"""Calls and their results as bytes: the protocol between the suite and the process that has the library.

A frame is a header (kind, zero, number of bytes that follow) and fields without padding, in the byte order of the
executor's machine, which is little-endian. docs/executor.md describes each field.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array
from diopigen.conformance.run.blocks import Block, Blocks
from diopigen.conformance.run.fields import Fields, FrameError, integers_field, text_field, texts_field
from diopigen.conformance.strides import Dims, reach

PROTOCOL = 3
HELLO, OPEN, CALL, CLOSE, OPENED, ANSWER, CLOSED, ERROR, PREPARE, RUN, DONE, READ = range(12)
HEADER = struct.Struct("<IIQ")


class TensorForm(IntEnum):
    """Origins of a tensor of a call."""

    VIEW = 0
    ALONE = 1
    CSR = 2


class Form(IntEnum):
    """Ways to pass an argument."""

    CONTEXT = 0
    NULL = 1
    TENSOR = 2
    TENSORS = 3
    GENERATOR = 4
    GENERATORS = 5
    INTEGER = 6
    DOUBLE = 7
    FLOAT = 8
    SIZE = 9
    SIZE_POINTER = 10
    SCALAR = 11
    TEXT = 12
    SLOT = 13
    HANDLES = 14


_FIELDS = 1 << 20
"""Bytes of an answer besides those of storages and allocated tensors."""
_ALLOCATED = 1 << 30
"""Bytes of tensors that a function allocates, besides a multiple of what it is given."""
_PIECE = 1 << 24
"""Bytes of repeats that are compared at once."""
_MOST_REPEATS, _REPEATED = 16, 1 << 27
"""Repeats of a storage that are retained if they differ: so many, or so many bytes."""
NO_SUCH_CALL = "no-such-call"
"""Code of an error for a call that what is called has no place for, or that the executor cannot make."""
ELSEWHERE = 1 << 31
"""Bit of the number of a function: another thread than the first one calls it."""
ON_HOST, WRITABLE, REPEATS = 1, 2, 4
"""Bits of a storage."""
CONFINED = 1
ALLOWANCES = {"programs": 2, "network": 4, "home": 8}
"""Bits of what confines the library, and of what it may do all the same."""
MISSING, OWN, FOREIGN = range(3)
"""States of a function: nowhere, of the library itself, of a library that it needs."""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument as bytes: its form and fields."""

    encoded: bytes


CONTEXT, NULL = Argument(bytes([Form.CONTEXT])), Argument(bytes([Form.NULL]))


def tensor(handle: int) -> Argument:
    """A tensor of the call."""
    return Argument(struct.pack("<BI", Form.TENSOR, handle))


def tensors(handles: Sequence[int | None]) -> Argument:
    """An array of tensors, some of which may be null."""
    indices = [-1 if one is None else one for one in handles]
    return Argument(struct.pack(f"<BI{len(indices)}i", Form.TENSORS, len(indices), *indices))


def generator(handle: int) -> Argument:
    """A generator of the call."""
    return Argument(struct.pack("<BI", Form.GENERATOR, handle))


def generators(handles: Sequence[int]) -> Argument:
    """An array of all generators of the call."""
    return Argument(struct.pack(f"<BI{len(handles)}I", Form.GENERATORS, len(handles), *handles))


def integer(value: int) -> Argument:
    """An integer, bool or enumerator that is passed by value."""
    return Argument(struct.pack("<Bq", Form.INTEGER, (value + 2**63) % 2**64 - 2**63))


def real(value: float, *, single: bool) -> Argument:
    """A float or double that is passed by value."""
    return Argument(struct.pack("<Bf", Form.FLOAT, value) if single else struct.pack("<Bd", Form.DOUBLE, value))


def sizes(values: Sequence[int], *, by_pointer: bool) -> Argument:
    """A list of integers as diopiSize_t."""
    return Argument(bytes([Form.SIZE_POINTER if by_pointer else Form.SIZE]) + integers_field(values))


def scalar(dtype: int, value: float | int, *, is_real: bool) -> Argument:
    """A diopiScalar_t that is passed by pointer."""
    bits = struct.pack("<d", value) if is_real else struct.pack("<q", int(value))
    return Argument(struct.pack("<Bi", Form.SCALAR, dtype) + bits)


def text(value: bytes) -> Argument:
    """A string."""
    return Argument(struct.pack("<BI", Form.TEXT, len(value)) + value)


class Fetched(NamedTuple):
    """Elements, dtype and strides of a tensor that the function has allocated."""

    elements: Array
    dtype: str
    strides: Dims


@dataclass(frozen=True, slots=True)
class RawTensor:
    """A tensor that the function has allocated, as the runtime describes it: its dtype as an enumerator, its offset in
    elements, and the bytes of its storage."""

    dtype: int
    shape: Dims
    strides: Dims
    offset: int
    storage: Array

    def fetched(self, names: Mapping[int, str]) -> Fetched:
        """The tensor. `names` are the dtypes by enumerator. Raises `FrameError` where there can be no such tensor."""
        if self.dtype not in names:
            raise FrameError(f"the function sets a tensor of an unknown dtype {self.dtype}")
        dtype, shape, strides, bytes_ = names[self.dtype], self.shape, self.strides, self.storage.size
        item = STORAGE[dtype]
        if len(shape) != len(strides) or min((*shape, *strides, self.offset), default=0) < 0:
            raise FrameError(f"the function sets a tensor of shape {list(shape)} and strides {list(strides)}")
        if math.prod(shape) == 0:
            return Fetched(np.empty(shape, dtype=item), dtype, strides)
        if (self.offset + reach(shape, strides)) * item.itemsize > bytes_:
            raise FrameError(f"the function sets a tensor that reaches beyond its {bytes_} bytes")
        inside = self.storage[self.offset * item.itemsize :]
        inside = inside[: inside.size // item.itemsize * item.itemsize].view(item)
        scaled = [stride * item.itemsize if size > 1 else 0 for size, stride in zip(shape, strides, strict=True)]
        return Fetched(np.lib.stride_tricks.as_strided(inside, shape, scaled).copy(), dtype, strides)


@dataclass(slots=True)
class Slot:
    """Memory of a number that the function reads or writes through a pointer. `kind` is its ctypes type."""

    kind: Any
    content: bytes

    @property
    def value(self) -> Any:
        """The number that it holds."""
        return self.kind.from_buffer_copy(self.content).value


class Rotation(NamedTuple):
    """Bytes of a storage that copy n of a call has rotated to the left by n * step."""

    storage: int
    start: int
    bytes: int
    step: int

    def shift(self, number: int) -> int:
        """The bytes by which a copy has them rotated."""
        return number % self.bytes * self.step % self.bytes


class Repeat(NamedTuple):
    """Bytes [start, start + period) of a storage come `times` times; what is behind them follows."""

    start: int
    period: int
    times: int

    def bytes_of(self, content: Array) -> int:
        """Bytes of the storage whose first repeat and ends are `content`."""
        return int(content.size) + (self.times - 1) * self.period


def copies_field(first: int, count: int, evicted: int, rotations: Sequence[Rotation]) -> bytes:
    """The fields of copies of a call, which precede those of the call: copies from number `first` on, and bytes that
    are moved through the caches afterwards."""
    head = struct.pack("<QIQI", first, count, evicted, len(rotations))
    return head + b"".join(struct.pack("<IQQQ", *one) for one in rotations)


@dataclass(slots=True)
class Answer:
    """Status of a call, status of the work that it enqueued, seconds, text of an error; the state of the process that
    it has changed, as text; writes to memory that is not for writing, as storages and bytes from their starts; and what
    is there afterwards: storages, numbers, allocated tensors, states of generators, in the order of the frame."""

    status: int
    late: int
    seconds: float
    text: str
    changed: str = ""
    writes: list[tuple[int, int]] = field(default_factory=list)
    storages: list[Array] = field(default_factory=list)
    others: dict[int, dict[int, Array]] = field(default_factory=dict)
    """Repeats with other bytes than the first one, which is in `storages`: their storages that differ, by number of the
    repeat, once for all that are alike."""
    unread: int = 0
    """Number of repeats that differ from all of these, and are too much memory to be retained."""
    slots: list[bytes] = field(default_factory=list)
    allocated: list[RawTensor | None] = field(default_factory=list)
    generators: list[tuple[int, int]] = field(default_factory=list)


class Frame(Blocks):
    """A call as it is sent: handles are positions in it."""

    def __init__(self, dtypes: Mapping[str, int]) -> None:
        """`dtypes` are the enumerators of the interface by name."""
        self.dtypes = dtypes
        self.storages: list[tuple[bool, Array]] = []
        self.repeats: dict[int, Repeat] = {}
        """The storages in which a block repeats."""
        self.tensors: list[bytes] = []
        self.seeds: list[tuple[int, int]] = []
        self.slots: list[Slot] = []
        self.handles: list[int] = []
        """Number of tensors of each argument that takes tensors which the function allocates."""
        self.written: set[int] | None = None
        """The storages that the function may write; None for all."""
        self.elsewhere = False
        """True if another thread than the first one makes the call."""

    def storage(self, content: Array, *, on_host: bool) -> int:
        """The number of a storage."""
        self.storages.append((on_host, content))
        return len(self.storages) - 1

    def repeat(self, block: Block, times: int) -> None:
        """Makes a contiguous tensor `times` times as long along its first dimension, with the same rows over again."""
        period = math.prod(block.shape) * STORAGE[block.dtype].itemsize
        self.repeats[block.base] = Repeat(block.start, period, times)
        shape, offset = (block.shape[0] * times, *block.shape[1:]), block.start // STORAGE[block.dtype].itemsize
        self.tensors[block.handle] = self._described(
            TensorForm.VIEW, block.base, offset, shape, block.strides, block.dtype
        )

    def rewrite(self, block: Block) -> None:
        """Does nothing: the bytes are read when the frame is encoded."""

    def view(self, base: Any, shape: Dims, strides: Dims, dtype: str, offset: int) -> int:
        """The number of a tensor over a storage."""
        return self._added(TensorForm.VIEW, base, offset, shape, strides, dtype)

    def alone(self, shape: Dims, strides: Dims, dtype: str, *, on_host: bool) -> int:
        """The number of a tensor without elements."""
        return self._added(TensorForm.ALONE, int(on_host), 0, shape, strides, dtype)

    def csr(self, shape: Dims, parts: Sequence[Any]) -> int:
        """The number of a sparse matrix."""
        self.tensors.append(struct.pack("<BI3I", TensorForm.CSR, 3, *parts) + integers_field(shape))
        return len(self.tensors) - 1

    def generator(self, seed: int, offset: int = 0) -> int:
        """The number of a generator."""
        self.seeds.append((seed, offset))
        return len(self.seeds) - 1

    def slot(self, content: Any) -> Argument:
        """A pointer to memory that begins with the bytes of a ctypes value."""
        self.slots.append(Slot(type(content), bytes(content)))
        raw = self.slots[-1].content
        return Argument(struct.pack("<BI", Form.SLOT, len(raw)) + raw)

    def allocated(self, count: int) -> Argument:
        """A pointer to handles that the function sets."""
        self.handles.append(count)
        return Argument(struct.pack("<BI", Form.HANDLES, count))

    def _added(self, form: int, base: int, offset: int, shape: Dims, strides: Dims, dtype: str) -> int:
        self.tensors.append(self._described(form, base, offset, shape, strides, dtype))
        return len(self.tensors) - 1

    def _described(self, form: int, base: int, offset: int, shape: Dims, strides: Dims, dtype: str) -> bytes:
        head = struct.pack("<BIqi", form, base, offset, self.dtypes[dtype])
        return head + integers_field(shape) + integers_field(strides)

    def encoded(self, function: int, arguments: Sequence[Argument]) -> list[Any]:
        """The payload of a call, in parts."""
        parts: list[Any] = [struct.pack("<II", function | self.elsewhere * ELSEWHERE, len(self.storages))]
        for number, (on_host, content) in enumerate(self.storages):
            bits = on_host * ON_HOST | (self.written is None or number in self.written) * WRITABLE
            repeat = self.repeats.get(number)
            if repeat is None:
                parts += [struct.pack("<BQ", bits, content.size), content.data]
            else:
                parts += [struct.pack("<BQQQQ", bits | REPEATS, repeat.bytes_of(content), *repeat), content.data]
        parts.append(struct.pack("<I", len(self.tensors)))
        parts += self.tensors
        parts.append(struct.pack("<I", len(self.seeds)))
        parts += [struct.pack("<QQ", seed % 2**64, offset) for seed, offset in self.seeds]
        parts.append(struct.pack("<I", len(arguments)))
        parts += [one.encoded for one in arguments]
        return parts

    @property
    def longest_answer(self) -> int:
        """Bytes that an answer has at most. The size of what the function allocates is its own, within reason."""
        known = sum(content.size for _, content in self.storages) + sum(len(slot.content) for slot in self.slots)
        known += sum((one.times - 1) * one.period for one in self.repeats.values())
        return known + (_ALLOCATED + 8 * known if self.handles else 0) + _FIELDS

    def decoded(self, fields: Fields) -> Answer:
        """The answer to this call. Raises `FrameError` where it is none, or has tensors that cannot be."""
        status, late, seconds = fields.unpack("<iid")
        answer = Answer(status, late, seconds if math.isfinite(seconds) else 0.0, fields.text(), fields.text())
        answer.writes = [fields.unpack("<Iq") for _ in range(fields.unpack("<I")[0])]
        if any(number >= len(self.storages) for number, _ in answer.writes):
            raise FrameError("an answer names a storage that the call does not have")
        for number, (_, content) in enumerate(self.storages):
            repeat = self.repeats.get(number)
            if repeat is None:
                answer.storages.append(fields.array(content.size))
            else:
                self._read_repeats(number, repeat, fields, answer)
        answer.slots = [bytes(fields.raw(len(slot.content))) for slot in self.slots]
        answer.allocated = [_allocated(fields) for _ in range(sum(self.handles))]
        answer.generators = [(seed, offset) for seed, offset in (fields.unpack("<QQ") for _ in self.seeds)]
        fields.end()
        return answer

    def _read_repeats(self, number: int, repeat: Repeat, fields: Fields, answer: Answer) -> None:
        """Reads a storage in which a block repeats, in pieces."""
        start, period, times = repeat
        answer.writes = [
            (one, start + (byte - start) % period if one == number and 0 <= byte - start < period * times else byte)
            for one, byte in answer.writes
        ]
        first = fields.array(start + period)
        known = {0: first[start:]}
        step = max(1, _PIECE // period)
        tiled = np.tile(known[0], step)
        for index in range(1, times, step):
            piece = np.frombuffer(fields.raw(min(step, times - index) * period), dtype=np.uint8)
            if np.array_equal(piece, tiled[: piece.size]):
                continue
            rows = piece.reshape(-1, period)
            new = np.ones(len(rows), dtype=bool)
            for one in known.values():
                new[new] = (rows[new] != one).any(axis=1)
            while new.any():
                if len(known) > max(_MOST_REPEATS, _REPEATED // period):
                    answer.unread += int(new.sum())
                    break
                k = int(np.flatnonzero(new)[0])
                known[index + k] = rows[k].copy()
                new[new] = (rows[new] != rows[k]).any(axis=1)
        del known[0]
        rest = fields.array(self.storages[number][1].size - start - period)
        answer.storages.append(np.concatenate([first, rest]))
        for index, row in known.items():
            answer.others.setdefault(index, {})[number] = np.concatenate([first[:start], row, rest])


def _allocated(fields: Fields) -> RawTensor | None:
    if not fields.unpack("<B")[0]:
        return None
    (code,) = fields.unpack("<i")
    shape, strides = fields.integers(), fields.integers()
    offset, count = fields.unpack("<qQ")
    return RawTensor(code, shape, strides, offset, fields.array(count))


def opening(
    functions: Sequence[str],
    *,
    memory_limit: int,
    byte_dtype: int,
    confinement: int,
    writable: Sequence[str],
    runtime: str,
    library: str,
) -> bytes:
    """The payload that opens a library."""
    head = struct.pack("<QiB", memory_limit, byte_dtype, confinement)
    return b"".join([head, texts_field(writable), text_field(runtime), text_field(library), texts_field(functions)])
