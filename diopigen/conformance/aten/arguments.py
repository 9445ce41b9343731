"""Arguments of a request as Python has them, parameter by parameter."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from diopigen.conformance.run.binding import Types
from diopigen.conformance.run.frames import Form
from diopigen.conformance.run.serving import ArgumentFields, Request
from diopigen.contract.dtypes import kind
from diopigen.header.signature import c_type
from diopigen.ir.aten import ROUNDING_MODES
from diopigen.ir.enumerators import dtype_codes
from diopigen.ir.model import Function, Interface, Parameter


class Reader:
    """Reads arguments of functions of the interface."""

    def __init__(self, interface: Interface) -> None:
        self.types = Types(interface)
        self.enums = {enum.name: {value.value: value.name for value in enum.values} for enum in interface.enums}
        self.dtypes = dtype_codes(interface)
        self.names = {code: name for name, code in self.dtypes.items()}

    def arguments(self, function: Function, request: Request) -> dict[str, ArgumentFields]:
        """The arguments by parameter."""
        skipped = 1 if function.context else 0
        fields = request.arguments[skipped:]
        return {param.name: one for param, one in zip(function.params, fields, strict=True)}

    def value(self, param: Parameter, fields: ArgumentFields, tensors: Sequence[Any]) -> Any:
        """The value of a parameter that is read: a tensor, a list of them, a number, a list of integers, a string."""
        form, value = fields.form, fields.value
        if form in (Form.NULL, Form.CONTEXT):
            return None
        if form == Form.TENSOR:
            return tensors[value]
        if form == Form.TENSORS:
            return [None if one < 0 else tensors[one] for one in value]
        if form == Form.SCALAR:
            code, content = value
            return self._number(self.names[code], content)
        if form in (Form.SIZE, Form.SIZE_POINTER):
            return list(value)
        if form == Form.TEXT:
            return value.decode()
        if form == Form.SLOT:
            pointed = self.types.pointed(c_type(param))
            return pointed.from_buffer_copy(value).value if len(value) else None
        return self._plain(param, value)

    def content_of(self, param: Parameter, number: Any) -> bytes:
        """A number as the bytes of what a parameter points to."""
        return bytes(self.types.pointed(c_type(param))(number))

    def _number(self, dtype: str, content: bytes) -> Any:
        if kind(dtype) == "float":
            return struct.unpack("<d", content)[0]
        number = struct.unpack("<q", content)[0]
        return bool(number) if kind(dtype) == "bool" else number

    def _plain(self, param: Parameter, value: Any) -> Any:
        if param.type == "bool":
            return bool(value)
        if param.type == "diopiRoundMode_t":
            return ROUNDING_MODES.get(self.enums[param.type].get(value, ""), "unknown")
        return value
