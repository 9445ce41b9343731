"""Tensors of the host runtime in this process, for code that calls a library directly."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.run.binding import Host, SizeStruct, size_struct
from diopigen.conformance.run.blocks import Block, Blocks
from diopigen.conformance.run.frames import Fetched, RawTensor
from diopigen.conformance.strides import Dims


class Arena(Blocks):
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

    def storage(self, content: Array, *, on_host: bool) -> ctypes.c_void_p:
        """A tensor of bytes."""
        base = self._created((content.size,), None, "uint8", on_host=on_host)
        self.host.call("diopiHostCopyToStorage", self.context, base, content.ctypes.data, content.size)
        return base

    def rewrite(self, block: Block) -> None:
        """Copies the bytes that a block has before the call into its storage."""
        self.write(block, block.before)

    def view(self, base: Any, shape: Dims, strides: Dims, dtype: str, offset: int) -> ctypes.c_void_p:
        """A tensor over the storage of another one."""
        handle, size, steps = ctypes.c_void_p(), size_struct(shape), size_struct(strides)
        arguments = (ctypes.byref(size), ctypes.byref(steps), offset, self.dtypes[dtype])
        self.host.call("diopiHostCreateView", ctypes.byref(handle), base, *arguments)
        return handle

    def alone(self, shape: Dims, strides: Dims, dtype: str, *, on_host: bool) -> ctypes.c_void_p:
        """A tensor without elements."""
        return self._created(shape, size_struct(strides), dtype, on_host=on_host)

    def csr(self, shape: Dims, parts: Sequence[Any]) -> ctypes.c_void_p:
        """A sparse matrix."""
        handle, size = ctypes.c_void_p(), size_struct(shape)
        self.host.call("diopiHostCreateSparseCsr", ctypes.byref(handle), ctypes.byref(size), *parts)
        return handle

    def _created(self, shape: Dims, steps: SizeStruct | None, dtype: str, *, on_host: bool) -> ctypes.c_void_p:
        handle, size = ctypes.c_void_p(), size_struct(shape)
        stride = None if steps is None else ctypes.byref(steps)
        device = 0 if on_host else self.device
        arguments = (ctypes.byref(handle), ctypes.byref(size), stride, 0, self.dtypes[dtype], device)
        self.host.call("diopiHostCreateTensor", self.context, *arguments)
        return handle

    def held(self, block: Block) -> Block:
        """Notes a block, to be freed with its call."""
        self.blocks.append(block)
        return block

    def write(self, block: Block, storage: Array) -> None:
        """Copies bytes into a block's storage."""
        if block.base is not None:
            self.host.call("diopiHostCopyToStorage", self.context, block.base, storage.ctypes.data, storage.size)

    def read(self, block: Block) -> Array:
        """The bytes of a block's storage now."""
        return self.bytes_of(block.base, 0 if block.base is None else block.before.size)

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

    def fetch(self, handle: Any) -> Fetched:
        """A tensor that the operator allocated."""
        return self.raw(handle).fetched(self.names)

    def raw(self, handle: Any) -> RawTensor:
        """A tensor that the operator allocated, as the runtime describes it."""
        size, steps, dtype = SizeStruct(), SizeStruct(), ctypes.c_int()
        nbytes, offset = ctypes.c_size_t(), ctypes.c_int64()
        self.host.call("diopiGetTensorShape", handle, ctypes.byref(size))
        self.host.call("diopiGetTensorStride", handle, ctypes.byref(steps))
        self.host.call("diopiGetTensorDtype", handle, ctypes.byref(dtype))
        self.host.call("diopiGetTensorStorageNbytes", handle, ctypes.byref(nbytes))
        self.host.call("diopiGetTensorStorageOffset", handle, ctypes.byref(offset))
        shape, strides = tuple(size.data[: size.len]), tuple(steps.data[: steps.len])
        return RawTensor(dtype.value, shape, strides, offset.value, self.bytes_of(handle, nbytes.value))

    def bytes_of(self, handle: Any, count: int) -> Array:
        """The bytes of a tensor's storage."""
        storage = np.empty(count, dtype=np.uint8)
        if count:
            self.host.call("diopiHostCopyFromStorage", self.context, handle, storage.ctypes.data, count)
        return storage

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
