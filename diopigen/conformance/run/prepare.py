"""Makes the call of a case: its tensors, numbers and lists as C has them, and room for what the operator writes."""

from __future__ import annotations

import ctypes
import math
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diopigen.conformance.cases.values import POISON, draw, seed_of
from diopigen.conformance.dtypes import STORAGE, Array, decode
from diopigen.conformance.model import Case, Number, Operand, operands_of
from diopigen.conformance.run import frames
from diopigen.conformance.run.binding import SizeStruct, Types
from diopigen.conformance.run.blocks import Block, Blocks
from diopigen.conformance.run.frames import Answer, Argument, Fetched, Frame, Slot
from diopigen.contract.dtypes import kind
from diopigen.header.signature import c_type
from diopigen.ir.enumerators import dtype_codes, enumerators
from diopigen.ir.model import Function, Interface, Parameter

ALLOCATED = ("new_tensor", "new_tensors")
"""Types of parameters through which an operator hands out tensors of its own."""


@dataclass(slots=True)
class Prepared:
    """A call that is ready: its arguments, blocks by parameter, and the oracle's view of it; once `answered`, also what
    came of it."""

    function: Function
    arguments: list[Any] = field(default_factory=list)
    blocks: dict[str, list[Block | None]] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    """Numbers that the operator writes through a pointer, by parameter; it may read them as well."""
    allocating: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Positions of the tensors that the operator allocates, by parameter: the first, and how many."""
    values: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, Any] = field(default_factory=dict)
    generators: list[tuple[Any, int]] = field(default_factory=list)
    """Handles and seeds."""
    storages: list[Array] = field(default_factory=list)
    fetched: list[Fetched | None] = field(default_factory=list)
    changed: str = ""
    writes: list[tuple[int, int]] = field(default_factory=list)
    """As in `Answer`."""

    @property
    def written(self) -> set[int]:
        """The storages that the operator may write."""
        blocks = (block for p in self.function.params if p.is_written for block in self.blocks.get(p.name, ()))
        return {block.base for block in blocks if block is not None and block.base is not None}

    def answered(self, frame: Frame, answer: Answer) -> None:
        """Takes over what is there after the call. Raises `FrameError` where it cannot be."""
        names = {value: name for name, value in frame.dtypes.items()}
        self.storages, self.changed, self.writes = answer.storages, answer.changed, answer.writes
        self.fetched = [None if one is None else one.fetched(names) for one in answer.allocated]
        for slot, content in zip(frame.slots, answer.slots, strict=True):
            slot.content = content

    def after(self, block: Block) -> Array:
        """The bytes of a block's storage after the call."""
        return block.before if block.base is None else self.storages[block.base]

    def allocated(self, name: str) -> list[Fetched | None]:
        """The tensors that the operator has set in an output that it allocates; none where it was passed null."""
        first, count = self.allocating.get(name, (0, 0))
        return self.fetched[first : first + count]


class Preparer:
    """Makes calls from cases."""

    def __init__(self, interface: Interface, *, seed: int = 0) -> None:
        self.types = Types(interface)
        self.seed = seed
        self.enum_values = enumerators(interface)
        self.dtypes = dtype_codes(interface)

    def frame(self, case: Case, function: Function) -> tuple[Frame, Prepared]:
        """The call of a case as it is sent."""
        frame = Frame(self.dtypes)
        ready = Call(self, case, function, frame, frame).prepared()
        frame.written = ready.written
        frame.elsewhere = zlib.crc32(case.id.encode()) % 2 == 1
        return frame, ready


class Call:
    """The call of one case in the making. `blocks` makes its tensors, which may be others than those of the frame."""

    def __init__(self, preparer: Preparer, case: Case, function: Function, frame: Frame, blocks: Blocks) -> None:
        self.types, self.enum_values, self.dtypes = preparer.types, preparer.enum_values, preparer.dtypes
        self.case, self.function, self.frame, self.blocks = case, function, frame, blocks
        self.seed = seed_of(case.id, preparer.seed)
        self.source = np.random.Generator(np.random.PCG64(self.seed))
        self.ready = Prepared(function)

    def prepared(self) -> Prepared:
        """The call, ready to be made."""
        case, function, ready = self.case, self.function, self.ready
        if function.context:
            ready.arguments.append(frames.CONTEXT)
        aliases = [p for p in function.params if _alias_of(case.arguments.get(p.name)) is not None]
        prepared: dict[str, Any] = {}
        for param in [p for p in function.params if p not in aliases] + aliases:
            prepared[param.name] = self._argument(param)
        ready.arguments += [prepared[param.name] for param in function.params]
        return ready

    def _argument(self, param: Parameter) -> Argument:
        ready, value = self.ready, self.case.arguments.get(param.name)
        if param.type == "context":
            return frames.CONTEXT
        if param.type == "generator" or param.type == "generators":
            return self._generator(param)
        if param.type == "opaque" and param.direction == "in":
            return frames.NULL
        if isinstance(value, Operand) and param.sparse:
            return self._sparse(param, value)
        if param.type in ("tensor", "tensors") and (value is not None or param.type == "tensor"):
            return self._tensors(param, value)
        if param.direction == "out" or param.type in ALLOCATED:
            return self._slot(param)
        ready.values[param.name] = value.value if isinstance(value, Number) else value
        if value is None:
            return frames.NULL
        if isinstance(value, Number):
            ready.dtypes[param.name] = value.dtype
            return frames.scalar(self.dtypes[value.dtype], value.value, is_real=kind(value.dtype) == "float")
        if param.type == "sizes":
            return frames.sizes([int(item) for item in _items(value)], by_pointer="*" in c_type(param))
        if param.type == "string":
            return frames.text(str(value).encode())
        if param.type == "float":
            assert isinstance(value, (int, float)), f"'{param.name}' is a number"
            ready.values[param.name] = float(np.float32(value))
        plain: Any = self.enum_values.get(value, 0) if isinstance(value, str) else value
        expected_type = c_type(param)
        if "*" not in expected_type:
            number = self.types.of(expected_type)(plain)
            if isinstance(number, (ctypes.c_float, ctypes.c_double)):
                return frames.real(number.value, single=isinstance(number, ctypes.c_float))
            return frames.integer(int(number.value))
        argument = self.frame.slot(self.types.pointed(expected_type)(plain))
        if param.is_written:
            ready.slots[param.name] = self.frame.slots[-1]
        return argument

    def _generator(self, param: Parameter) -> Argument:
        ready = self.ready
        if self.case.arguments.get(param.name, True) is None:
            return frames.NULL
        count_of_generators = self.case.arguments.get(str(param.count)) if param.type == "generators" else 1
        seed = self.seed >> 1
        for k in range(count_of_generators if isinstance(count_of_generators, int) else 1):
            ready.generators.append((self.blocks.generator(seed + k), seed + k))
        if param.type == "generator":
            return frames.generator(len(ready.generators) - 1)
        return frames.generators(range(len(ready.generators)))

    def _slot(self, param: Parameter) -> Argument:
        """Room for what the operator writes through a pointer: a handle, a number, a list."""
        case, name = self.case, param.name
        if name in case.arguments and case.arguments[name] is None:
            return frames.NULL
        if param.type in ALLOCATED:
            count: Any = 1
            if param.type == "new_tensors":
                count = param.count if isinstance(param.count, int) else case.arguments[str(param.count)]
            assert isinstance(count, int), f"'{name}' has a number of tensors"
            self.ready.allocating[name] = (sum(self.frame.handles), count)
            return self.frame.allocated(count)
        pointed = self.types.pointed(c_type(param))
        slot = pointed()
        if pointed is not ctypes.c_void_p and pointed is not SizeStruct:
            ctypes.memset(ctypes.byref(slot), POISON, ctypes.sizeof(slot))
        if pointed is ctypes.c_bool:  # a poisoned bool would be read as true
            slot = ctypes.c_uint8(POISON)
        argument = self.frame.slot(slot)
        if pointed is not ctypes.c_void_p and pointed is not SizeStruct:
            self.ready.slots[name] = self.frame.slots[-1]
        return argument

    def _sparse(self, param: Parameter, item: Operand) -> Argument:
        """A sparse matrix: its parts are guarded as other tensors are, and the oracle sees a dense one."""
        ready = self.ready
        stored = draw(item.values, item.shape, item.dtype, self.source)
        whole, parts, dense = self.blocks.sparse(stored, item.dtype, self.source)
        ready.blocks[param.name] = list(parts)
        ready.values[param.name] = np.array(decode(dense, item.dtype))
        ready.dtypes[param.name], ready.shapes[param.name] = item.dtype, item.shape
        return frames.tensor(whole.handle)

    def _tensors(self, param: Parameter, value: Any) -> Argument:
        ready = self.ready
        items = list(value) if param.type == "tensors" else [value]
        blocks = [None if item is None else self._block(param, item) for item in items]
        ready.blocks[param.name] = blocks
        seen = [None if block is None else self._seen(block) for block in blocks]
        if param.type == "tensor":
            ready.values[param.name] = seen[0]
            if blocks[0] is not None:
                ready.dtypes[param.name], ready.shapes[param.name] = blocks[0].dtype, blocks[0].shape
            return frames.NULL if blocks[0] is None else frames.tensor(blocks[0].handle)
        ready.values[param.name] = seen
        ready.dtypes[param.name] = [block.dtype if block else None for block in blocks]
        ready.shapes[param.name] = [block.shape if block else None for block in blocks]
        if not blocks:
            return frames.NULL  # as the data of an empty vector may be
        return frames.tensors([block.handle if block else None for block in blocks])

    def _seen(self, block: Block) -> Array:
        return np.array(decode(block.elements(block.before), block.dtype))

    def _block(self, param: Parameter, item: Operand) -> Block:
        blocks, source = self.blocks, self.source
        if item.alias is not None:
            other = self.ready.blocks[item.alias][0]
            assert other is not None, "an alias of null"
            if item.shift:
                # What is read keeps its own values, so that the overlap is all that is wrong.
                stored = draw(item.values, item.shape, item.dtype, source) if param.is_read else None
                return blocks.overlap(other, item.shape, item.dtype, item.shift, stored)
            return blocks.alias(other, item.shape)
        if param.direction == "out":
            count = math.prod(item.shape) * STORAGE[item.dtype].itemsize
            stored = np.full(count, POISON, dtype=np.uint8).view(STORAGE[item.dtype]).reshape(item.shape)
            return blocks.tensor(stored, item.dtype, item.layout, on_host=item.on_host)
        if item.layout == "expanded" and item.shape:
            one = draw(item.values, (1, *item.shape[1:]), item.dtype, source)
            return blocks.tensor(np.broadcast_to(one, item.shape), item.dtype, item.layout)
        stored = draw(item.values, item.shape, item.dtype, source)
        return blocks.tensor(stored, item.dtype, item.layout, on_host=item.on_host)


def _items(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _alias_of(value: Any) -> str | None:
    return next((operand.alias for operand in operands_of([value]) if operand.alias), None)
