"""The packed functions: each reads its arguments, calls the library's function, and raises its status as an error."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.operands import is_operator
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import by_family, family_values, spec_files
from diopigen.emit.templates import render
from diopigen.emit.tvm_ffi.arguments import is_choice, passed, returned, value_type
from diopigen.emit.tvm_ffi.stubs import method_text
from diopigen.header.signature import c_type
from diopigen.ir.model import Function, Interface, Parameter

TARGET = "tvm_ffi"
RESERVED = frozenset({"Operator", "args", "arity", "call", "ffi", "handle", "result"})
"""Names that the functions use; no parameter of the interface may have them."""

_INDENT = " " * 4
_BY_METHOD = {"tensor": "tensor", "tensors": "tensors", "generator": "generator", "generators": "generators",
              "opaque": "opaque"}  # fmt: skip
_BY_CLASS = {"scalar": "Scalar", "sizes": "Sizes", "string": "Text"}
_LISTS = ("tensors", "generators")


def _declaration(param: Parameter, index: int | None) -> str:
    """The local variable that holds an argument, or room for a result."""
    name = param.name
    if index is None or is_choice(param):
        if param.type == "new_tensors":
            return f"ffi::Tensors {name}({param.count});"
        return (
            f"diopiTensorHandle_t {name} = nullptr;"
            if param.type == "new_tensor"
            else f"{value_type(param)} {name}{{}};"
        )
    location = f'{index}, "{name}"'
    if param.type in _BY_METHOD:
        const = "" if param.type in _LISTS else "const "
        return f"{const}auto {name} = call.{_BY_METHOD[param.type]}({location});"
    if param.type in _BY_CLASS:
        const = "" if param.mutable else "const "
        return f"{const}ffi::{_BY_CLASS[param.type]} {name}(call.argument({location}));"
    if param.is_written:
        return f"auto {name} = call.number<{value_type(param)}>({location});"
    if c_type(param).endswith("*"):
        return f"const ffi::Optional<{value_type(param)}> {name}(call.argument({location}));"
    return f"const auto {name} = call.number<{value_type(param)}>({location});"


def _value(param: Parameter, index: int | None) -> str:
    """The argument of the C function."""
    if is_choice(param):
        return f'call.is_wanted({index}, "{param.name}") ? &{param.name} : nullptr'
    by_value = param.type in (*_BY_METHOD, *_BY_CLASS, "new_tensors")
    return f"&{param.name}" if param.is_written and not by_value else param.name


def function_text(function: Function) -> str:
    """The packed function of an operator."""
    indices = {param.name: index for index, param in enumerate(passed(function))}
    name = f"ffi::Function::k{function.short_name}"
    parameters = ["void* handle", "const TVMFFIAny* args", "int32_t arity", "TVMFFIAny* result"]
    lines = call_lines(f"TVM_FFI_DLL_EXPORT int __tvm_ffi_{function.name}", parameters, " {").split("\n")
    body = [f"ffi::Call call({name}, handle, args, arity, {len(indices)}, result);"]
    in_order = sorted(function.params, key=lambda param: indices.get(param.name, len(indices)))
    body += [_declaration(param, indices.get(param.name)) for param in in_order]
    body += [
        f'call.require_entries({param.name}, {param.count}, "{param.name}");'
        for param in function.params
        if param.type in _LISTS
    ]
    values = [_value(param, indices.get(param.name)) for param in function.params]
    body.insert(0, f"using Operator = decltype(&{function.name});")
    body += call_lines("call.run<Operator>", values, ";", COLUMNS - 2 * len(_INDENT)).split("\n")
    body += [f"call.returns({param.name});" for param in returned(function)]
    if returned(function):
        body.append("call.finish();")
    lines.append(f"{_INDENT}return ffi::guarded(ffi::name_of({name}), [&] {{")
    lines += [_INDENT * 2 + line for line in body]
    lines += [f"{_INDENT}}});", "}"]
    return "\n".join(lines)


def emit(interface: Interface, templates: Path) -> Plan:
    """`tvm_ffi/<family>.cpp` with the packed functions, and `tvm_ffi/packed_functions.{h,cpp}` with the list of all."""
    functions = [function for function in interface.functions if is_operator(function)]
    files = []
    for family, members in by_family(functions).items():
        template = "tvm_ffi/family.cpp.j2"
        values = {
            **family_values(interface, family, members),
            "functions": [function_text(function) for function in members],
        }
        inputs = (*spec_files(interface, members), "specs/types.yaml", f"templates/{template}")
        files.append(PlannedFile(f"tvm_ffi/{family}.cpp", render(templates, template, values), inputs, TARGET))
    error = interface.enum("diopiError_t")
    values = {
        "functions": functions,
        "statuses": [value.name for value in error.values] if error is not None else [],
    }
    for suffix in ("h", "cpp"):
        listing = f"tvm_ffi/packed_functions.{suffix}"
        template = f"{listing}.j2"
        inputs = (*spec_files(interface, functions), "specs/types.yaml", "specs/headers.yaml", f"templates/{template}")
        files.append(PlannedFile(listing, render(templates, template, values), inputs, TARGET))
    template = "tvm_ffi/operators.pyi.j2"
    values = {"methods": [method_text(function, interface) for function in functions]}
    inputs = (*spec_files(interface, functions), "specs/types.yaml", "specs/headers.yaml", f"templates/{template}")
    files.append(PlannedFile("tvm_ffi/operators.pyi", render(templates, template, values), inputs, TARGET))
    return Plan(tuple(files))
