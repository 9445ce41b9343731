"""The functions of the dispatch library: each operator to the vendor's function, or to the reference library."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.c_text import COLUMNS, call_lines, declarator, wrapped
from diopigen.emit.contracts import contracts_file
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.header.signature import c_function
from diopigen.ir.model import Function, Interface, Parameter

TARGET = "dispatch"

RESERVED = frozenset({"call", "dispatch", "entry", "status", "is_declined", "operands"})
"""Names that the functions use; no parameter of the interface may have them."""

_INDENT = "    "
_TENSOR = {"in": "in", "out": "out", "inout": "inout", "partial_out": "inout"}


def is_dispatched(function: Function) -> bool:
    """Operators, not the services of the runtime nor what a library says of itself."""
    return function.family != "runtime" and function.context and function.returns == "status"


def _operand(param: Parameter) -> str:
    """The call that adds an argument to the operands."""
    name = param.name
    if param.type == "tensor":
        return f'{_TENSOR[param.direction]}("{name}", {name})'
    if param.type == "tensors":
        return f'{_TENSOR[param.direction]}("{name}", {name}, {param.count})'
    if param.type == "new_tensor":
        return f'made("{name}", {name})'
    if param.type == "new_tensors":
        return f'made("{name}", {name}, {param.count})'
    direction = "" if param.direction == "in" else ", dispatch::Direction::inout"
    return f'value("{name}", {name}{direction})'


def _parameters(function: Function) -> list[str]:
    """Parameters as the definition has them: tensors are replaced for a call, so that they are not constant."""
    own = {param.name for param in function.params}
    texts = []
    for number, param in enumerate(c_function(function).params):
        c_type = param.type
        if c_type.startswith("const diopi") and c_type.endswith("TensorHandle_t"):
            c_type = c_type.removeprefix("const ")
        name = param.name if number == 0 or param.name in own else function.params[number - 1].name
        texts.append(declarator(c_type, name))
    return texts


def function_text(function: Function) -> str:
    """The definition of an operator."""
    names = ["ctx", *(param.name for param in function.params)]
    place = function.name.removeprefix("diopi")
    lines = [
        call_lines(f"diopiError_t {function.name}", _parameters(function), " try {"),
        f"{_INDENT}dispatch::Entry& entry = dispatch::entries[dispatch::k{place}];",
        *_lambda(_call("return dispatch::invoke", [f"function, &{function.name}", *names], 2)),
        f"{_INDENT}diopiError_t status = diopiSuccess;",
        f"{_INDENT}bool is_declined = false;",
        f"{_INDENT}if (dispatch::isServed(entry, call, status, is_declined)) {{",
        f"{_INDENT * 2}return status;",
        f"{_INDENT}}}",
        f"{_INDENT}dispatch::OperandList<{len(function.params)}> operands;",
        *(f"{_INDENT}operands.{_operand(param)};" for param in function.params),
        f"{_INDENT}return dispatch::run(entry, ctx, operands, dispatch::Caller(call), is_declined);",
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
    """`dispatch/<family>.cpp`, and the table of operators in `dispatch/entries.h` and `dispatch/entries.cpp`."""
    functions = [function for function in interface.functions if is_dispatched(function)]
    families: dict[str, list[Function]] = {}
    for function in functions:
        families.setdefault(function.family, []).append(function)
    files = [_family_file(interface, family, found, templates) for family, found in families.items()]
    error = interface.enum("diopiError_t")
    values = {
        "functions": functions,
        "statuses": [value.name for value in error.values] if error is not None else [],
        "dtypes": interface.dtypes,
    }
    sources = tuple(sorted({interface.file_of[f.name] for f in functions if f.name in interface.file_of}))
    for name in ("entries.h", "entries.cpp"):
        template = f"dispatch/{name}.j2"
        inputs = (*sources, "specs/types.yaml", "specs/headers.yaml", f"templates/{template}")
        files.append(PlannedFile(f"dispatch/{name}", render(templates, template, values), inputs, TARGET))
    files.append(contracts_file(interface, functions, sources, templates, TARGET))
    return Plan(tuple(files))


def _family_file(interface: Interface, family: str, functions: list[Function], templates: Path) -> PlannedFile:
    template = "dispatch/functions.cpp.j2"
    sources = sorted({interface.file_of[f.name] for f in functions if f.name in interface.file_of})
    headers = {function.header for function in functions}
    values = {
        "family": family,
        "sources": wrapped(", ".join(sources) + ".", "// ", "// "),
        "headers": [header.file for header in interface.headers if header.file in headers],
        "functions": [function_text(function) for function in functions],
    }
    inputs = (*sources, "specs/types.yaml", f"templates/{template}")
    return PlannedFile(f"dispatch/{family}.cpp", render(templates, template, values), inputs, TARGET)
