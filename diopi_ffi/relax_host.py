"""Operators that the host computes between copies, and finding out which ones a library rejects."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from diopi_ffi.library import DEVICES, Library
from diopi_ffi.package import tvm_ffi
from diopi_ffi.relax_table import Planned, UnsupportedCallError, fields_of, results_of, shape_of

_FUNCTIONS = itertools.count()


def on_host(call: Any) -> Any:
    """A call of Relax compiled for the host, and called between copies."""
    import tvm
    from tvm import relax

    tensors: list[Any] = []
    inputs: list[Any] = []

    def taken(arg: Any) -> Any:
        """Replacement of an argument in the function of the host."""
        if isinstance(arg.ty, relax.TupleType):
            return relax.Tuple([taken(one) for one in fields_of(arg)])
        if not isinstance(arg.ty, relax.TensorType):
            return arg
        tensors.append(arg)
        inputs.append(relax.Var(f"x{len(inputs)}", arg.ty))
        return inputs[-1]

    arguments = [taken(arg) for arg in call.args]
    builder = relax.BlockBuilder()
    with builder.function("main", inputs):
        builder.emit_func_output(builder.emit(relax.Call(call.op, arguments, call.attrs, call.ty_args)))
    machine = relax.VirtualMachine(relax.build(builder.get(), target="llvm"), [tvm.cpu()])
    name = f"diopi.host.{next(_FUNCTIONS)}"
    tvm_ffi().register_global_func(name, _between_copies(machine["main"], len(tensors)), override=True)
    outs = results_of(call)
    return relax.call_dps_packed(name, tensors, outs if isinstance(call.ty, relax.TupleType) else outs[0])


def _between_copies(function: Callable[..., Any], count: int) -> Callable[..., None]:
    """A function of the host that takes `count` tensors of the device, and behind them those that it writes."""
    import tvm

    def called(*tensors: Any) -> None:
        host = [tvm.runtime.empty(tensor.shape, str(tensor.dtype), tvm.cpu()) for tensor in tensors[:count]]
        for target, source in zip(host, tensors[:count], strict=True):
            source.copyto(target)
        found = function(*host)
        for result, out in zip(found if len(tensors) - count > 1 else [found], tensors[count:], strict=True):
            result.copyto(out)

    return called


class Trial:
    """Calls operators once, on zeros, for what the spec does not tell: which calls a library rejects."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: dict[Any, str] = {}

    def require(self, planned: Planned, outs: Sequence[Any]) -> None:
        """Raises `UnsupportedCallError` with the message of a library that rejects the call."""
        destinations = [*((shape_of_type(out), str(out.dtype)) for out in outs), *planned.scratch]
        key = planned.function, tuple(map(_key, planned.arguments)), tuple((tuple(s), d) for s, d in destinations)
        if key not in self._known:
            self._known[key] = self._tried(planned, destinations)
        if self._known[key]:
            raise UnsupportedCallError(self._known[key])

    def _tried(self, planned: Planned, destinations: Sequence[tuple[Sequence[int], str]]) -> str:
        tensors = [self._argument(one) for one in planned.arguments]
        results = [self._zeros(*one) for one in destinations]
        try:
            self._library.packed(planned.function)(*tensors, *results)
            self._library.synchronize()
        except NotImplementedError as error:
            return str(error).partition("\n")[0]
        except (RuntimeError, ValueError):
            return ""  # zeros need not be legal values
        return ""

    def _argument(self, value: Any) -> Any:
        from tvm import relax

        if isinstance(value, relax.Expr) and isinstance(value.ty, relax.TupleType):
            return [self._argument(one) for one in fields_of(value)]
        return self._zeros(shape_of(value), str(value.ty.dtype)) if isinstance(value, relax.Expr) else value

    def _zeros(self, shape: Sequence[int], dtype: str) -> Any:
        tensor = self._library.empty(list(shape), dtype)
        size = tvm_ffi().dtype(dtype)
        count = -(-size.bits * size.lanes // 8)
        for length in shape:
            count *= length
        zeros = ctypes.create_string_buffer(count)
        on_device = self._library.device_type != DEVICES["cpu"]
        pointers = ctypes.c_void_p(tensor.data_ptr()), on_device, ctypes.c_void_p(ctypes.addressof(zeros)), False
        self._library.bound("diopi_copy")(*pointers, count)
        return tensor


def shape_of_type(kind: Any) -> list[int]:
    """The shape of a type of Relax. Raises `UnsupportedCallError` where it is not known."""
    from tvm import relax

    return shape_of(relax.Var("x", kind))


def _key(value: Any) -> Any:
    """Cache key of a trial."""
    from tvm import relax

    if isinstance(value, relax.Expr) and isinstance(value.ty, relax.TupleType):
        return tuple(_key(one) for one in fields_of(value))
    if isinstance(value, relax.Expr):
        return tuple(shape_of(value)), str(value.ty.dtype)
    return tuple(value) if isinstance(value, list) else (type(value), value)
