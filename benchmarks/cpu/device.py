"""Calls of the CPU library on the memory of PyTorch tensors."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from diopigen import api
from diopigen.conformance.run.binding import Host, Library, ScalarStruct, Types, size_struct
from diopigen.diagnostics import Sink
from diopigen.header.signature import c_params

ROOT = Path(__file__).resolve().parents[2]
_ACCELERATOR = 1


class Device:
    """The host runtime and the library, loaded into this process."""

    def __init__(self, library: Path, runtime: Path) -> None:
        self.interface = api.load(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), Sink()).interface
        self.functions = {function.name: function for function in self.interface.functions}
        self.host = Host(runtime)
        wrap = self.host.library.diopiHostWrapMemory
        self.types = Types(self.interface)
        self.library = Library(library, self.types, self.interface.functions)
        enums = {value.name: value.value for enum in self.interface.enums for value in enum.values}
        self.enums = enums
        self.dtypes = {getattr(torch, d.name): enums[d.enum] for d in self.interface.dtypes if hasattr(torch, d.name)}
        self.context = ctypes.c_void_p()
        self.host.call("diopiHostCreateContext", ctypes.byref(self.context))
        wrap.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                         ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int]  # fmt: skip
        self._wrap = wrap

    def tensor(self, tensor: torch.Tensor) -> ctypes.c_void_p:
        """A handle over the memory of a tensor, which must outlive it."""
        handle = ctypes.c_void_p()
        size, stride = size_struct(tuple(tensor.shape)), size_struct(tuple(tensor.stride()))
        last = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
        nbytes = (last + 1) * tensor.element_size() if tensor.numel() else 0
        address = (ctypes.byref(size), ctypes.byref(stride), 0, self.dtypes[tensor.dtype], _ACCELERATOR)
        status = self._wrap(self.context, ctypes.byref(handle), tensor.data_ptr(), nbytes, *address)
        if status != 0:
            raise RuntimeError(self.host.error_text())
        return handle

    def call(self, name: str, *arguments: Any) -> Callable[[], None]:
        """A function that makes the call with these arguments (context implied): tensors, lists of tensors, numbers,
        tuples for sizes, names of enum values, None. The first call is made here, and must succeed."""
        function = self.functions[name]
        target = self.library.functions[name]
        provided = list(arguments)
        keep: list[Any] = list(arguments)
        ready: list[Any] = []
        for param in c_params(function):
            c_type = param.type.replace("const ", "")
            if "diopiContextHandle_t" in c_type:
                ready.append(self.context)
                continue
            value = self._argument(c_type, provided.pop(0), keep)
            keep.append(value)
            ready.append(value)
        assert not provided, f"{name}: {len(provided)} arguments too many"
        status = target(*ready)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}: {self.library.text('diopiGetLastErrorString')}")

        def run(keep: list[Any] = keep) -> None:
            target(*ready)

        return run

    def allocating(self, name: str, *arguments: Any) -> Callable[[], None]:
        """The same for a function that allocates its first output: the tensor is released after each call, as
        PyTorch's result is."""
        handle = ctypes.c_void_p()
        call = self.call(name, ctypes.pointer(handle), *arguments)
        release = self.host.functions["diopiHostReleaseTemporary"]
        release(self.context, handle)

        def run() -> None:
            call()
            release(self.context, handle)

        return run

    def _argument(self, c_type: str, value: Any, keep: list[Any]) -> Any:
        if value is None or isinstance(value, ctypes._SimpleCData | ctypes.Array | ctypes._Pointer):
            return value
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, list):
            return (ctypes.c_void_p * len(value))(*[self.tensor(item) for item in value])
        if isinstance(value, tuple):
            return size_struct(value)
        if isinstance(value, str):
            return self.enums[value] if value in self.enums else value.encode()
        if "diopiScalar_t" in c_type:
            number = ScalarStruct()
            if isinstance(value, float):
                number.stype, number.fval = self.enums["diopi_dtype_float64"], value
            else:
                number.stype, number.ival = self.enums["diopi_dtype_int64"], int(value)
            return ctypes.pointer(number) if "*" in c_type else number
        if "*" in c_type:
            cell = self.types.pointed(c_type)(value)
            keep.append(cell)
            return ctypes.pointer(cell)
        return value

    @staticmethod
    def int64(value: int) -> Any:
        """A pointer to an optional number, as some functions take a dimension."""
        return ctypes.pointer(ctypes.c_int64(value))

    @staticmethod
    def real(value: float) -> Any:
        """A pointer to an optional number, as some functions take a value."""
        return ctypes.pointer(ctypes.c_double(value))

    @staticmethod
    def truth(value: bool) -> Any:
        """A pointer to an optional bool."""
        return ctypes.pointer(ctypes.c_bool(value))

    def generator(self, seed: int) -> ctypes.c_void_p:
        """A random generator."""
        handle = ctypes.c_void_p()
        self.host.call("diopiHostCreateGenerator", ctypes.byref(handle), seed, 0)
        return handle


def thread_count() -> int:
    """Threads of both sides: OMP_NUM_THREADS, else the cores that this process may use."""
    return int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0))))
