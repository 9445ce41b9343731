"""Loads shims over the mock vendor and the host runtime, and calls them through ctypes."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from artefacts import ROOT, artefact

from diopigen.config.grammar import convertible, is_operator
from diopigen.config.model import Cast, FunctionRule, ResolvedConfig, TensorRule
from diopigen.diagnostics import Span
from diopigen.emit.adaptor.library import emit_adaptors
from diopigen.header.signature import c_function
from diopigen.ir.model import Function, Interface

SPAN = Span("convert_config.yaml", 1, 1)
SANITIZED = os.environ.get("DIOPIGEN_ADAPTOR_SANITIZED") == "1"
INCLUDES = [f"-I{ROOT / name}" for name in ("runtime/adaptor/include", "runtime/include", "generated/include")]
DTYPES = (
    *("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"),
    *("bool", "bfloat16", "tfloat32", "complex32", "complex64", "complex128"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"),
)
DRAWN = tuple(name for name in DTYPES if not name.startswith("float8"))
"""The dtypes that the mocked library computes with."""
SUCCESS, ERROR, NO_IMPLEMENT, DTYPE_NOT_SUPPORTED = 0, 1, 13, 1000
HOST, DEVICE = 0, 1


def cast(source: str, target: str) -> Cast:
    """A conversion of dtypes, wherever it may be written."""
    return Cast(source, target, SPAN)


def same_rule(function: Function, **settings: Any) -> FunctionRule:
    """One rule for all tensors of a function."""
    return FunctionRule(function.name, tuple(TensorRule(name, **settings) for name in convertible(function)))


def config(rules: Iterable[FunctionRule], implemented: Iterable[str], vendor: str = "mock") -> ResolvedConfig:
    """A configuration as the resolver would give it."""
    return ResolvedConfig(vendor, "convert_config.yaml", tuple(rules), frozenset(implemented))


def uniform(interface: Interface, **settings: Any) -> list[FunctionRule]:
    """The same rule for all tensors of all functions."""
    return [same_rule(f, **settings) for f in interface.functions if is_operator(f) and convertible(f)]


def run(command: Sequence[str | Path]) -> str:
    """Runs a command that must succeed."""
    finished = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert finished.returncode == 0, f"{' '.join(map(str, command))}\n{finished.stdout}{finished.stderr}"
    return finished.stdout


def preset() -> str:
    """The flavour of the libraries: the process that is run again under sanitizers loads theirs."""
    return "address" if SANITIZED else "plain"


def built_base() -> list[Path]:
    """The host runtime and the mock vendor, each as a shared library."""
    return [artefact("libdiopirt.so", preset()), artefact("adaptor/libadaptor_vendor.so", preset())]


def built_shims(name: str) -> Library:
    """The library of shims of this name in `shim_builds.BUILDS`, loaded over the mock vendor."""
    return Library(built_base(), artefact(f"adaptor/libshims_{name}.so", preset()))


def write(interface: Interface, resolved: ResolvedConfig, folder: Path) -> Path:
    """The shims' source."""
    folder.mkdir(parents=True, exist_ok=True)
    plan = emit_adaptors(interface, resolved, ROOT / "templates")
    for path in plan:
        (folder / path).write_bytes(plan[path])
    return folder / "adaptor.cpp"


class Size(ctypes.Structure):
    """diopiSize_t."""

    _fields_ = (("data", ctypes.POINTER(ctypes.c_int64)), ("len", ctypes.c_int64))


def size_of(values: Sequence[int]) -> Size:
    """A diopiSize_t over values that it keeps alive."""
    array = (ctypes.c_int64 * max(len(values), 1))(*values)
    size = Size(ctypes.cast(array, ctypes.POINTER(ctypes.c_int64)) if values else None, len(values))
    size._retained = array
    return size


_VALUE_TYPES = {
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "diopiSize_t": Size,
}


def argument_types(function: Function) -> list[Any]:
    """The ctypes types of the parameters: pointers and handles as addresses, enums as ints."""
    types: list[Any] = []
    for param in c_function(function).params:
        text = param.type.removeprefix("const ")
        if text.endswith(("*", "Handle_t")):
            types.append(ctypes.c_void_p)
        else:
            types.append(_VALUE_TYPES.get(text, ctypes.c_int))
    return types


@dataclass(frozen=True)
class Record:
    """A tensor as the mock operator received it."""

    name: str
    handle: int
    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor of the caller: a view in the middle of a storage that is `handle_of_storage`."""

    handle: int
    storage: int
    dtype: str
    size: tuple[int, ...]
    stride: tuple[int, ...]

    @property
    def count(self) -> int:
        count = 1
        for length in self.size:
            count *= length
        return count


class Library:
    """Shims with mock vendor and host, in this process."""

    def __init__(self, base: Sequence[Path], shims: Path) -> None:
        # As a framework does: the host is global, a library finds it when it is loaded.
        self.runtime = ctypes.CDLL(str(base[0]), mode=ctypes.RTLD_GLOBAL)
        self.vendor = ctypes.CDLL(str(base[1]))
        self.shims = ctypes.CDLL(str(shims))
        self.shims.diopiGetLastErrorString.restype = ctypes.c_char_p
        self.vendor.mock_failed.restype = ctypes.c_char_p
        for name in ("calls", "descriptions", "casts", "copies", "largest_allocation", "record_count"):
            getattr(self.vendor, f"mock_{name}").restype = ctypes.c_int64
        assert self.vendor.mock_initialise() == 0
        self.vendor.mock_reset()  # it is the same vendor for all libraries of the process
        self.context = self._created(self.runtime.diopiHostCreateContext)

    @staticmethod
    def _created(function: Any, *before: Any) -> Any:
        handle = ctypes.c_void_p()
        assert function(*before, ctypes.byref(handle)) == SUCCESS
        return handle

    @cached_property
    def last_error(self) -> Any:
        return lambda: self.shims.diopiGetLastErrorString().decode()

    def tensor(
        self,
        dtype: str,
        size: Sequence[int],
        stride: Sequence[int] | None = None,
        *,
        offset: int = 0,
        device: int = DEVICE,
    ) -> Tensor:
        """A tensor with guard space before and behind it."""
        if stride is None:
            stride, step = [], 1
            for length in reversed(size):
                stride.insert(0, step)
                step *= max(length, 1)
        reach = 0 if 0 in size else 1 + sum((length - 1) * each for length, each in zip(size, stride, strict=True))
        storage = ctypes.c_void_p()
        memory = size_of([reach + offset + 3])
        assert self.runtime.diopiHostCreateTensor(
            self.context, ctypes.byref(storage), ctypes.byref(memory), None, ctypes.c_int64(0),
            DTYPES.index(dtype), device,
        ) == SUCCESS  # fmt: skip
        handle = ctypes.c_void_p()
        sizes, strides = size_of(size), size_of(stride)
        assert self.runtime.diopiHostCreateView(
            ctypes.byref(handle), storage, ctypes.byref(sizes), ctypes.byref(strides), ctypes.c_int64(offset),
            DTYPES.index(dtype),
        ) == SUCCESS  # fmt: skip
        created = Tensor(handle.value or 0, storage.value or 0, dtype, tuple(size), tuple(stride))
        self.write(created, [0.0] * created.count)
        return created

    def destroy(self, tensor: Tensor) -> None:
        for handle in (tensor.handle, tensor.storage):
            assert self.runtime.diopiHostDestroyTensor(ctypes.c_void_p(handle)) == SUCCESS

    def write(self, tensor: Tensor, real: Sequence[float], imaginary: Sequence[float] | None = None) -> None:
        parts = [None if part is None else (ctypes.c_double * max(len(part), 1))(*part) for part in (real, imaginary)]
        self.vendor.mock_write(ctypes.c_void_p(tensor.handle), *parts)

    def read(self, handle: int, count: int) -> list[complex]:
        real, imaginary = (ctypes.c_double * max(count, 1))(), (ctypes.c_double * max(count, 1))()
        self.vendor.mock_read(ctypes.c_void_p(handle), real, imaginary)
        return [complex(re, im) for re, im in zip(real[:count], imaginary[:count], strict=True)]

    def values(self, tensor: Tensor) -> list[complex]:
        return self.read(tensor.handle, tensor.count)

    def memory(self, tensor: Tensor) -> bytes:
        """Every byte of the storage, guard space included."""
        count = ctypes.c_size_t()
        assert self.runtime.diopiGetTensorStorageNbytes(ctypes.c_void_p(tensor.storage), ctypes.byref(count)) == SUCCESS
        buffer = ctypes.create_string_buffer(max(count.value, 1))
        assert self.runtime.diopiHostCopyFromStorage(
            self.context, ctypes.c_void_p(tensor.storage), buffer, ctypes.c_uint64(count.value)
        ) == SUCCESS  # fmt: skip
        return buffer.raw[: count.value]

    def restore(self, tensor: Tensor, memory: bytes) -> None:
        assert self.runtime.diopiHostCopyToStorage(
            self.context, ctypes.c_void_p(tensor.storage), memory, ctypes.c_uint64(len(memory))
        ) == SUCCESS  # fmt: skip

    def temporaries(self) -> int:
        count = ctypes.c_int64()
        assert self.runtime.diopiHostGetTemporaryCount(self.context, ctypes.byref(count)) == SUCCESS
        return count.value

    def release(self, handle: int) -> None:
        assert self.runtime.diopiHostReleaseTemporary(self.context, ctypes.c_void_p(handle)) == SUCCESS

    def describe(self, handle: int) -> tuple[str, tuple[int, ...]]:
        """Dtype and shape of a handle."""
        dtype, size = ctypes.c_int(), Size()
        assert self.runtime.diopiGetTensorDtype(ctypes.c_void_p(handle), ctypes.byref(dtype)) == SUCCESS
        assert self.runtime.diopiGetTensorShape(ctypes.c_void_p(handle), ctypes.byref(size)) == SUCCESS
        return DTYPES[dtype.value], tuple(size.data[: size.len])

    def records(self) -> list[Record]:
        """Arguments that the last mock operator received."""
        found = []
        for index in range(self.vendor.mock_record_count()):
            name, handle = ctypes.c_char_p(), ctypes.c_void_p()
            dtype, rank = ctypes.c_int32(), ctypes.c_int64()
            size, stride = ctypes.POINTER(ctypes.c_int64)(), ctypes.POINTER(ctypes.c_int64)()
            self.vendor.mock_record(
                ctypes.c_int64(index), *map(ctypes.byref, (name, handle, dtype, rank, size, stride))
            )
            sizes = tuple(size[: rank.value]) if rank.value else ()
            strides = tuple(stride[: rank.value]) if rank.value else ()
            found.append(Record((name.value or b"").decode(), handle.value or 0, DTYPES[dtype.value], sizes, strides))
        return found

    def call(self, function: Function, arguments: dict[str, Any], *, direct: bool = False) -> int:
        """Calls the shim, or the vendor's function as it is. What is not named is null or zero."""
        library, name = (self.vendor, f"direct_{function.name}") if direct else (self.shims, function.name)
        target = getattr(library, name)
        target.argtypes = argument_types(function)
        values = []
        for param, c_type in zip(c_function(function).params, target.argtypes, strict=True):
            if param.name == "ctx":
                values.append(self.context)
            elif param.name in arguments:
                values.append(arguments[param.name])
            else:
                values.append(None if c_type is ctypes.c_void_p else c_type())
        return int(target(*values))
