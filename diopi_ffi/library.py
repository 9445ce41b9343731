"""A kernel library, opened at run time: its operators are methods."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from diopi_ffi.generator import Generator
from diopi_ffi.operator import Operator
from diopi_ffi.operators import Operators
from diopi_ffi.package import tvm_ffi
from diopigen import api
from diopigen.conformance.run.host_runtime import host_runtime
from diopigen.conformance.run.locate import library_and_runtime, packed_library
from diopigen.conformance.run.tvm_ffi_library import require_installed, tvm_ffi_library
from diopigen.diagnostics import Failure, Sink, did_you_mean
from diopigen.emit.entry.functions import kernel_name
from diopigen.emit.operands import is_operator
from diopigen.ir.model import Function, Interface
from diopigen.output import cache as cached
from diopigen.package import package_data

DEVICES = {"cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "rocm": 10, "ext_dev": 12, "oneapi": 14}
"""DLPack's numbers of devices by name."""


_numbers = itertools.count()
"""Of the libraries of this process: names of functions that are registered for one hold it."""


def load(path: str | os.PathLike[str], *, runtime: str | None = None, device: str | None = None) -> Library:
    """Opens a library. `runtime` names libdiopirt.so, which is otherwise searched for near the library, and built where
    there is none. `device` is what DLPack calls its memory (`cuda`); without it `cpu` where the host can read it, else
    `ext_dev`.

    Raises `ImportError` without apache-tvm-ffi, `OSError` where the library does not load, and
    `diopigen.diagnostics.Failure` where a file is missing or cannot be built.
    """
    return Library(path, runtime, device)


class Library(Operators):
    """A library. `library.softmax(x, dim=-1)` calls diopiSoftmax; `dir(library)` lists the operators, and
    `help(library.softmax)` shows one.

    Calls of one library from several threads are independent of each other.
    """

    def __init__(self, path: str | os.PathLike[str], runtime: str | None = None, device: str | None = None) -> None:
        tvm_ffi()
        if device is not None and device not in DEVICES:
            raise ValueError(f"there is no device '{device}': {', '.join(DEVICES)}")
        where = api.workspace(None)
        self.interface = _interface(where)
        library, host = library_and_runtime(
            os.fspath(path), runtime, lambda: host_runtime(self.interface, where.templates)
        )
        packed = (packed_library(library) or _packed(where)).resolve()
        _open_in_host(host.resolve(), packed)
        self.module = tvm_ffi().load_module(str(packed))
        self.path = library.resolve()
        self._handle = self.module["diopi_open"](str(self.path), DEVICES.get(device or "", 0), True)
        self.device_type: int = self.module["diopi_device_type"](self._handle)
        self.device_id: int = self.module["diopi_device_id"](self._handle)
        self._functions = _by_method(where)
        self._operators: dict[str, Operator] = {}
        self._default_generator: Generator | None = None
        self.number = next(_numbers)

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("_"):
            raise AttributeError(name)
        function = self._functions.get(name)
        if function is None:
            hint = did_you_mean(name, list(self._functions))
            raise AttributeError(f"there is no operator '{name}'" + (f"; {hint}" if hint else ""))
        operator = Operator(self, function)
        setattr(self, name, operator)
        return operator

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for name, found in self._functions.items() if self.has(found.name))]

    def __repr__(self) -> str:
        return f"<diopi_ffi.Library {self.path}>"

    def has(self, name: str) -> bool:
        """Returns whether the library has a function, named as in C: `diopiSoftmax`."""
        return bool(self.module["diopi_has"](self._handle, name))

    def packed(self, name: str) -> Any:
        """The packed function behind an operator, bound to this library: tensors that it writes come last, and nothing
        is allocated. TVM calls these. `name` is as in C: `diopiSoftmax`."""
        return self.module["diopi_function"](self._handle, name)

    def bound(self, name: str) -> Any:
        """A function of the library of packed functions that takes the library first, as a function of the rest."""
        function, handle = self.module[name], self._handle
        return lambda *arguments: function(handle, *arguments)

    def empty(self, shape: Sequence[int], dtype: str) -> Any:
        """A tensor of tvm_ffi in the memory of the library's device; its elements are undefined."""
        return self.module["diopi_empty"](self._handle, list(shape), tvm_ffi().dtype(dtype))

    def generator(self, seed: int = 0, offset: int = 0) -> Generator:
        """A random generator."""
        return Generator(self.module, seed, offset)

    def manual_seed(self, seed: int) -> None:
        """Seeds the generator that is used where a call has none; its seed is 0 at first."""
        self._default_generator = self.generator(seed)

    def default_generator(self) -> Generator:
        """The generator that is used where a call has none."""
        if self._default_generator is None:
            self._default_generator = self.generator()
        return self._default_generator

    def synchronize(self) -> None:
        """Waits for the work of the calling thread. Operators called as methods have waited."""
        self.module["diopi_synchronize"](self._handle)

    def runs_apart(self) -> bool:
        """Returns whether operators run on streams of a device, and not before the call returns."""
        return self.device_type != DEVICES["cpu"]


@cache
def _interface(where: api.Workspace) -> Interface:
    """The interface, which is cached under a digest of what it follows from."""
    try:
        key = cached.key_of((where.spec,), ("diopi_ffi", where.spec_name))
    except OSError:
        key = ""
    known: Interface | None = cached.read("diopi_ffi", key) if key else None
    if known is not None:
        return known
    sink = Sink()
    interface = api.load(where, sink, check=False).interface.settled()
    if sink.has_errors:
        raise Failure(*sink.sorted())
    if key:
        cached.write("diopi_ffi", key, interface)
    return interface


def _open_in_host(host: Path, library: Path) -> None:
    """Loads a library that finds the functions of this host, which others of the process do not: a backend for PyTorch
    has such functions as well. Raises `OSError`."""
    # Where those of another host are in the global scope, this one's calls of its own would reach them.
    is_taken = hasattr(ctypes.CDLL(None), "diopiGetTensorData")
    runtime = ctypes.CDLL(str(host), mode=os.RTLD_LOCAL | os.RTLD_NOW | (os.RTLD_DEEPBIND if is_taken else 0))
    if not hasattr(runtime, "diopiHostOpenLibrary"):
        raise OSError(f"{host} is of an older diopigen than diopi_ffi: build it again")
    if runtime.diopiHostOpenLibrary(os.fsencode(library), ctypes.byref(ctypes.c_void_p())):
        text = ctypes.c_char_p()
        runtime.diopiHostGetLastErrorText(ctypes.byref(text))
        raise OSError((text.value or b"").decode())


@cache
def _packed(where: api.Workspace) -> Path:
    """The library of packed functions, built where no other is there. Where it is, is cached: to know what it is built
    from takes longer than to load it."""
    header = require_installed().include / "tvm/ffi/c_api.h"
    folders = (where.spec, where.templates, package_data("runtime") / "tvm_ffi", package_data("runtime") / "include")
    try:
        words = (str(header), sha256(header.read_bytes()).hexdigest(), os.environ.get("CXX", ""))
        key = cached.key_of(folders, words)
    except OSError:
        key = ""
    known: Path | None = cached.read("diopi_ffi_library", key) if key else None
    if known is not None and known.is_file():
        return known
    built = tvm_ffi_library(_interface(where), where.templates)
    if key:
        cached.write("diopi_ffi_library", key, built)
    return built


@cache
def _by_method(where: api.Workspace) -> dict[str, Function]:
    """The operators by the names of their methods."""
    return {kernel_name(function): function for function in _interface(where).functions if is_operator(function)}
