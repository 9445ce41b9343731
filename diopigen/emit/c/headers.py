"""The public C headers, documented from the spec."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from diopigen.emit.c.type_order import in_order, named_types
from diopigen.emit.c_text import call_lines, declarator, doc_comment
from diopigen.emit.escaping import comment_text
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.prose import constraint_text, param_command, param_text
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.header.signature import c_function, opaque_structs
from diopigen.header.stubs import STANDARD_HEADERS
from diopigen.ir.c_types import EnumType, HandleType, StructType
from diopigen.ir.model import Function, Header, Interface
from diopigen.ir.naming import DIOPI

TARGET = "headers"
DRAFTS = True


def function_doc(function: Function) -> str:
    """The Doxygen comment of a function."""
    paragraphs = [("@brief ", function.doc.strip())]
    if function.source:
        paragraphs.append(("@note ", f"Source: {function.source.strip()}"))
    paragraphs += [("@note ", constraint_text(constraint)) for constraint in function.constraints]
    if function.context:
        paragraphs.append(("@param[in] ctx ", "Context of the call."))
    paragraphs += [(param_command(param), param_text(param)) for param in function.params if not param.unnamed]
    unnamed = [param for param in function.params if param.unnamed]
    paragraphs += [
        ("@note ", f"Last parameter{f' ({param.direction})' * bool(param.direction)}: {param_text(param)}")
        for param in unnamed
    ]
    if function.returns == "string":
        paragraphs.append(("@return ", "A null-terminated text that the library owns."))
    elif not function.is_foreign:
        paragraphs.append(("@return ", "diopiSuccess, or the error that the call met."))
    if function.aten:
        paragraphs.append(("@see ", f"ATen: {', '.join(overload.name for overload in function.aten)}"))
    if function.deprecated:
        paragraphs.append(("@deprecated ", function.deprecated.strip()))
    if not function.is_foreign:
        paragraphs.append(("@since ", function.since))
    return doc_comment(paragraphs)


def function_declaration(function: Function) -> str:
    """The declaration of a function, with its linkage and attributes."""
    declared = c_function(function)
    linkage = "DIOPI_API" if function.weak else "DIOPI_RT_API"
    if function.naming != DIOPI:
        linkage = "__attribute__((weak))" if function.weak else ""
    if function.deprecated:
        linkage = f"__attribute__((deprecated)) {linkage}"
    returns = declarator(declared.returns, function.name)
    params = [declarator(param.type, param.name) for param in declared.params]
    return call_lines(f"{linkage} {returns}".lstrip(), params or ["void"], ";")


def _struct_members(struct: StructType) -> list[str]:
    """The members of a struct; members at one offset become an anonymous union."""
    lines: list[str] = []
    for offset in dict.fromkeys(field.offset for field in struct.fields):
        together = [field for field in struct.fields if field.offset == offset]
        indent = "    " if len(together) == 1 else "        "
        members = [
            f"{indent}{line}"
            for field in together
            for line in (f"/** {comment_text(field.doc)} */", f"{declarator(field.c_type, field.name)};")
        ]
        lines += members if len(together) == 1 else ["    union {", *members, "    };"]
    return lines


def _layout_asserts(enums: Sequence[EnumType], structs: Sequence[StructType]) -> list[str]:
    """Assertions that freeze struct layout and enum values."""
    found: list[tuple[str, str]] = []
    for struct in structs:
        found.append((f"sizeof({struct.name}) == {struct.size}", f"size of {struct.name}"))
        for field in struct.fields:
            condition = f"offsetof({struct.name}, {field.name}) == {field.offset}"
            found.append((condition, f"offset of {struct.name}::{field.name}"))
    for enum in enums:
        found.append((f"sizeof({enum.name}) == 4", f"size of {enum.name}"))
        found += [(f"{value.name} == {value.value}", f"value of {value.name}") for value in enum.values]
    return [call_lines("static_assert", [condition, f'"{text}"'], ";") for condition, text in found]


def _typedefs(handles: Sequence[HandleType]) -> list[dict[str, str]]:
    return [{"text": declarator(f"typedef {one.c_type}", one.name), "doc": one.doc} for one in handles]


def _words_of(function: Function) -> list[str]:
    declared = c_function(function)
    return re.findall(r"\w+", " ".join((declared.returns, *(param.type for param in declared.params))))


def _header_file(interface: Interface, header: Header, templates: Path) -> PlannedFile:
    is_types = header.file == interface.types_header
    default = interface.types_header
    enums = [enum for enum in interface.enums if (enum.header or default) == header.file]
    structs = [struct for struct in interface.structs if (struct.header or default) == header.file]
    handles = [handle for handle in interface.handles if (handle.header or default) == header.file]
    order, forward = in_order(structs, handles)
    types: list[dict[str, object]] = []
    early: list[HandleType] = []
    for declared in order:
        if isinstance(declared, StructType):
            types.append({"type": declared, "members": _struct_members(declared), "handles": _typedefs(early)})
            early = []
        else:
            early.append(declared)
    words = {word for struct_or_handle in order for word in named_types(struct_or_handle)}
    words |= {word for function in header.functions for word in _words_of(function)}
    guard = "DIOPI_" + re.sub(r"\W", "_", header.file.upper()) + "_"
    values = {
        "header": header,
        "guard": guard,
        "sources": spec_files(interface, header.functions),
        "interface": interface if is_types else None,
        "macros": is_types and interface.naming == DIOPI,
        "enums": enums,
        "opaque": list(opaque_structs(handles)),
        "standard": sorted({file for word, file in STANDARD_HEADERS.items() if word in words}),
        "forward": forward,
        "handles": _typedefs(early),
        "asserts": _layout_asserts(enums, structs),
        "structs": types,
        "functions": [
            {"doc": function_doc(function), "text": function_declaration(function)} for function in header.functions
        ],
    }
    template = "c/header.h.j2"
    content = render(templates, template, values)
    inputs = (
        *spec_files(interface, header.functions),
        "specs/headers.yaml",
        "specs/types.yaml",
        f"templates/{template}",
    )
    return PlannedFile(f"include/diopi/{header.file}", content, inputs, TARGET)


def emit(interface: Interface, templates: Path) -> Plan:
    """`include/diopi/*.h`."""
    return Plan(tuple(_header_file(interface, header, templates) for header in interface.headers))
