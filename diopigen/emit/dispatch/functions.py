"""The functions of the dispatch library: each operator to the vendor's function, or to the reference library."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.c_text import COLUMNS, call_lines, declarator
from diopigen.emit.operands import definition_parameters, is_operator, operand
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import by_family, family_values, spec_files
from diopigen.emit.templates import render
from diopigen.header.signature import c_function
from diopigen.ir.model import Function, Interface

TARGET = "dispatch"

RESERVED = frozenset({"call", "contract", "dispatch", "entry", "operands", "status"})
"""Names that the functions use; no parameter of the interface may have them."""

_INDENT = "    "


def function_text(function: Function) -> str:
    """The definition of an operator."""
    names = ["ctx", *(param.name for param in function.params)]
    lines = [
        call_lines(f"diopiError_t {function.name}", definition_parameters(function), " try {"),
        f"{_INDENT}dispatch::Entry& entry = dispatch::entries[contract::k{function.short_name}];",
        *_lambda(_call("return dispatch::invoke", [f"function, &{function.name}", *names], 2)),
        f"{_INDENT}diopiError_t status = diopiSuccess;",
        f"{_INDENT}if (dispatch::is_served(entry, call, status)) {{",
        f"{_INDENT * 2}return status;",
        f"{_INDENT}}}",
        f"{_INDENT}contract::OperandList<{len(function.params)}> operands;",
        *(f"{_INDENT}operands.{operand(param)};" for param in function.params),
        f"{_INDENT}return dispatch::run(entry, ctx, operands, dispatch::Caller(call), status);",
        "} catch (...) {",
        f'{_INDENT}return dispatch::caught("{function.name}");',
        "}",
    ]
    return "\n".join(lines)


def forwarded_text(function: Function) -> str:
    """The definition of a collective: it is the vendor's alone, since no other library knows its communicators."""
    declared = c_function(function)
    parameters = [declarator(param.type, param.name) for param in declared.params]
    names = [f'"{function.name}"', f"&{function.name}", *(param.name for param in declared.params)]
    lines = [
        call_lines(f"diopiError_t {function.name}", parameters, " try {"),
        *_call("return dispatch::forward", names, 1),
        "} catch (...) {",
        f'{_INDENT}return dispatch::caught("{function.name}");',
        "}",
    ]
    return "\n".join(lines)


def _lambda(body: list[str]) -> list[str]:
    """The lambda that makes the call, on one line where it fits."""
    head = f"{_INDENT}const auto call = [&](dispatch::Function function) {{"
    one_line = f"{head} {body[0].strip()} }};"
    return [one_line] if len(body) == 1 and len(one_line) <= COLUMNS else [head, *body, f"{_INDENT}}};"]


def _call(head: str, items: list[str], depth: int) -> list[str]:
    indent = _INDENT * depth
    return [indent + line for line in call_lines(head, items, ";", COLUMNS - len(indent)).split("\n")]


def emit(interface: Interface, templates: Path) -> Plan:
    """`dispatch/<family>.cpp`, and the table of operators in `dispatch/entries.cpp`."""
    functions = [function for function in interface.functions if is_operator(function)]
    files = [_family_file(interface, family, found, templates) for family, found in by_family(functions).items()]
    collectives = by_family(function for function in interface.functions if function.is_collective)
    files += [_family_file(interface, family, found, templates) for family, found in collectives.items()]
    error = interface.enum("diopiError_t")
    values = {
        "functions": functions,
        "statuses": [value.name for value in error.values] if error is not None else [],
    }
    template = "dispatch/entries.cpp.j2"
    inputs = (*spec_files(interface, functions), "specs/types.yaml", "specs/headers.yaml", f"templates/{template}")
    files.append(PlannedFile("dispatch/entries.cpp", render(templates, template, values), inputs, TARGET))
    return Plan(tuple(files))


def _family_file(interface: Interface, family: str, functions: list[Function], templates: Path) -> PlannedFile:
    template = "dispatch/functions.cpp.j2"
    values = {
        **family_values(interface, family, functions),
        "functions": [forwarded_text(one) if one.is_collective else function_text(one) for one in functions],
    }
    inputs = (*spec_files(interface, functions), "specs/types.yaml", f"templates/{template}")
    return PlannedFile(f"dispatch/{family}.cpp", render(templates, template, values), inputs, TARGET)
