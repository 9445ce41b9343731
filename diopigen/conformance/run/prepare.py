"""Makes the call of a case: its tensors, numbers and lists as C has them, and room for what the operator writes."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from diopigen.conformance.cases.values import POISON, draw, seed_of
from diopigen.conformance.dtypes import STORAGE, Array, decode
from diopigen.conformance.model import Case, Number, Operand, operands_of
from diopigen.conformance.run.binding import ScalarStruct, SizeStruct, Types, size_struct
from diopigen.conformance.run.memory import Arena, Block
from diopigen.contract.dtypes import kind
from diopigen.header.signature import c_type
from diopigen.ir.model import Function, Interface, Parameter

ALLOCATED = ("new_tensor", "new_tensors")
"""Types of parameters through which an operator hands out tensors of its own."""


@dataclass(slots=True)
class Prepared:
    """A call that is ready: C arguments, blocks by parameter, slots that the operator fills, and the oracle's view."""

    function: Function
    arguments: list[Any] = field(default_factory=list)
    blocks: dict[str, list[Block | None]] = field(default_factory=dict)
    slots: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    """Numbers that the operator reads and writes, by parameter."""
    values: dict[str, Any] = field(default_factory=dict)
    dtypes: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, Any] = field(default_factory=dict)
    generators: list[tuple[ctypes.c_void_p, int]] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)

    def allocated(self, name: str) -> list[ctypes.c_void_p]:
        """The handles that the operator has set in an output that it allocates; none where it was passed null."""
        slot = self.slots.get(name)
        if slot is None:
            return []
        return [ctypes.c_void_p(handle) for handle in slot] if isinstance(slot, ctypes.Array) else [slot]


class Preparer:
    """Makes calls in the memory of one arena."""

    def __init__(self, interface: Interface, arena: Arena, *, seed: int = 0) -> None:
        self.types = Types(interface)
        self.arena = arena
        self.seed = seed
        self.enum_values = {value.name: value.value for enum in interface.enums for value in enum.values}

    def prepare(self, case: Case, function: Function) -> Prepared:
        """The call of a case, ready to be made."""
        source = np.random.Generator(np.random.PCG64(seed_of(case.id, self.seed)))
        ready = Prepared(function)
        if function.context:
            ready.arguments.append(self.arena.context)
        aliases = [p for p in function.params if _alias_of(case.arguments.get(p.name)) is not None]
        prepared: dict[str, Any] = {}
        for param in [p for p in function.params if p not in aliases] + aliases:
            prepared[param.name] = self._argument(param, case, ready, source)
        ready.arguments += [prepared[param.name] for param in function.params]
        return ready

    def _argument(self, param: Parameter, case: Case, ready: Prepared, source: np.random.Generator) -> Any:
        value = case.arguments.get(param.name)
        if param.type == "context":
            return self.arena.context
        if param.type == "generator" or param.type == "generators":
            return self._generator(param, case, ready)
        if param.type == "opaque" and param.direction == "in":
            return None
        if isinstance(value, Operand) and param.sparse:
            return self._sparse(param, value, ready, source)
        if param.type in ("tensor", "tensors") and (value is not None or param.type == "tensor"):
            return self._tensors(param, value, ready, source)
        if param.direction == "out" or param.type in ALLOCATED:
            return self._slot(param, case, ready)
        ready.values[param.name] = value.value if isinstance(value, Number) else value
        if value is None:
            return None
        if isinstance(value, Number):
            ready.dtypes[param.name] = value.dtype
            return self._held(ready, self._scalar(value))
        if param.type == "sizes":
            struct = size_struct([int(item) for item in _items(value)])
            return self._held(ready, struct) if "*" in c_type(param) else struct
        if param.type == "string":
            return str(value).encode()
        if param.type == "float":
            assert isinstance(value, (int, float)), f"'{param.name}' is a number"
            ready.values[param.name] = float(np.float32(value))
        plain = self.enum_values.get(value, 0) if isinstance(value, str) else value
        expected_type = c_type(param)
        if "*" not in expected_type:
            return plain
        number = self.types.pointed(expected_type)(plain)
        if param.is_written:
            ready.numbers[param.name] = number
        return self._held(ready, number)

    def _held(self, ready: Prepared, value: Any) -> Any:
        ready.keep.append(value)
        return ctypes.byref(value)

    def _scalar(self, value: Number) -> ScalarStruct:
        struct = ScalarStruct(self.arena.dtypes[value.dtype])
        if kind(value.dtype) == "float":
            struct.fval = float(value.value)
        else:
            struct.ival = int(value.value)
        return struct

    def _generator(self, param: Parameter, case: Case, ready: Prepared) -> Any:
        if case.arguments.get(param.name, True) is None:
            return None
        count_of_generators = case.arguments.get(str(param.count)) if param.type == "generators" else 1
        seed = seed_of(case.id, self.seed) >> 1
        for k in range(count_of_generators if isinstance(count_of_generators, int) else 1):
            ready.generators.append((self.arena.generator(seed + k), seed + k))
        if param.type == "generator":
            return ready.generators[-1][0]
        handles = (ctypes.c_void_p * len(ready.generators))(*[handle for handle, _ in ready.generators])
        ready.keep.append(handles)
        return ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p))

    def _slot(self, param: Parameter, case: Case, ready: Prepared) -> Any:
        """Room for what the operator writes through a pointer: a handle, a number, a list."""
        if param.name in case.arguments and case.arguments[param.name] is None:
            return None
        pointed = self.types.pointed(c_type(param))
        if param.type == "new_tensors":
            count = param.count if isinstance(param.count, int) else case.arguments[str(param.count)]
            assert isinstance(count, int), f"'{param.name}' has a number of tensors"
            handles = (ctypes.c_void_p * count)()
            ready.slots[param.name] = handles
            return ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p))
        slot = pointed()
        if pointed is not ctypes.c_void_p and pointed is not SizeStruct:
            ctypes.memset(ctypes.byref(slot), POISON, ctypes.sizeof(slot))
        if pointed is ctypes.c_bool:  # a poisoned bool would be read as true
            slot = ctypes.c_uint8(POISON)
            ready.slots[param.name] = slot
            ready.keep.append(slot)
            return ctypes.cast(ctypes.byref(slot), ctypes.POINTER(ctypes.c_bool))
        ready.slots[param.name] = slot
        return self._held(ready, slot)

    def _sparse(self, param: Parameter, item: Operand, ready: Prepared, source: np.random.Generator) -> Any:
        """A sparse matrix: its parts are guarded as other tensors are, and the oracle sees a dense one."""
        stored = draw(item.values, item.shape, item.dtype, source)
        handle_of_all, parts, dense = self.arena.sparse(stored, item.dtype, source)
        ready.blocks[param.name] = list(parts)
        ready.values[param.name] = np.array(decode(dense, item.dtype))
        ready.dtypes[param.name], ready.shapes[param.name] = item.dtype, item.shape
        return handle_of_all.handle

    def _tensors(self, param: Parameter, value: Any, ready: Prepared, source: np.random.Generator) -> Any:
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
        if not blocks:
            return None  # as the data of an empty vector may be
        handles = (ctypes.c_void_p * len(blocks))(*(block.handle.value if block else None for block in blocks))
        ready.keep.append(handles)
        return ctypes.cast(handles, ctypes.POINTER(ctypes.c_void_p))

    def _seen(self, block: Block) -> Array:
        return np.array(decode(block.elements(block.before), block.dtype))

    def _block(self, param: Parameter, item: Operand, ready: Prepared, source: np.random.Generator) -> Block:
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


def _items(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _alias_of(value: Any) -> str | None:
    return next((operand.alias for operand in operands_of([value]) if operand.alias), None)
