"""Tensors for one call: values between guard zones, in any layout, read back and compared byte by byte."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import STORAGE, Array
from diopigen.conformance.run.binding import Host, SizeStruct, size_struct
from diopigen.conformance.strides import GUARD, Dims, reach, strides_of

CANARY = 0xA7
"""Every byte of the guards and of the gaps between elements."""


@dataclass(slots=True)
class Block:
    """A tensor of the call: its handle, and the bytes of its storage as they were before the call."""

    handle: ctypes.c_void_p
    base: ctypes.c_void_p | None
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


class Arena:
    """Makes the tensors of calls on one device, and frees those of a call together."""

    def __init__(self, host: Host, dtype_values: dict[str, int], device: int | None = None) -> None:
        self.host = host
        self.dtypes = dtype_values
        self.names = {value: name for name, value in dtype_values.items()}
        self.context = ctypes.c_void_p()
        host.call("diopiHostCreateContext", ctypes.byref(self.context))
        self.device = self._device() if device is None else device
        self.blocks: list[Block] = []
        self.generators: list[ctypes.c_void_p] = []

    def _device(self) -> int:
        """1 (the accelerator) where the library has registered device memory, else 0 (the host)."""
        probe = ctypes.c_void_p()
        size = size_struct((16,))
        arguments = (ctypes.byref(size), None, 0, self.dtypes["uint8"])
        if self.host.status("diopiHostCreateTensor", self.context, ctypes.byref(probe), *arguments, 1) != 0:
            return 0
        self.host.call("diopiHostDestroyTensor", probe)
        return 1

    def tensor(self, stored: Array, dtype: str, layout: str = "contiguous", *, on_host: bool = False) -> Block:
        """A tensor that holds the elements, between guard zones, on the arena's device or on the host."""
        shape = stored.shape
        strides = strides_of(shape, layout)
        item = STORAGE[dtype].itemsize
        handle = ctypes.c_void_p()
        size, steps = size_struct(shape), size_struct(strides)
        count = reach(shape, strides)
        device = 0 if on_host else self.device
        if count == 0:
            self._create(handle, size, steps, dtype, device)
            return self._held(Block(handle, None, shape, strides, dtype, np.empty(0, dtype=np.uint8)))
        shift = 1 if layout == "offset" else 0
        before = np.full(2 * GUARD + (shift + count) * item, CANARY, dtype=np.uint8)
        block = Block(handle, ctypes.c_void_p(), shape, strides, dtype, before, start=GUARD + shift * item)
        block.elements(before)[...] = stored
        assert block.base is not None
        self._create(block.base, size_struct((before.size,)), None, "uint8", device)
        self._view(handle, block.base, size, steps, dtype, shift)
        self.write(block, before)
        return self._held(block)

    def alias(self, block: Block, shape: Dims, layout: str) -> Block:
        """A second tensor over the memory of a block of the same shape."""
        if block.base is None:
            return self.tensor(np.empty(shape, dtype=STORAGE[block.dtype]), block.dtype)
        handle = ctypes.c_void_p()
        del layout  # the memory is laid out as the first tensor has it
        shift = (block.start - GUARD) // STORAGE[block.dtype].itemsize
        self._view(handle, block.base, size_struct(shape), size_struct(block.strides), block.dtype, shift)
        strides, before, start = block.strides, block.before, block.start
        return self._held(Block(handle, block.base, shape, strides, block.dtype, before, owner=False, start=start))

    def overlap(self, block: Block, shape: Dims, dtype: str, shift: int, stored: Array | None = None) -> Block:
        """A contiguous tensor over the memory of a block, `shift` elements behind its first; it gets the elements
        `stored`. What it would hold beyond the block's elements and guard zones is an error of the case."""
        assert block.base is not None, "an overlap with an empty tensor"
        handle, strides = ctypes.c_void_p(), strides_of(shape, "contiguous")
        if stored is not None:
            start = GUARD + shift * STORAGE[dtype].itemsize
            block.before[start : start + stored.nbytes] = np.ascontiguousarray(stored).view(np.uint8).ravel()
            self.write(block, block.before)
        self._view(handle, block.base, size_struct(shape), size_struct(strides), dtype, shift)
        return self._held(Block(handle, block.base, shape, strides, dtype, block.before, owner=False))

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
        handle = ctypes.c_void_p()
        size = size_struct(stored.shape)
        handles = (part.handle for part in parts)
        self.host.call("diopiHostCreateSparseCsr", ctypes.byref(handle), ctypes.byref(size), *handles)
        nothing = np.empty(0, dtype=np.uint8)
        handle_of_all = self._held(
            Block(handle, None, stored.shape, strides_of(stored.shape, "contiguous"), dtype, nothing)
        )
        return handle_of_all, parts, np.where(nonzero, stored, np.zeros_like(stored))

    def _create(
        self, handle: ctypes.c_void_p, size: SizeStruct, steps: SizeStruct | None, dtype: str, device: int
    ) -> None:
        stride = None if steps is None else ctypes.byref(steps)
        arguments = (ctypes.byref(handle), ctypes.byref(size), stride, 0, self.dtypes[dtype], device)
        self.host.call("diopiHostCreateTensor", self.context, *arguments)

    def _view(
        self,
        handle: ctypes.c_void_p,
        base: ctypes.c_void_p,
        size: SizeStruct,
        steps: SizeStruct,
        dtype: str,
        shift: int = 0,
    ) -> None:
        offset = GUARD // STORAGE[dtype].itemsize + shift
        arguments = (ctypes.byref(size), ctypes.byref(steps), offset, self.dtypes[dtype])
        self.host.call("diopiHostCreateView", ctypes.byref(handle), base, *arguments)

    def _held(self, block: Block) -> Block:
        self.blocks.append(block)
        return block

    def write(self, block: Block, storage: Array) -> None:
        """Copies bytes into a block's storage."""
        if block.base is not None:
            self.host.call("diopiHostCopyToStorage", self.context, block.base, storage.ctypes.data, storage.size)

    def read(self, block: Block) -> Array:
        """The bytes of a block's storage now."""
        now = np.empty_like(block.before)
        if block.base is not None:
            self.host.call("diopiHostCopyFromStorage", self.context, block.base, now.ctypes.data, now.size)
        return now

    def generator(self, seed: int, offset: int = 0) -> ctypes.c_void_p:
        """A random generator."""
        handle = ctypes.c_void_p()
        self.host.call("diopiHostCreateGenerator", ctypes.byref(handle), seed, offset)
        self.generators.append(handle)
        return handle

    def state(self, generator: ctypes.c_void_p) -> tuple[int, int]:
        """Seed and offset of a generator."""
        seed, offset = ctypes.c_uint64(), ctypes.c_uint64()
        fields = (ctypes.byref(seed), ctypes.byref(offset))
        self.host.call("diopiGeneratorGetSeedAndOffset", generator, *fields)
        return seed.value, offset.value

    def fetch(self, handle: Any) -> tuple[Array, str, Dims]:
        """Elements, dtype and strides of a tensor that the operator allocated."""
        size, steps, dtype = SizeStruct(), SizeStruct(), ctypes.c_int()
        nbytes, offset = ctypes.c_size_t(), ctypes.c_int64()
        self.host.call("diopiGetTensorShape", handle, ctypes.byref(size))
        self.host.call("diopiGetTensorStride", handle, ctypes.byref(steps))
        self.host.call("diopiGetTensorDtype", handle, ctypes.byref(dtype))
        shape, strides = tuple(size.data[: size.len]), tuple(steps.data[: steps.len])
        name = self.names.get(dtype.value, "")
        item = STORAGE[name]
        if math.prod(shape) == 0:
            return np.empty(shape, dtype=item), name, strides
        self.host.call("diopiGetTensorStorageNbytes", handle, ctypes.byref(nbytes))
        self.host.call("diopiGetTensorStorageOffset", handle, ctypes.byref(offset))
        storage = np.empty(nbytes.value, dtype=np.uint8)
        self.host.call("diopiHostCopyFromStorage", self.context, handle, storage.ctypes.data, storage.size)
        inside = storage[offset.value * item.itemsize :]
        inside = inside[: inside.size // item.itemsize * item.itemsize].view(item)
        scaled = [stride * item.itemsize for stride in strides]
        return np.lib.stride_tricks.as_strided(inside, shape, scaled).copy(), name, strides

    def clear(self) -> None:
        """Frees the tensors and generators of the call; a fresh context where the operator left temporaries."""
        for block in reversed(self.blocks):
            self.host.call("diopiHostDestroyTensor", block.handle)
            if block.owner and block.base is not None:
                self.host.call("diopiHostDestroyTensor", block.base)
        self.blocks.clear()
        for generator in self.generators:
            self.host.call("diopiHostDestroyGenerator", generator)
        self.generators.clear()
        count = ctypes.c_int64()
        self.host.call("diopiHostGetTemporaryCount", self.context, ctypes.byref(count))
        if count.value:
            self.host.call("diopiHostDestroyContext", self.context)
            self.context = ctypes.c_void_p()
            self.host.call("diopiHostCreateContext", ctypes.byref(self.context))

    def close(self) -> None:
        """Frees everything."""
        self.clear()
        self.host.call("diopiHostDestroyContext", self.context)
