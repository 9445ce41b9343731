"""The slots of a plan: what tensors a graph has, and which memory each of them looks at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.fx

from .arena import Lifetime
from .graph_nodes import (
    DataDependent,
    Declined,
    Unplanned,
    dense_strides,
    product,
    storage_key,
)
from .symbols import SIZES, Symbols
from .table import dtype_name


@dataclass(frozen=True)
class Layout:
    """Positions of a tensor's elements in its memory; `offset` counts elements."""

    dtype: torch.dtype
    sizes: list[Any]
    strides: list[Any]
    offset: Any

    def document(self) -> dict[str, Any]:
        """Dtype, sizes and strides for a slot."""
        return {"dtype": dtype_name(self.dtype), "sizes": self.sizes, "strides": self.strides}


@dataclass
class Storage:
    """Memory that slots look at: the slot that owns it, or none where it is in the arena."""

    slot: int | None
    start: int
    """The owner's first byte in the storage."""
    lifetime: Lifetime | None = None


class Slots:
    """Slots, constants and storages of a graph. `kept` are storages that leave it."""

    def __init__(self, symbols: Symbols, kept: set[int]) -> None:
        self.symbols = symbols
        self.kept = kept
        self.slots: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.constants: list[torch.Tensor] = []
        self.storages: dict[int, Storage] = {}
        self.values: dict[torch.fx.Node, Any] = {}
        """The slot of a node that is a tensor, a list for several, or a number."""
        self._layouts: list[Layout | None] = []
        self._made: list[torch.Tensor] = []

    def number(self, value: Any) -> Any:
        """A size, or another number that may follow from symbols."""
        if isinstance(value, torch.fx.Node):
            if value in self.values:
                return self.values[value]
            return self.number(value.meta["val"])
        return self.symbols.number(value) if isinstance(value, SIZES) else value

    def numbers(self, values: Sequence[Any]) -> list[Any]:
        """Sizes or strides."""
        return [self.number(one) for one in values]

    def layout_of(self, value: torch.Tensor) -> Layout:
        """Position of its elements. Raises `DataDependent`, `Unplanned`."""
        if value.layout != torch.strided:
            raise Unplanned(f"a tensor with the layout {value.layout}")
        sizes, strides = self.numbers(value.shape), self.numbers(value.stride())
        return Layout(value.dtype, sizes, strides, self.number(value.storage_offset()))

    def layout(self, value: torch.Tensor) -> dict[str, Any]:
        """Dtype, sizes and strides for a slot."""
        return self.layout_of(value).document()

    def add_slot(self, slot: dict[str, Any], value: torch.Tensor | None) -> int:
        """A new slot; `value` says what is in it."""
        try:
            layout = None if value is None else self.layout_of(value)
        except (DataDependent, Unplanned):
            layout = None
        return self._add(slot, layout)

    def _add(self, slot: dict[str, Any], layout: Layout | None) -> int:
        self.slots.append(slot)
        self._layouts.append(layout)
        return len(self.slots) - 1

    def seen_as(self, slot: int) -> Layout:
        """Position of the elements of a slot."""
        found = self._layouts[slot]
        assert found is not None
        return found

    def broadcast_strides(self, value: torch.Tensor, shape: Sequence[int]) -> list[int]:
        """Strides of a tensor as if it had `shape`."""
        sizes, strides = self.numbers(value.shape), self.numbers(value.stride())
        lead = len(shape) - len(sizes)
        return [0] * lead + [
            0 if size == 1 and shape[lead + k] != 1 else stride
            for k, (size, stride) in enumerate(zip(sizes, strides, strict=True))
        ]

    def extent(self, value: torch.Tensor) -> int:
        """Bytes from the first element to behind the last one."""
        pairs = zip(value.shape, value.stride(), strict=True)
        extent: int = (1 + sum((self.number(n) - 1) * self.number(s) for n, s in pairs)) * value.element_size()
        return extent

    def own(self, value: torch.Tensor, slot: int) -> None:
        try:
            start = self.number(value.storage_offset()) * value.element_size()
        except DataDependent:
            return
        self.storages.setdefault(storage_key(value), Storage(slot, start))

    def add_constant(self, value: torch.Tensor) -> int:
        """A slot for a tensor that stays the same in all runs."""
        self.constants.append(value.detach())
        return self.add_slot({"kind": "constant", "index": len(self.constants) - 1}, value)

    def view(self, value: torch.Tensor) -> int:
        """A slot over the storage of another one."""
        storage = self.storages[storage_key(value)]
        start = self.number(value.storage_offset()) * value.element_size()
        if storage.slot is None:
            return self.add_slot({"kind": "arena", "storage": storage, "start": start, **self.layout(value)}, value)
        offset, rest = divmod(start - storage.start, value.element_size())
        if rest:
            raise Unplanned("a view between elements")
        return self.add_slot({"kind": "view", "base": storage.slot, "offset": offset, **self.layout(value)}, value)

    def result(self, value: torch.Tensor) -> int:
        """A slot with memory of its own, which a function writes."""
        size = self.number(value.untyped_storage().nbytes())
        dimensions = zip(value.shape, value.stride(), strict=True)
        if any(self.number(stride) == 0 and self.number(length) > 1 for length, stride in dimensions):
            raise Declined("a result with elements that share memory")
        return self.add_result(value, size, storage_key(value) in self.kept, storage_key(value))

    def add_result(self, value: torch.Tensor, size: Any, is_kept: bool, key: int) -> int:
        """A slot of `size` bytes, in the arena unless it leaves the graph."""
        layout = self.layout_of(value)
        if is_kept:
            slot = self._add({"kind": "fresh", **layout.document()}, layout)
            self.storages[key] = Storage(slot, 0)
            return slot
        return self._temporary(layout, size, key)

    def _temporary(self, layout: Layout, size: Any, key: int) -> int:
        self.storages[key] = Storage(None, 0, Lifetime(size, len(self.steps), len(self.steps)))
        slot = {"kind": "arena", "storage": self.storages[key], "start": 0, **layout.document()}
        return self._add(slot, layout)

    def scratch(self, sizes: Sequence[Any], dtype: torch.dtype) -> int:
        """A dense tensor in the arena that no node has."""
        # The key is the address of a storage, which must stay one of its own.
        self._made.append(torch.empty(0, dtype=dtype, device="meta"))
        layout = Layout(dtype, list(sizes), dense_strides(sizes), 0)
        return self._temporary(layout, product(sizes) * dtype.itemsize, storage_key(self._made[-1]))

    def permuted(self, slot: int, dimensions: Sequence[int]) -> int:
        """A slot over the same memory."""
        own = self.seen_as(slot)
        sizes, strides = ([each[k] for k in dimensions] for each in (own.sizes, own.strides))
        return self.inside(slot, replace(own, sizes=sizes, strides=strides))

    def inside(self, slot: int, seen: Layout) -> int:
        """A slot for a view of what is in another one."""
        own = self.slots[slot]
        ahead = seen.offset - self.seen_as(slot).offset
        if own["kind"] == "arena":
            start = own["start"] + ahead * seen.dtype.itemsize
            return self._add({**own, "start": start, **seen.document()}, seen)
        return self._add({"kind": "view", "base": slot, "offset": ahead, **seen.document()}, seen)
