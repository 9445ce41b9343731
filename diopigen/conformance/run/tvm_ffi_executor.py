"""`python -m diopigen.conformance.run.tvm_ffi_executor INTERFACE PACKED`: the executor that calls the library through
packed functions of tvm-ffi. INTERFACE is the pickled interface, PACKED the library of packed functions."""

from __future__ import annotations

import ctypes
import pickle
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diopigen.conformance.run.binding import Host, HostError, ScalarStruct, Types, size_struct
from diopigen.conformance.run.frames import FOREIGN, MISSING, OWN, Answer, Form, TensorForm
from diopigen.conformance.run.memory import Arena
from diopigen.conformance.run.serving import ArgumentFields, HostFailure, Opened, OpenRequest, Request, serve
from diopigen.conformance.run.tvm_ffi_binding import FfiLibrary
from diopigen.diagnostics import Failure
from diopigen.header.signature import c_type
from diopigen.ir.enumerators import dtype_codes
from diopigen.ir.model import Interface, Parameter


class PackedCalls:
    """The library behind packed functions."""

    def __init__(self, interface: Interface, packed: Path) -> None:
        self.interface, self.packed = interface, packed
        self.types = Types(interface)
        self.functions = {function.name: function for function in interface.functions}

    def open(self, request: OpenRequest) -> Opened:
        """Opens the library."""
        try:
            self.host = Host(Path(request.runtime))
            self.library = FfiLibrary(Path(request.library), self.interface, self.host, self.packed)
        except (Failure, HostError, RuntimeError) as error:
            code = error.diagnostics[0].code if isinstance(error, Failure) else "library-init"
            raise HostFailure(code, str(error)) from None
        self.arena = Arena(self.host, dtype_codes(self.interface))
        self.names = request.functions
        states = [
            OWN if name in self.library.functions else FOREIGN if name in self.library.foreign else MISSING
            for name in self.names
        ]
        vendor, version = self.library.text("diopiGetVendorName"), self.library.text("diopiGetImplVersion")
        return Opened(vendor, version, bool(self.arena.device), states)

    def call(self, request: Request) -> Answer:
        """Makes a call."""
        try:
            return _Call(self, request).result()
        except HostError as error:
            raise HostFailure("host", str(error)) from None
        finally:
            self.arena.clear()

    def close(self) -> str:
        """Leaves the library."""
        self.arena.close()
        before = self.library.text("diopiGetLastErrorString")
        status = self.library.close()
        if not status:
            return ""
        said = self.library.text("diopiGetLastErrorString")
        return f"finalizeLibrary returns {status}, not 0" + (f" ({said})" if said and said != before else "")


class _Call:
    """One call through ctypes."""

    def __init__(self, calls: PackedCalls, request: Request) -> None:
        self.library, self.arena, self.request = calls.library, calls.arena, request
        self.name = calls.names[request.function]
        self.function, self.types = calls.functions[self.name], calls.types
        self.held: list[Any] = []
        self.slots: list[Any] = []
        self.fetched: list[Any] = []
        arena = self.arena
        self.storages = [arena.storage(content, on_host=on_host) for on_host, content in request.storages]
        self.tensors: list[ctypes.c_void_p] = []
        for one in request.tensors:
            if one.form == TensorForm.CSR:
                self.tensors.append(arena.csr(one.shape, [self.tensors[part] for part in one.parts]))
                continue
            dtype = arena.names[one.dtype]
            if one.form == TensorForm.ALONE:
                self.tensors.append(arena.alone(one.shape, one.strides, dtype, on_host=bool(one.base)))
            else:
                self.tensors.append(arena.view(self.storages[one.base], one.shape, one.strides, dtype, one.offset))
        self.generators = [arena.generator(seed, offset) for seed, offset in request.seeds]

    def result(self) -> Answer:
        """Makes the call, and frees its tensors."""
        try:
            params = [*([None] if self.function.context else []), *self.function.params]
            arguments = [self._argument(one, p) for one, p in zip(self.request.arguments, params, strict=True)]
            start = time.thread_time()
            status = self.library.functions[self.name](*arguments)
            late = self.arena.host.status("diopiHostSynchronize", self.arena.context) if status == 0 else 0
            seconds = time.thread_time() - start
            said = self.library.text("diopiGetLastErrorString") if status or late else ""
            answer = Answer(status, late, seconds, said)
            answer.storages = [
                self.arena.bytes_of(base, content.size)
                for base, (_, content) in zip(self.storages, self.request.storages, strict=True)
            ]
            answer.slots = [bytes(slot) for slot in self.slots]
            handles = [getattr(one, "value", one) for several in self.fetched for one in several]
            answer.allocated = [None if not one else self.arena.raw(one) for one in handles]
            answer.generators = [self.arena.state(one) for one in self.generators]
            return answer
        finally:
            for handle in [*reversed(self.tensors), *self.storages]:
                self.arena.host.call("diopiHostDestroyTensor", handle)

    def _argument(self, argument: ArgumentFields, param: Parameter | None) -> Any:
        form, value = argument.form, argument.value
        if form == Form.CONTEXT:
            return self.arena.context
        if form == Form.NULL:
            return None
        if form == Form.TENSOR:
            return self.tensors[value]
        if form == Form.GENERATOR:
            return self.generators[value]
        if form == Form.TENSORS:
            return self._handles([None if one < 0 else self.tensors[one].value for one in value])
        if form == Form.GENERATORS:
            return self._handles([one.value for one in self.generators])
        if form == Form.SIZE:
            return size_struct(value)
        if form == Form.SIZE_POINTER:
            return self._reference(size_struct(value))
        if form == Form.SCALAR:
            struct = ScalarStruct(value[0])
            ctypes.memmove(ctypes.addressof(struct) + ScalarStruct.value.offset, value[1], len(value[1]))
            return self._reference(struct)
        assert param is not None, "the context is the only argument that is no parameter"
        if form == Form.SLOT:
            return self._slot(value, self.types.pointed(c_type(param)), is_read=param.is_read)
        if form == Form.HANDLES:
            if param.type == "new_tensor":
                slot = ctypes.c_void_p()
                self.fetched.append([slot])
                return ctypes.byref(slot)
            array = (ctypes.c_void_p * value)()
            self.fetched.append(array)
            return ctypes.cast(array, ctypes.POINTER(ctypes.c_void_p))
        return self.types.of(c_type(param))(value).value if form == Form.INTEGER else value

    def _handles(self, handles: Sequence[int | None]) -> Any:
        array = (ctypes.c_void_p * len(handles))(*handles)
        self.held.append(array)
        return ctypes.cast(array, ctypes.POINTER(ctypes.c_void_p))

    def _reference(self, value: Any) -> Any:
        self.held.append(value)
        return ctypes.byref(value)

    def _slot(self, content: bytes, kind: Any, *, is_read: bool) -> Any:
        is_poisoned = kind is ctypes.c_bool and not is_read  # a byte that is no bool
        slot = (ctypes.c_uint8 if is_poisoned else kind).from_buffer_copy(content)
        self.slots.append(slot)
        reference = ctypes.byref(slot)
        return ctypes.cast(reference, ctypes.POINTER(ctypes.c_bool)) if is_poisoned else reference


def main() -> int:
    """Entry of the program."""
    interface = pickle.loads(Path(sys.argv[1]).read_bytes())
    return serve(PackedCalls(interface, Path(sys.argv[2])))


if __name__ == "__main__":
    sys.exit(main())
