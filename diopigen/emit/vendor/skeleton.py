"""One source file per operator for a vendor to fill in: the contract from the spec, the signature, no kernel yet."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.emit.c_text import COLUMNS, call_lines, declarator, doc_comment, wrapped
from diopigen.emit.plan import PlannedFile
from diopigen.emit.prose import constraint_text, param_command, param_text
from diopigen.emit.templates import render
from diopigen.header.signature import c_function
from diopigen.ir.model import Function, Interface
from diopigen.ir.naming import DIOPI
from diopigen.spec.expression import to_text

_TEMPLATE = "vendor/function.cpp.j2"
_INDENT = " " * 4


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator with its functions (all variants) in the order of the headers."""

    name: str
    family: str
    functions: tuple[Function, ...]


def operators(interface: Interface) -> tuple[Operator, ...]:
    """The operators that a vendor may implement: neither services of the host nor texts about the library, and of
    another interface than DIOPI's all functions."""
    found: dict[tuple[str, str], list[Function]] = {}
    for function in interface.functions:
        is_ours = function.weak and function.family != "runtime" and function.returns == "status"
        if interface.naming != DIOPI or (is_ours and not function.is_foreign):
            found.setdefault((function.family, function.operator), []).append(function)
    return tuple(Operator(name, family, tuple(functions)) for (family, name), functions in found.items())


def skeleton_path(vendor: str, operator: Operator) -> str:
    """Path of the operator's file below the root of a vendor's tree."""
    return f"impl/{vendor}/functions/{operator.family}/{operator.name}.cpp"


def skeleton_file(
    interface: Interface, templates: Path, vendor: str, operator: Operator, library: Mapping[str, str]
) -> PlannedFile:
    """The skeleton of an operator, with the functions that `operator` holds, which call their first versions in the
    kernel library (`library`). Collectives are exported as they are: there is no tensor that a shim converts."""
    source = interface.file_of[operator.functions[0].name]
    shimmed = not operator.functions[0].is_collective
    text = f"A start, made by `diopigen scaffold` from {source}. This file is yours: it is not written a second time."
    values = {
        "heading": "\n".join(
            [
                *wrapped(f"{operator.name}: {operator.functions[0].doc.strip()}", " * ", " * "),
                " *",
                *wrapped(text, " * ", " * "),
            ]
        ),
        "includes": sorted({function.header for function in operator.functions}),
        "vendor": vendor,
        "shimmed": shimmed,
        "library": any(function.name in library for function in operator.functions),
        "functions": [
            {
                "name": function.name,
                "contract": contract(function, is_written=function.name in library),
                "definition": library_call(function, library[function.name])
                if function.name in library
                else _definition(_head(function, shimmed), _body(function, vendor, shimmed)),
            }
            for function in operator.functions
        ],
    }
    inputs = (source, f"templates/{_TEMPLATE}")
    return PlannedFile(skeleton_path(vendor, operator), render(templates, _TEMPLATE, values), inputs, "vendor")


def library_call(function: Function, name: str) -> str:
    """The definition of a function that calls its first version in the kernel library, which has the `name` there."""
    arguments = ["launch", *(param.name for param in c_function(function).params if param.name)]
    whole = f"operators::{name}({', '.join(arguments)}));"
    if len(f"{_INDENT}return answer({whole}") > COLUMNS >= len(2 * _INDENT + whole):  # as clang-format breaks it
        call = f"return answer(\n{_INDENT}{whole}"
    else:
        call = call_lines(f"return answer(operators::{name}", arguments, ");", COLUMNS - len(_INDENT))
    return _definition(_head(function, shimmed=True), textwrap.indent(call, _INDENT))


def contract(function: Function, *, is_written: bool = False) -> str:
    """Contract of `function` in the spec, as a comment. `is_written`: there is a kernel below."""
    paragraphs = [("", function.doc.strip())]
    if function.source:
        paragraphs.append(("@note ", f"Source: {function.source.strip()}"))
    if function.backward_of:
        paragraphs.append(("@note ", f"Backward of {function.naming.full(function.backward_of)}."))
    if function.context:
        paragraphs.append(("@param[in] ctx ", "Context: gives the stream and owns temporaries."))
    paragraphs += [(param_command(param), param_text(param)) for param in function.params]
    paragraphs += [("@pre ", constraint_text(constraint)) for constraint in function.constraints]
    aliasing = aliasing_text(function)
    if aliasing:
        paragraphs.append(("@note ", f"Aliasing: {aliasing}"))
    if function.deprecated:
        paragraphs.append(("@deprecated ", function.deprecated.strip()))
    if function.aten:
        paragraphs.append(("@see ", f"ATen: {', '.join(overload.name for overload in function.aten)}"))
    if not function.is_foreign:
        paragraphs.append(("@return ", _status_text(function, is_written)))
    return doc_comment(paragraphs)


def aliasing_text(function: Function) -> str:
    """Describes permitted overlaps in memory; empty if nothing is written."""
    tensors = [param for param in function.params if param.type in ("tensor", "tensors")]
    if function.is_collective:
        return " ".join(_buffers(function))
    parts = []
    in_place = [param.name for param in tensors if param.direction == "inout"]
    partial = [param.name for param in tensors if param.direction == "partial_out"]
    outputs = [param.name for param in tensors if param.direction == "out"]
    inputs = [param.name for param in tensors if param.direction == "in"]
    if in_place:
        parts.append(f"{_listed(in_place)} {_is(in_place)} read and written in place.")
    if partial:
        parts.append(f"what {_listed(partial)} held stays, but for the part that is written.")
    if outputs and inputs and function.kernel is not None:
        parts.append(f"{_listed(outputs)} may be one of the inputs, element for element.")
    elif outputs and inputs:
        parts.append(f"the spec promises nothing for {_listed(outputs)} that overlaps {_listed(inputs)}.")
    return " ".join(parts)


def _buffers(function: Function) -> list[str]:
    """Describes permitted overlaps of the buffers of a collective: only those of `in_place`."""
    buffers = [param for param in function.params if param.elements is not None]
    if len(buffers) < 2:
        return []
    locations = [
        f"{param.name} may be at element {to_text(other.offset.expression)} of {other.buffer}, in place."
        for param in buffers
        if param.elements is not None and (other := param.elements.in_place) is not None
    ]
    return locations or [f"{_listed([param.name for param in buffers])} share no memory."]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _status_text(function: Function, is_written: bool) -> str:
    errors = dict.fromkeys(constraint.error for constraint in function.constraints)
    others = f"; {', '.join(errors)} where a condition above is broken" if errors else ""
    left = "diopiForceFallbackToCPU for a call that the chip does not take"
    unwritten = "diopiNoImplement as long as there is no kernel: the framework falls back then"
    return f"diopiSuccess{others}; {left if is_written else unwritten}."


def _head(function: Function, shimmed: bool) -> str:
    """The first line or lines of the definition, with the brace that opens it."""
    declared = c_function(function)
    params = [declarator(param.type, param.name) for param in declared.params]
    linkage = "" if shimmed else 'extern "C" '
    return call_lines(f"{linkage}{declarator(declared.returns, function.name)}", params, " {")


def _definition(head: str, body: str) -> str:
    """A definition, in one line where clang-format has it so."""
    line = f"{head} {body.strip()} }}"
    return line if "\n" not in line and len(line) <= COLUMNS else f"{head}\n{body}\n}}"


def _body(function: Function, vendor: str, shimmed: bool) -> str:
    """The statement that says that there is no kernel yet; it takes the parameters so that none counts as unused."""
    names = ["__func__", *(param.name for param in c_function(function).params if param.name)]
    call = call_lines(
        f"return {'' if shimmed else f'impl::{vendor}::'}notImplemented", names, ";", COLUMNS - len(_INDENT)
    )
    return textwrap.indent(call, _INDENT)
