"""The C functions of the interface and of the host runtime, called through ctypes. Signatures come from the IR."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from diopigen.diagnostics import failure
from diopigen.header.signature import c_params
from diopigen.ir.model import Function, Interface
from diopigen.vendor.elf import read_symbols


class SizeStruct(ctypes.Structure):
    """diopiSize_t: a borrowed list of integers."""

    _fields_ = (("data", ctypes.POINTER(ctypes.c_int64)), ("len", ctypes.c_int64))


class _ScalarUnion(ctypes.Union):
    _fields_ = (("fval", ctypes.c_double), ("ival", ctypes.c_int64))


class ScalarStruct(ctypes.Structure):
    """diopiScalar_t: a number that knows its dtype."""

    _anonymous_ = ("value",)
    _fields_ = (("stype", ctypes.c_int), ("value", _ScalarUnion))


_C_TYPES: dict[str, Any] = {
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "int8_t": ctypes.c_int8,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "diopiSize_t": SizeStruct,
    "diopiScalar_t": ScalarStruct,
}


class Types:
    """C types of an interface as ctypes."""

    def __init__(self, interface: Interface) -> None:
        self.named: dict[str, Any] = dict(_C_TYPES)
        self.named.update({enum.name: ctypes.c_int for enum in interface.enums})
        for struct in interface.structs:  # bytes, where nothing here reads the members
            self.named.setdefault(struct.name, ctypes.c_char * struct.size)
        for handle in interface.handles:
            words = handle.c_type.replace("*", " * ").split()
            self.named[handle.name] = ctypes.c_void_p if "*" in words else self.named.get(words[0], ctypes.c_int)

    def of(self, c_type: str) -> Any:
        """The ctypes type of a C type in canonical spelling. Raises `KeyError` for an unknown name."""
        words = [word for word in c_type.replace("*", " * ").split() if word != "const"]
        stars = words.count("*")
        if words[0] == "char":
            return ctypes.c_char_p if stars == 1 else ctypes.POINTER(ctypes.c_char_p)
        if words[0] == "void":
            return ctypes.c_void_p if stars == 1 else ctypes.POINTER(ctypes.c_void_p)
        found = self.named[words[0]]
        return ctypes.POINTER(found) if stars else found

    def pointed(self, c_type: str) -> Any:
        """Target type of a pointer type."""
        return self.of(c_type.rstrip().removesuffix("*"))

    def arguments(self, function: Function) -> list[Any]:
        """The argtypes of a function, the context included."""
        return [self.of(param.type) for param in c_params(function)]


def size_struct(values: Sequence[int]) -> SizeStruct:
    """A diopiSize_t over a copy of the values; the struct keeps the copy alive."""
    if not values:
        return SizeStruct(None, 0)
    data = (ctypes.c_int64 * len(values))(*values)
    return SizeStruct(ctypes.cast(data, ctypes.POINTER(ctypes.c_int64)), len(values))


_POINTER = ctypes.POINTER(ctypes.c_void_p)
_SIZE = ctypes.POINTER(SizeStruct)
_HOST: dict[str, tuple[Any, ...]] = {
    "diopiHostCreateContext": (_POINTER,),
    "diopiHostDestroyContext": (ctypes.c_void_p,),
    "diopiHostSynchronize": (ctypes.c_void_p,),
    "diopiHostGetTemporaryCount": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)),
    "diopiHostReleaseTemporary": (ctypes.c_void_p, ctypes.c_void_p),
    "diopiHostCreateTensor": (
        ctypes.c_void_p, _POINTER, _SIZE, _SIZE, ctypes.c_int64, ctypes.c_int, ctypes.c_int,
    ),
    "diopiHostCreateView": (_POINTER, ctypes.c_void_p, _SIZE, _SIZE, ctypes.c_int64, ctypes.c_int),
    "diopiHostWrapMemory": (
        ctypes.c_void_p, _POINTER, ctypes.c_void_p, ctypes.c_uint64, _SIZE, _SIZE, ctypes.c_int64, ctypes.c_int,
        ctypes.c_int,
    ),
    "diopiHostCreateSparseCsr": (_POINTER, _SIZE, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
    "diopiHostDestroyTensor": (ctypes.c_void_p,),
    "diopiHostCopyToStorage": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64),
    "diopiHostCopyFromStorage": (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64),
    "diopiHostCreateGenerator": (_POINTER, ctypes.c_uint64, ctypes.c_uint64),
    "diopiHostDestroyGenerator": (ctypes.c_void_p,),
    "diopiHostGetLastErrorText": (ctypes.POINTER(ctypes.c_char_p),),
    "diopiGetTensorShape": (ctypes.c_void_p, _SIZE),
    "diopiGetTensorStride": (ctypes.c_void_p, _SIZE),
    "diopiGetTensorDtype": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)),
    "diopiGetTensorDevice": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)),
    "diopiGetTensorData": (ctypes.c_void_p, _POINTER),
    "diopiGetTensorStorageNbytes": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)),
    "diopiGetTensorStorageOffset": (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64)),
    "diopiGeneratorSetSeedAndOffset": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64),
    "diopiGeneratorGetSeedAndOffset": (
        ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64),
    ),
}  # fmt: skip


class HostError(Exception):
    """A function of the host runtime failed: a fault of the suite or of the device, not of the operator."""


class Host:
    """The host's side of the runtime: libdiopirt.so, loaded so that a kernel library finds its symbols."""

    def __init__(self, runtime: Path) -> None:
        self.library = load_shared(runtime, "the host runtime", os.RTLD_GLOBAL | os.RTLD_NOW)
        self.functions: dict[str, Any] = {}
        for name, types in _HOST.items():
            try:
                function = getattr(self.library, name)
            except AttributeError:
                fix = "build the host runtime of this version of diopigen"
                raise failure("runtime-incomplete", f"{runtime} has no {name}", fix=fix) from None
            function.argtypes = list(types)
            function.restype = ctypes.c_int
            self.functions[name] = function

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a host function. Raises `HostError` with the runtime's text where it does not succeed."""
        status = self.functions[name](*arguments)
        if status != 0:
            raise HostError(f"{name} returns status {status}: {self.error_text()}")

    def status(self, name: str, *arguments: Any) -> int:
        """Calls a host function and gives its status."""
        return int(self.functions[name](*arguments))

    def error_text(self) -> str:
        """Text of the latest failure in the runtime."""
        text = ctypes.c_char_p()
        self.functions["diopiHostGetLastErrorText"](ctypes.byref(text))
        return (text.value or b"").decode(errors="replace")


class Library:
    """The kernel library under test. `initLibrary` is called where it is exported, `close` calls `finalizeLibrary`.

    `functions` are those that the library itself defines, `foreign` those that only libraries define which it needs.
    """

    def __init__(self, path: Path, types: Types, functions: Iterable[Function]) -> None:
        self.library = load_shared(path, "the library under test", os.RTLD_LOCAL | os.RTLD_NOW)
        self.functions: dict[str, Any] = {}
        self.foreign: set[str] = set()
        own = read_symbols(path).defined
        for function in functions:
            found = self._symbol(function.name)
            if found is not None and function.name not in own:
                self.foreign.add(function.name)
            elif found is not None:
                found.argtypes = types.arguments(function)
                found.restype = ctypes.c_char_p if function.returns == "string" else ctypes.c_int
                self.functions[function.name] = found
        start = self._symbol("initLibrary")
        if start is not None and start() != 0:
            text = self.text("diopiGetLastErrorString")
            message = f"initLibrary of {path} failed{': ' + text if text else ''}"
            raise failure("library-init", message, fix="fix the library's initialisation")

    def _symbol(self, name: str) -> Any:
        try:
            return self.library[name]
        except AttributeError:
            return None

    def text(self, name: str) -> str:
        """Result of a function without parameters, such as diopiGetVendorName; empty if it is missing."""
        found = self._symbol(name)
        if found is None:
            return ""
        found.argtypes, found.restype = [], ctypes.c_char_p
        return (found() or b"").decode(errors="replace")

    def close(self) -> int:
        """Calls finalizeLibrary where it is exported; its status, 0 where all is well or there is no such function."""
        end = self._symbol("finalizeLibrary")
        if end is None:
            return 0
        end.argtypes, end.restype = [], ctypes.c_int32
        return int(end())


def load_shared(path: Path, what: str, mode: int) -> ctypes.CDLL:
    """A shared library. Raises `Failure` where it does not exist or does not load."""
    if not path.is_file():
        raise failure("library-missing", f"{what} '{path}' does not exist", fix="build it, or name another file")
    try:
        return ctypes.CDLL(str(path.resolve()), mode=mode)
    except OSError as error:
        fix = "look for undefined symbols and missing libraries with ldd"
        raise failure("library-unloadable", f"{what} '{path}' does not load: {error}", fix=fix) from None
