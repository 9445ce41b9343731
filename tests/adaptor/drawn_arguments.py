"""Tensors at random for the parameters of any operator: dtypes, shapes, strides, aliasing."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from adaptor_helpers import DRAWN, Library, Tensor

from diopigen.ir.model import DtypeList, Function, Parameter


def dense(size: tuple[int, ...], order: list[int]) -> list[int]:
    """Strides of a dense tensor whose dimensions are in `order`, the fastest last."""
    strides, step = [0] * len(size), 1
    for dimension in reversed(order):
        strides[dimension] = step
        step *= max(size[dimension], 1)
    return strides


@dataclass
class Arguments:
    """Tensors by parameter (a list for an array), and slots for what the operator makes."""

    tensors: dict[str, list[Tensor | None]] = field(default_factory=dict)
    slots: dict[str, Any] = field(default_factory=dict)
    held: list[Any] = field(default_factory=list)

    def values(self, function: Function) -> dict[str, Any]:
        """The arguments as ctypes takes them."""
        values: dict[str, Any] = {}
        for param in function.params:
            if param.type == "tensor":
                tensor = self.tensors[param.name][0]
                values[param.name] = None if tensor is None else tensor.handle
            elif param.type == "tensors":
                handles = [None if tensor is None else tensor.handle for tensor in self.tensors[param.name]]
                array = (ctypes.c_void_p * len(handles))(*handles)
                self.held.append(array)
                values[param.name] = ctypes.addressof(array)
                values[str(param.count)] = len(handles)
            elif param.type in ("new_tensor", "new_tensors"):
                count = int(param.count or 1)
                slot = (ctypes.c_void_p * count)(*[0x5A5A] * count)
                self.slots[param.name] = slot
                values[param.name] = ctypes.addressof(slot)
        return values

    def all(self) -> Iterator[Tensor]:
        seen: set[int] = set()
        for tensors in self.tensors.values():
            for tensor in tensors:
                if tensor is not None and tensor.handle not in seen:
                    seen.add(tensor.handle)
                    yield tensor


def draw_tensor(pick: random.Random, library: Library, param: Parameter) -> Tensor:
    rank = pick.choice((0, 1, 2, 3, 4, 4, 4, 5))
    size = [pick.choice((1, 2, 3, 3)) for _ in range(rank)]
    if pick.random() < 0.05 and size:
        size[pick.randrange(rank)] = 0
    order = list(range(rank))
    kind = pick.choice(("row", "row", "last", "any", "gaps", "expanded"))
    if kind == "last" and rank >= 3:
        order = [0, *range(2, rank), 1]
    elif kind in ("any", "gaps"):
        pick.shuffle(order)
    stride = dense(tuple(size), order)
    if kind == "gaps":
        stride = [each * pick.choice((2, 5)) for each in stride]
        stride = stride if len(set(stride)) == len(stride) else [each * 2 for each in dense(tuple(size), order)]
    if kind == "expanded" and param.direction == "in" and rank:
        stride[pick.randrange(rank)] = 0
    dtypes = param.dtype.dtypes if isinstance(param.dtype, DtypeList) and pick.random() < 0.5 else DRAWN
    drawn = tuple(dtype for dtype in dtypes if dtype in DRAWN)
    return library.tensor(pick.choice(drawn or DRAWN), size, stride, offset=pick.choice((0, 0, 7)))


def overlaps(size: list[int], stride: list[int]) -> bool:
    """Returns whether two elements are in one place; for gaps whose factors meet."""
    positions = {0}
    for length, each in zip(size, stride, strict=True):
        new = {index + position * each for index in positions for position in range(length)}
        if len(new) != len(positions) * length:
            return True
        positions = new
    return False


def draw_arguments(pick: random.Random, library: Library, function: Function) -> Arguments:
    values = Arguments()
    for param in function.params:
        if param.type not in ("tensor", "tensors"):
            continue
        tensors: list[Tensor | None] = []
        count = same_count(function, param, values, pick)
        for _ in range(count):
            # Written once only: two rules for one result would contradict each other, and a sum of two
            # would leave int8.
            taken = {*written(function, values), *tensors} if param.direction == "inout" else set()
            others = [each for each in values.all() if each.count and 0 not in each.stride and each not in taken]
            if param.direction == "inout":
                # Elements in one place would be written one after the other, in whatever order.
                others = [each for each in others if not overlaps(list(each.size), list(each.stride))]
            if param.type == "tensor" and param.nullable and pick.random() < 0.2:
                tensors.append(None)
            elif others and param.direction in ("in", "inout") and pick.random() < 0.15:
                tensors.append(pick.choice(others))
            else:
                tensor = draw_tensor(pick, library, param)
                while param.direction != "in" and overlaps(list(tensor.size), list(tensor.stride)):
                    library.destroy(tensor)
                    tensor = draw_tensor(pick, library, param)
                tensors.append(tensor)
        values.tensors[param.name] = tensors
    for tensor in values.all():
        library.write(tensor, [float(pick.randrange(2) if tensor.dtype == "bool" else pick.randrange(40))
                               for _ in range(tensor.count)])  # fmt: skip
    return values


def written(function: Function, values: Arguments) -> set[Tensor]:
    """The tensors so far that the operator writes."""
    found = set()
    for param in function.params:
        if param.direction != "in":
            found |= {tensor for tensor in values.tensors.get(param.name, []) if tensor is not None}
    return found


def same_count(function: Function, param: Parameter, values: Arguments, pick: random.Random) -> int:
    """Arrays that share a count are equally long."""
    if param.type == "tensor":
        return 1
    for other in function.params:
        if other.type == "tensors" and other.count == param.count and other.name in values.tensors:
            return len(values.tensors[other.name])
    return pick.choice((1, 2, 5))
