"""The CPU library under test, called through ctypes with NumPy arrays as tensors.

Arguments follow the C signature of the spec: an array for a tensor, a list of arrays for tensors, a number for a
scalar (int as int64, float as float64, bool as bool), plain Python values otherwise, None for null.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from diopigen.ir.model import Function, Interface, Parameter

SUCCESS, ERROR_OCCURRED, DTYPE_NOT_SUPPORTED = 0, 1, 1000
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
DTYPES: dict[np.dtype[Any], int] = {
    np.dtype("int8"): 0, np.dtype("uint8"): 1, np.dtype("int16"): 2, np.dtype("int32"): 4, np.dtype("int64"): 6,
    np.dtype("float16"): 8, np.dtype("float32"): 9, np.dtype("float64"): 10, np.dtype("bool"): 11, BFLOAT16: 12,
    np.dtype("complex64"): 15, np.dtype("complex128"): 16,
}  # fmt: skip
BY_NUMBER = {number: dtype for dtype, number in DTYPES.items()}


class Size(ctypes.Structure):
    _fields_ = (("data", ctypes.POINTER(ctypes.c_int64)), ("len", ctypes.c_int64))


class _Number(ctypes.Union):
    _fields_ = (("fval", ctypes.c_double), ("ival", ctypes.c_int64))


class Scalar(ctypes.Structure):
    _anonymous_ = ("number",)
    _fields_ = (("stype", ctypes.c_uint), ("number", _Number))


class NewTensor:
    """An output that the operator allocates; `array` is a copy of it after the call."""

    array: np.ndarray[Any, Any]


@dataclass
class CallFailed(Exception):
    """A call gave a status other than success."""

    status: int
    text: str

    def __str__(self) -> str:
        return f"{self.status}: {self.text}"


_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool, "int": ctypes.c_int, "int32": ctypes.c_int32, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64, "size_t": ctypes.c_size_t, "float": ctypes.c_float, "double": ctypes.c_double,
}  # fmt: skip


def size_of(values: Sequence[int], keep: list[Any]) -> Size:
    """A diopiSize_t over a list that `keep` keeps alive."""
    if not len(values):
        return Size(None, 0)
    array = (ctypes.c_int64 * len(values))(*values)
    keep.append(array)
    return Size(array, len(values))


@dataclass
class CpuLibrary:
    """libdiopirt.so and libdiopi_impl.so in this process."""

    runtime_path: Path
    path: Path
    interface: Interface
    enums: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.runtime = ctypes.CDLL(str(self.runtime_path), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
        self.library = ctypes.CDLL(str(self.path), mode=os.RTLD_NOW | os.RTLD_LOCAL)
        assert self.library.initLibrary() == 0
        self.library.diopiGetLastErrorString.restype = self.library.diopiGetImplVersion.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        assert self.runtime.diopiHostCreateContext(ctypes.byref(self.context)) == SUCCESS
        self.functions = {function.name: function for function in self.interface.functions}

    def version(self) -> str:
        """The version, which names the libraries that the build has."""
        text: bytes = self.library.diopiGetImplVersion()
        return text.decode()

    def wrap(self, array: np.ndarray[Any, Any], keep: list[Any], device: int = 1) -> ctypes.c_void_p:
        """A tensor over the memory of an array, with its strides."""
        handle = ctypes.c_void_p()
        assert all(stride % array.itemsize == 0 and stride >= 0 for stride in array.strides)
        shape = size_of(array.shape, keep)
        strides = size_of([stride // array.itemsize for stride in array.strides], keep)
        reach = (
            sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize
            if array.size
            else 0
        )
        status = self.runtime.diopiHostWrapMemory(
            self.context, ctypes.byref(handle), ctypes.c_void_p(array.ctypes.data if array.size else None),
            ctypes.c_uint64(reach), ctypes.byref(shape), ctypes.byref(strides), ctypes.c_int64(0),
            DTYPES[array.dtype], device,
        )  # fmt: skip
        assert status == SUCCESS
        keep.append(array)
        return handle

    def fetch(self, handle: ctypes.c_void_p) -> np.ndarray[Any, Any]:
        """A copy of a contiguous tensor that the operator made."""
        size, dtype, data = Size(), ctypes.c_uint(), ctypes.c_void_p()
        assert self.runtime.diopiGetTensorShape(handle, ctypes.byref(size)) == SUCCESS
        assert self.runtime.diopiGetTensorDtype(handle, ctypes.byref(dtype)) == SUCCESS
        assert self.runtime.diopiGetTensorDataConst(handle, ctypes.byref(data)) == SUCCESS
        shape = [size.data[i] for i in range(size.len)]
        result = np.empty(shape, BY_NUMBER[dtype.value])
        if result.nbytes:
            ctypes.memmove(result.ctypes.data, data.value or 0, result.nbytes)
        return result

    def status(self, name: str, *values: Any, devices: dict[str, int] | None = None) -> tuple[int, str]:
        """Calls a function with positional arguments in C order, without the context."""
        function = self.functions[name]
        keep: list[Any] = []
        handles: list[ctypes.c_void_p] = []
        created: list[tuple[NewTensor, ctypes.c_void_p]] = []
        arguments = [self.context] if function.context else []
        assert len(values) == len(function.params), f"{name} takes {[param.name for param in function.params]}"
        for param, value in zip(function.params, values, strict=True):
            device = (devices or {}).get(param.name, 1)
            arguments.append(self.argument(function, param, value, keep, handles, created, device))
        status = int(getattr(self.library, name)(*arguments))
        text = self.library.diopiGetLastErrorString().decode() if status else ""
        if not status:
            for new, handle in created:
                assert handle.value, f"{name} gave no tensor"
                new.array = self.fetch(handle)
        for handle in handles:
            assert self.runtime.diopiHostDestroyTensor(handle) == SUCCESS
        return status, text

    def call(self, name: str, *values: Any) -> None:
        """Calls a function that must succeed. Raises `CallFailed`."""
        status, text = self.status(name, *values)
        if status:
            raise CallFailed(status, f"{name}: {text}")

    def argument(
        self, function: Function, param: Parameter, value: Any, keep: list[Any], handles: list[ctypes.c_void_p],
        created: list[tuple[NewTensor, ctypes.c_void_p]], device: int,
    ) -> Any:  # fmt: skip
        """One value as ctypes wants it."""
        if param.type == "new_tensor":
            handle = ctypes.c_void_p()
            created.append((value, handle))
            return ctypes.byref(handle)
        if value is None:
            return None
        if param.type == "tensor":
            handles.append(self.wrap(value, keep, device))
            return handles[-1]
        if param.type == "tensors":
            own = [self.wrap(array, keep, device) for array in value]
            handles.extend(own)
            keep.append((ctypes.c_void_p * max(1, len(own)))(*[handle.value for handle in own]))
            return keep[-1]
        if param.type == "scalar":
            scalar = (
                Scalar(10, _Number(fval=value)) if isinstance(value, float) else Scalar(6, _Number(ival=int(value)))
            )
            keep.append(scalar)
            return ctypes.byref(scalar)
        if param.type == "sizes":
            size = size_of(value, keep)
            keep.append(size)
            return ctypes.byref(size) if param.nullable or param.pointer else size
        if param.type == "string":
            return ctypes.c_char_p(value.encode())
        if param.type == "generator":
            return value
        if param.type == "generators":
            keep.append((ctypes.c_void_p * max(1, len(value)))(*[handle.value for handle in value]))
            return keep[-1]
        if isinstance(value, (ctypes.c_int64, ctypes.c_double)):  # a number that the call may change
            return ctypes.byref(value)
        if param.type in _C_TYPES:
            number = _C_TYPES[param.type](value)
            keep.append(number)
            return ctypes.byref(number) if param.nullable or param.pointer else number
        return ctypes.c_int(value)

    def generator(self, seed: int, offset: int = 0) -> ctypes.c_void_p:
        """A random generator of the runtime."""
        handle = ctypes.c_void_p()
        status = self.runtime.diopiHostCreateGenerator(
            ctypes.byref(handle), ctypes.c_uint64(seed), ctypes.c_uint64(offset)
        )
        assert status == SUCCESS
        return handle
