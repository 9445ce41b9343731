"""The C++ that forwards every function of an interface through lab/native, where faults are injected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diopigen.conformance.cases.suite import tested
from diopigen.emit.c_text import declarator
from diopigen.emit.templates import render
from diopigen.header.signature import c_params, c_type
from diopigen.ir.model import Function, Interface, Parameter

_TYPES = {
    "diopiTensorHandle_t": "tensor",
    "diopiConstTensorHandle_t": "tensor",
    "diopiScalar_t *": "scalar",
    "diopiSize_t": "sizes",
    "diopiSize_t *": "sizesPointer",
    "bool": "boolean",
    "int": "int32",
    "int32_t": "int32",
    "int64_t": "int64",
    "float": "float32",
    "double": "float64",
    "char *": "text",
    "diopiGeneratorHandle_t": "generator",
}
"""The words of `lab/native/signature.h` for C types, where the type says enough."""
_KINDS = {"tensors": "tensors", "new_tensor": "newTensor", "new_tensors": "newTensors", "generators": "generators"}
_ROLES = {"in": "in", "inout": "inout", "out": "out", "partial_out": "partialOut"}


_TEMPLATES = Path(__file__).resolve().parents[1] / "templates"


def forwarding(interface: Interface) -> bytes:
    """The source of the wrappers and of the table of signatures."""
    enums = {enum.name for enum in interface.enums}
    values = {
        "headers": [header.file for header in interface.headers if header.functions],
        "functions": [_function(function, enums) for function in tested(interface)],
    }
    return render(_TEMPLATES, "forward.cpp.j2", values)


def _function(function: Function, enums: set[str]) -> dict[str, Any]:
    names = [param.name or f"unnamed{index}" for index, param in enumerate(c_params(function))]
    own = names[1:] if function.context else names
    declared = [declarator(_by_value(param.type), name) for param, name in zip(c_params(function), names, strict=True)]
    return {
        "name": function.short_name,
        "family": function.family,
        "parameters": [_parameter(param, function.params, enums) for param in function.params],
        "head": f"diopiError_t {function.name}({', '.join(declared)})",
        "addresses": [f"const_cast<void*>(static_cast<const void*>(&{name}))" for name in own],
        "context": names[0] if function.context else "nullptr",
        "arguments": names,
    }


def _by_value(c_type: str) -> str:
    """The type without the const of an argument that is passed by value: the wrapper may exchange it."""
    return c_type if "*" in c_type else c_type.removeprefix("const ")


def _parameter(param: Parameter, params: Sequence[Parameter], enums: set[str]) -> dict[str, Any]:
    known = _TYPES.get(c_type(param).removeprefix("const "), "choice" if param.type in enums else "other")
    counter = next((index for index, other in enumerate(params) if other.name == param.count), -1)
    return {
        "name": param.name,
        "type": _KINDS.get(param.type, known),
        "role": _ROLES[param.direction],
        "counter": counter,
        "count": param.count if isinstance(param.count, int) else 0,
    }
