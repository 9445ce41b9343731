"""The slots of a plan: what tensors a graph has, and which memory each of them looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from torch_droplet.arena import Lifetime
from torch_droplet.graph_nodes import (
    DataDependent,
    Declined,
    Unplanned,
    dense_strides,
    storage_key,
)
from torch_droplet.table import dtype_name


@dataclass
class Storage:
    """Memory that slots look at: the slot that owns it, or none where it is in the arena."""

    slot: int | None
    start: int
    """The owner's first byte in the storage."""
    lifetime: Lifetime | None = None


class Slots:
    """Slots, constants and storages of a graph for given values of its symbols. `kept` are storages that leave it."""

    def __init__(self, symbols: Mapping[Any, int], kept: set[int]) -> None:
        self.symbols = symbols
        self.kept = kept
        self.slots: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.constants: list[torch.Tensor] = []
        self.storages: dict[int, Storage] = {}
        self.values: dict[torch.fx.Node, Any] = {}
        """The slot of a node that is a tensor, a list for several, or a number."""
        self._layouts: list[torch.Tensor | None] = []
        self._made: list[torch.Tensor] = []

    def number(self, value: Any) -> Any:
        """A size, or another number that may follow from symbols."""
        if isinstance(value, torch.fx.Node):
            if value in self.values:
                return self.values[value]
            return self.number(value.meta["val"])
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            expression = value.node.expr.xreplace(dict(self.symbols))
            if expression.free_symbols:
                raise DataDependent(str(expression))
            kind = int if isinstance(value, torch.SymInt) else float if isinstance(value, torch.SymFloat) else bool
            return kind(expression)
        return value

    def layout(self, value: torch.Tensor) -> dict[str, Any]:
        """Dtype, sizes and strides for a slot."""
        if value.layout != torch.strided:
            raise Unplanned(f"a tensor with the layout {value.layout}")
        return {
            "dtype": dtype_name(value.dtype),
            "sizes": [self.number(size) for size in value.shape],
            "strides": [self.number(stride) for stride in value.stride()],
        }

    def add_slot(self, slot: dict[str, Any], value: torch.Tensor | None) -> int:
        """A new slot; `value` says what is in it."""
        self.slots.append(slot)
        self._layouts.append(value)
        return len(self.slots) - 1

    def broadcast_strides(self, value: torch.Tensor, shape: Sequence[int]) -> list[int]:
        """Strides of a tensor as if it had `shape`."""
        sizes = [self.number(size) for size in value.shape]
        strides = [self.number(stride) for stride in value.stride()]
        lead = len(shape) - len(sizes)
        return [0] * lead + [
            0 if size == 1 and shape[lead + k] != 1 else stride
            for k, (size, stride) in enumerate(zip(sizes, strides, strict=True))
        ]

    def extent(self, value: torch.Tensor) -> int:
        """Bytes from the first element to behind the last one."""
        pairs = zip(value.shape, value.stride(), strict=True)
        return (1 + sum((self.number(n) - 1) * self.number(s) for n, s in pairs)) * value.element_size()

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

    def add_result(self, value: torch.Tensor, size: int, is_kept: bool, key: int) -> int:
        """A slot of `size` bytes, in the arena unless it leaves the graph."""
        if is_kept:
            slot = self.add_slot({"kind": "fresh", **self.layout(value)}, value)
            self.storages[key] = Storage(slot, 0)
            return slot
        self.storages[key] = Storage(None, 0, Lifetime(size, len(self.steps), len(self.steps)))
        return self.add_slot({"kind": "arena", "storage": self.storages[key], "start": 0, **self.layout(value)}, value)

    def scratch(self, sizes: Sequence[int], dtype: torch.dtype) -> int:
        """A dense tensor in the arena that no node has."""
        made = torch.empty_strided(list(sizes), dense_strides(sizes), dtype=dtype, device="meta")
        # The key is the address of a storage: it must stay one of its own.
        self._made.append(made)
        return self.add_result(made, made.untyped_storage().nbytes(), False, storage_key(made))

    def permuted(self, slot: int, dimensions: Sequence[int]) -> int:
        """A slot over the same memory."""
        value = self._layouts[slot]
        assert value is not None
        return self.inside(slot, value.permute(*dimensions))

    def inside(self, slot: int, seen: torch.Tensor) -> int:
        """A slot for a view of what is in another one."""
        own, value = self.slots[slot], self._layouts[slot]
        assert value is not None
        ahead = self.number(seen.storage_offset()) - self.number(value.storage_offset())
        if own["kind"] == "arena":
            start = own["start"] + ahead * seen.element_size()
            return self.add_slot({**own, "start": start, **self.layout(seen)}, seen)
        return self.add_slot({"kind": "view", "base": slot, "offset": ahead, **self.layout(seen)}, seen)
