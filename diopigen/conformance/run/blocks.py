"""Tensors for one call: values between guard zones, in any layout, compared byte by byte afterwards."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array
from diopigen.conformance.strides import GUARD, Dims, reach, strides_of

CANARY = 0xA7
"""Every byte of the guards and of the gaps between elements."""


@dataclass(slots=True)
class Block:
    """A tensor of the call: its handle, its storage, and the bytes of the storage as they were before the call."""

    handle: Any
    base: Any
    """None where the tensor has no storage."""
    shape: Dims
    strides: Dims
    dtype: str
    before: Array
    owner: bool = True
    start: int = GUARD
    """Bytes from the start of the storage to the first element."""

    def elements(self, storage: Array) -> Array:
        """The elements that are in a storage of this block's form: a view, or an empty array."""
        item = STORAGE[self.dtype]
        if self.before.size == 0:
            return np.empty(self.shape, dtype=item)
        count = reach(self.shape, self.strides)
        inside = storage[self.start : self.start + count * item.itemsize].view(item)
        if count == math.prod(self.shape) and self.strides == strides_of(self.shape, "contiguous"):
            return inside.reshape(self.shape)
        # A stride that leads nowhere may be larger than NumPy can count.
        scaled = [
            stride * item.itemsize if size > 1 else 0 for size, stride in zip(self.shape, self.strides, strict=True)
        ]
        return np.lib.stride_tricks.as_strided(inside, self.shape, scaled)


class Blocks(ABC):
    """Makes the tensors and generators of calls. Handles and storages are whatever a subclass makes of them."""

    @abstractmethod
    def storage(self, content: Array, *, on_host: bool) -> Any:
        """A storage with these bytes."""

    @abstractmethod
    def rewrite(self, block: Block) -> None:
        """Makes the bytes of `before` those of the block's storage."""

    @abstractmethod
    def view(self, base: Any, shape: Dims, strides: Dims, dtype: str, offset: int) -> Any:
        """A tensor over a storage, `offset` elements behind its start."""

    @abstractmethod
    def alone(self, shape: Dims, strides: Dims, dtype: str, *, on_host: bool) -> Any:
        """A tensor without elements."""

    @abstractmethod
    def csr(self, shape: Dims, parts: Sequence[Any]) -> Any:
        """A sparse matrix over three tensors: starts of rows, columns, values."""

    @abstractmethod
    def generator(self, seed: int, offset: int = 0) -> Any:
        """A random generator."""

    def held(self, block: Block) -> Block:
        """The block itself, noted where it has to be freed."""
        return block

    def tensor(self, stored: Array, dtype: str, layout: str = "contiguous", *, on_host: bool = False) -> Block:
        """A tensor that holds the elements, between guard zones, on the device or on the host."""
        shape = stored.shape
        strides = strides_of(shape, layout)
        item = STORAGE[dtype].itemsize
        count = reach(shape, strides)
        if count == 0:
            handle = self.alone(shape, strides, dtype, on_host=on_host)
            return self.held(Block(handle, None, shape, strides, dtype, np.empty(0, dtype=np.uint8)))
        shift = 1 if layout == "offset" else 0
        before = np.full(2 * GUARD + (shift + count) * item, CANARY, dtype=np.uint8)
        block = Block(None, None, shape, strides, dtype, before, start=GUARD + shift * item)
        block.elements(before)[...] = stored
        block.base = self.storage(before, on_host=on_host)
        block.handle = self.view(block.base, shape, strides, dtype, block.start // item)
        return self.held(block)

    def alias(self, block: Block, shape: Dims) -> Block:
        """A second tensor over the memory of a block of the same shape, which is laid out as the first one has it."""
        if block.base is None:
            return self.tensor(np.empty(shape, dtype=STORAGE[block.dtype]), block.dtype)
        offset = block.start // STORAGE[block.dtype].itemsize
        handle = self.view(block.base, shape, block.strides, block.dtype, offset)
        strides, before, start = block.strides, block.before, block.start
        return self.held(Block(handle, block.base, shape, strides, block.dtype, before, owner=False, start=start))

    def overlap(self, block: Block, shape: Dims, dtype: str, shift: int, stored: Array | None = None) -> Block:
        """A contiguous tensor over the memory of a block, `shift` elements behind its first; it gets the elements
        `stored`. What it would hold beyond the block's elements and guard zones is an error of the case."""
        assert block.base is not None, "an overlap with an empty tensor"
        strides, item = strides_of(shape, "contiguous"), STORAGE[dtype].itemsize
        if stored is not None:
            start = GUARD + shift * item
            block.before[start : start + stored.nbytes] = np.ascontiguousarray(stored).view(np.uint8).ravel()
            self.rewrite(block)
        handle = self.view(block.base, shape, strides, dtype, GUARD // item + shift)
        return self.held(Block(handle, block.base, shape, strides, dtype, block.before, owner=False))

    def sparse(self, stored: Array, dtype: str, source: np.random.Generator) -> tuple[Block, list[Block], Array]:
        """A matrix in compressed sparse rows that keeps about half of the elements: the tensor, its three parts
        between guard zones, and the matrix with zeros elsewhere."""
        nonzero = source.random(stored.shape) < 0.5
        index = ("int32", "int64")[int(source.integers(2))]
        starts = np.concatenate([[0], np.cumsum(np.count_nonzero(nonzero, axis=1))])
        columns = np.nonzero(nonzero)[1]
        parts = [
            self.tensor(starts.astype(STORAGE[index]), index),
            self.tensor(columns.astype(STORAGE[index]), index),
            self.tensor(stored[nonzero], dtype),
        ]
        handle = self.csr(stored.shape, [part.handle for part in parts])
        nothing = np.empty(0, dtype=np.uint8)
        whole = Block(handle, None, stored.shape, strides_of(stored.shape, "contiguous"), dtype, nothing)
        return self.held(whole), parts, np.where(nonzero, stored, np.zeros_like(stored))
