"""The functions that a library offers: each checks its arguments against the contract and calls a kernel.

The same sources serve the CPU library and the CUDA library. A kernel that a library lacks is a null pointer, and its
function returns diopiNoImplement: no list says what a library covers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from diopigen.emit.c_text import COLUMNS, braced_call_lines, call_lines, declarator
from diopigen.emit.operands import definition_parameters, is_operator, operand
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import by_family, family_values, spec_files
from diopigen.emit.templates import render
from diopigen.header.signature import c_type
from diopigen.ir.model import Function, Interface, Parameter

TARGET = "entry"
RESERVED = frozenset({"Call", "OperandList", "call", "contract", "guarded", "kernels", "operands", "require_covered"})
"""Names that the functions use; no parameter of the interface may have them."""

_INDENT = " " * 4
_MOST_IN_BRACES = 12
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class _Member:
    """A member of the arguments of a kernel: its declaration, and its value in a function of the interface."""

    declaration: str
    value: str

    @property
    def name(self) -> str:
        """The last word of the declaration."""
        return self.declaration.rpartition(" ")[2].lstrip("*")


def kernel_name(function: Function) -> str:
    """The name of the kernel behind a function: `log_softmax` of diopiLogSoftmax."""
    return kernel_name_of(function.short_name)


def kernel_name_of(short_name: str) -> str:
    """The name of the kernel behind the function of that name, which is without diopi."""
    return _WORD.sub("_", short_name).lower().rstrip("_")


def arguments_name(function: Function) -> str:
    """The type of a kernel's arguments."""
    return function.short_name.rstrip("_") + "Args"


def _member(param: Parameter, position: int) -> _Member:
    name = param.name
    if param.type == "tensor":
        return _Member(f"Tensor {name}", f"call.tensor({position})")
    if param.type == "tensors":
        return _Member(f"std::vector<Tensor> {name}", f"call.tensors({position})")
    if param.type == "scalar" and param.direction == "in":
        if param.nullable:
            return _Member(f"std::optional<Number> {name}", f"optional_number({name})")
        return _Member(f"Number {name}", f"number(*{name})")
    spelt = c_type(param)
    is_plain = param.direction == "in" and param.type not in ("generator", "generators", "opaque", "stream")
    if is_plain and spelt.startswith("const ") and spelt.endswith(" *") and param.type != "string":
        pointed = spelt.removeprefix("const ").removesuffix(" *")
        if not param.nullable:
            return _Member(f"{pointed} {name}", f"*{name}")
        return _Member(f"std::optional<{pointed}> {name}", f"optional_value({name})")
    if param.type == "string":
        return _Member(f"std::string_view {name}", f"text({name})")
    return _Member(declarator(spelt.removeprefix("const ") if is_plain else spelt, name), name)


def _members(function: Function) -> list[_Member]:
    context = _Member("diopiContextHandle_t ctx", "ctx")
    return [context, *(_member(param, position) for position, param in enumerate(function.params))]


def arguments_text(function: Function) -> str:
    """The struct of a kernel's arguments and the declaration of the kernel."""
    name = arguments_name(function)
    members = [f"{_INDENT}{member.declaration};" for member in _members(function)]
    kernel = f"DIOPI_OPTIONAL void {kernel_name(function)}(const {name}& args);"
    return "\n".join([f"struct {name} {{", *members, "};", kernel])


def function_text(function: Function) -> str:
    """The definition of a function of the interface."""
    kernel = f"entry::{kernel_name(function)}"
    pad = _INDENT * 2
    return "\n".join(
        [
            call_lines(f"DIOPI_API diopiError_t {function.name}", definition_parameters(function), " {"),
            f'{_INDENT}return guarded("{function.name}", ctx, [&] {{',
            f"{pad}require_covered({kernel} != nullptr);",
            f"{pad}OperandList<{len(function.params)}> operands;",
            *(f"{pad}operands.{operand(param)};" for param in function.params),
            f"{pad}const Call call(contract::k{function.short_name}, operands);",
            *(pad + line for line in _kernel_call(function, kernel)),
            f"{_INDENT}}});",
            "}",
        ]
    )


def _kernel_call(function: Function, kernel: str) -> list[str]:
    """The statements that call a kernel. Many arguments get a line each."""
    members = _members(function)
    if len(members) <= _MOST_IN_BRACES:
        values = [member.value for member in members]
        return braced_call_lines(kernel, values, COLUMNS - 2 * len(_INDENT)).split("\n")
    return [
        f"entry::{arguments_name(function)} args{{}};",
        *(f"args.{member.name} = {member.value};" for member in members),
        f"{kernel}(args);",
    ]


def emit(interface: Interface, templates: Path) -> Plan:
    """`entry/<family>.h` with the arguments of kernels, `entry/<family>.cpp` with the functions that call them."""
    files = []
    for family, functions in by_family(filter(is_operator, interface.functions)).items():
        values = {
            **family_values(interface, family, functions),
            "functions": [function_text(function) for function in functions],
            "arguments": [arguments_text(function) for function in functions],
        }
        for suffix in ("h", "cpp"):
            template = f"entry/functions.{suffix}.j2"
            inputs = (*spec_files(interface, functions), "specs/types.yaml", f"templates/{template}")
            files.append(PlannedFile(f"entry/{family}.{suffix}", render(templates, template, values), inputs, TARGET))
    return Plan(tuple(files))
