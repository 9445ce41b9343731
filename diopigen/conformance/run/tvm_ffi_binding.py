"""The library under test called through packed functions of tvm-ffi: the same calls, each argument as an Any.

Tensors of the arena become tensors of DLPack over the same memory. What the packed function allocates is put into the
slots that the call has for it, so that the checks of the C binding hold for this one as they are.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diopigen.conformance.run.binding import Host, Library, ScalarStruct, SizeStruct, Types, load_shared, size_struct
from diopigen.conformance.run.tvm_ffi_library import require_installed
from diopigen.conformance.run.tvm_ffi_values import (
    CPU,
    NONE,
    PINNED,
    STATIC_OBJECT,
    TENSOR,
    Any_,
    DlTensor,
    Values,
    data_type,
    dl_tensor,
    items_of,
    message_of,
    tensor_of,
)
from diopigen.emit.tvm_ffi.arguments import is_choice, passed, returned
from diopigen.header.signature import c_type
from diopigen.ir.enumerators import dtype_codes, enumerators
from diopigen.ir.model import Function, Interface, Parameter

_SAFE_CALL = (ctypes.c_void_p, ctypes.POINTER(Any_), ctypes.c_int32, ctypes.POINTER(Any_))
_STATUS = re.compile(r"\w+: (diopi\w+): ?(.*)", re.DOTALL)


class FfiLibrary(Library):
    """The kernel library behind packed functions."""

    def __init__(self, path: Path, interface: Interface, host: Host, packed: Path) -> None:
        """`packed` is libdiopi_tvm_ffi.so."""
        super().__init__(path, Types(interface), interface.functions)
        self._ffi = load_shared(require_installed().library, "the library of tvm-ffi", os.RTLD_GLOBAL | os.RTLD_NOW)
        self._packed = load_shared(packed, "the library of packed functions", os.RTLD_LOCAL | os.RTLD_NOW)
        self._host = host
        self._failure = ""
        values = enumerators(interface)
        self._statuses = {name: value for name, value in values.items() if name.startswith("diopi") and "_" not in name}
        self._codes = dtype_codes(interface)
        self._dtypes = {code: name for name, code in self._codes.items()}
        opened = self.call("diopi_open", *_opening(path))
        self._handle = opened.v_ptr
        self._device_type = int(self.call("diopi_device_type", Values().pointer(self._handle)).v_int64)
        self._results: list[Any_] = []
        self._views: list[ctypes.c_void_p] = []
        self.functions = {
            name: self._target(function)
            for function in interface.functions
            if (name := function.name) in self.functions and hasattr(self._packed, f"__tvm_ffi_{name}")
        }

    def text(self, name: str) -> str:
        """As for the library, but for errors that the packed function raised by itself."""
        if name == "diopiGetLastErrorString" and self._failure:
            return self._failure
        return super().text(name)

    def call(self, name: str, *arguments: Any_) -> Any_:
        """Calls a packed function. Raises `RuntimeError` with the message of its error."""
        function = getattr(self._packed, f"__tvm_ffi_{name}")
        function.argtypes, function.restype = list(_SAFE_CALL), ctypes.c_int
        result = Any_(NONE)
        if function(None, (Any_ * len(arguments))(*arguments), len(arguments), ctypes.byref(result)) != 0:
            raise RuntimeError(self._raised())
        return result

    def _raised(self) -> str:
        """The message of the error that a safe call left behind."""
        error = ctypes.c_void_p()
        self._ffi.TVMFFIErrorMoveFromRaised(ctypes.byref(error))
        if not error.value:
            return "an error without a message"
        message = message_of(error.value)[1]
        self._ffi.TVMFFIObjectDecRef(error)
        return message

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _target(self, function: Function) -> Callable[..., int]:
        """A callable that takes what the C function takes, and returns its status."""
        safe_call = getattr(self._packed, f"__tvm_ffi_{function.name}")
        safe_call.argtypes, safe_call.restype = list(_SAFE_CALL), ctypes.c_int
        order, results = passed(function), returned(function)
        names = [*(["ctx"] if function.context else []), *(param.name for param in function.params)]

        def target(*arguments: Any) -> int:
            self._clear()
            values, by_name = Values(), dict(zip(names, arguments, strict=True))
            packed = [self._value(values, param, by_name) for param in order]
            result = Any_(NONE)
            self._failure = ""
            code = safe_call(self._handle, (Any_ * len(packed))(*packed), len(packed), ctypes.byref(result))
            status = 0 if code == 0 else self._status()
            if code == 0 and results:
                self._results.append(result)
                several = [result] if len(results) == 1 else items_of(result)
                for param, one in zip(results, several, strict=True):
                    self._store(param, one, by_name[param.name])
            late = 0 if code != 0 else self._late()
            return status or late

        return target

    def _late(self) -> int:
        """The status of work that was enqueued."""
        try:
            self.call("diopi_synchronize", Values().pointer(self._handle))
        except RuntimeError as error:
            self._failure = str(error)
            return self._statuses["diopiErrorOccurred"]
        return 0

    def _status(self) -> int:
        message = self._raised()
        matched = _STATUS.match(message)
        if matched is not None and matched[1] in self._statuses:
            return self._statuses[matched[1]]
        self._failure = message
        return self._statuses["diopiErrorOccurred"]

    def _value(self, values: Values, param: Parameter, by_name: dict[str, Any]) -> Any_:
        argument = by_name[param.name]
        if is_choice(param):
            return values.boolean(argument is not None)
        if argument is None:
            return values.none()
        pointed = getattr(argument, "_obj", argument)
        if param.type == "tensor":
            return self._tensor(values, _address(argument))
        if param.type in ("tensors", "generators"):
            handles = [argument[k] for k in range(self._count(param, by_name))]
            if param.type == "generators":
                return values.array([values.pointer(handle) for handle in handles])
            return values.array([self._tensor(values, handle) for handle in handles])
        if param.type in ("generator", "opaque"):
            return values.pointer(_address(argument))
        if isinstance(pointed, ScalarStruct):
            return self._scalar(values, pointed)
        if isinstance(pointed, SizeStruct):
            numbers = pointed.data[: pointed.len] if pointed.len > 0 else []
            return values.shape(numbers)
        if isinstance(pointed, bytes):
            return values.text(pointed)
        number = getattr(pointed, "value", pointed)
        if isinstance(number, bool):
            return values.boolean(number)
        return values.real(number) if isinstance(number, float) else values.integer(int(number))

    def _count(self, param: Parameter, by_name: dict[str, Any]) -> int:
        count = by_name[param.count] if isinstance(param.count, str) else param.count
        content: Any = getattr(count, "_obj", count)
        return int(getattr(content, "value", content))

    def _scalar(self, values: Values, scalar: ScalarStruct) -> Any_:
        name = self._dtypes[scalar.stype]
        number = values.real(scalar.fval) if "float" in name else values.integer(scalar.ival)
        plain = {"float64": number, "int64": number, "bool": values.boolean(bool(scalar.ival))}
        return plain[name] if name in plain else values.array([number, values.dtype(name)])

    def _tensor(self, values: Values, handle: int | None) -> Any_:
        """The tensor behind a handle as a view of DLPack; a sparse one stays a handle."""
        if not handle:
            return values.none()
        size, steps = SizeStruct(), SizeStruct()
        if self._host.status("diopiGetTensorStride", handle, ctypes.byref(steps)) != 0:
            return values.pointer(handle)
        dtype, device, data = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
        self._host.call("diopiGetTensorShape", handle, ctypes.byref(size))
        self._host.call("diopiGetTensorDtype", handle, ctypes.byref(dtype))
        self._host.call("diopiGetTensorDevice", handle, ctypes.byref(device))
        self._host.call("diopiGetTensorData", handle, ctypes.byref(data))
        on_host = CPU if self._device_type != CPU else PINNED
        where = self._device_type if device.value else on_host
        shape, strides = size.data[: size.len], steps.data[: steps.len]
        return values.tensor(dl_tensor(data.value, where, self._dtypes[dtype.value], shape, strides))

    # ---- results ----------------------------------------------------------------------------------------------------

    def _store(self, param: Parameter, result: Any_, argument: Any) -> None:
        """Writes a result where the C function would have written it."""
        if argument is None:
            return
        if param.type == "new_tensor":
            argument._obj.value = self._wrapped(result)
        elif param.type == "new_tensors":
            slots = ctypes.cast(argument, ctypes.POINTER(ctypes.c_void_p))
            for k, item in enumerate(items_of(result)):
                slots[k] = self._wrapped(item)
        else:
            content = argument._obj if hasattr(argument, "_obj") else argument.contents
            content.value = result.v_float64 if c_type(param).startswith("double") else result.v_int64

    def _wrapped(self, result: Any_) -> int | None:
        """A handle over a tensor that the packed function returned; it lives until the next call."""
        if result.type_index != TENSOR:
            return None
        tensor: DlTensor = tensor_of(result)
        shape, strides = tensor.shape[: tensor.ndim], tensor.strides[: tensor.ndim]
        code = next(code for name, code in self._codes.items() if _is(name, tensor))
        extent = 0 if 0 in shape else 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        size, steps = size_struct(shape), size_struct(strides)
        handle, context = ctypes.c_void_p(), self._own_context()
        arguments = (ctypes.byref(size), ctypes.byref(steps), 0, code, int(tensor.device_type == self._device_type))
        data, count = tensor.data, extent * tensor.dtype.bits // 8
        self._host.call("diopiHostWrapMemory", context, ctypes.byref(handle), data, count, *arguments)
        self._views.append(handle)
        return _address(handle)

    def _own_context(self) -> ctypes.c_void_p:
        if not hasattr(self, "_context"):
            self._context = ctypes.c_void_p()
            self._host.call("diopiHostCreateContext", ctypes.byref(self._context))
        return self._context

    def _clear(self) -> None:
        """Frees what the last call returned."""
        for handle in self._views:
            self._host.call("diopiHostDestroyTensor", handle)
        for result in self._results:
            if result.type_index >= STATIC_OBJECT:
                self._ffi.TVMFFIObjectDecRef(ctypes.c_void_p(result.v_ptr))
        self._views.clear()
        self._results.clear()

    def close(self) -> int:
        """Frees what the last call returned, and leaves the library."""
        self._clear()
        if hasattr(self, "_context"):
            self._host.call("diopiHostDestroyContext", self._context)
        return super().close()


def _opening(path: Path) -> Sequence[Any_]:
    """The arguments of `diopi_open` for a library that is initialised."""
    values = Values()
    _held.append(values)
    return values.text(str(path.resolve()).encode()), values.integer(0), values.boolean(False)


_held: list[Values] = []


def _address(handle: Any) -> int | None:
    address: int | None = getattr(handle, "value", handle)
    return address


def _is(name: str, tensor: DlTensor) -> bool:
    try:
        found = data_type(name)
    except KeyError:
        return False
    return bytes(found) == bytes(tensor.dtype)
