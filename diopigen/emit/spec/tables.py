"""A table of functions: a struct whose members are pointers to functions, where headers declare no function."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from diopigen.diagnostics import Sink
from diopigen.header.cdecl import CField, CFunction, CInterface, CParam, CStruct

_FUNCTION = re.compile(r"([^()]*?) ?\((?: ?\*\)\()?(.*)\)")
"""A function type or a pointer to one: what it returns, and its parameters."""


def with_table(interface: CInterface, sink: Sink) -> CInterface:
    """The interface with the members of its largest table as functions, in place of the table and of the types that
    have their names; unchanged where it declares functions or has no table."""
    typedefs = {typedef.name: typedef.underlying for typedef in interface.typedefs}
    tables = {struct.name: (struct, tuple(_functions(struct, typedefs))) for struct in interface.structs}
    table, functions = max(tables.values(), key=lambda found: len(found[1]), default=(None, ()))
    if interface.functions or table is None or len(functions) < 2:
        return interface
    message = f"{table.name} is left out: {len(functions)} of its {len(table.fields)} members are imported as functions"
    sink.warning("import-unsupported", message, table.span, fix="describe them as if a library exported them")
    gone = {table.name, *(function.name for function in functions)}
    return replace(
        interface,
        functions=functions,
        structs=tuple(struct for struct in interface.structs if struct.name != table.name),
        typedefs=tuple(typedef for typedef in interface.typedefs if typedef.name not in gone),
    )


def _functions(struct: CStruct, typedefs: Mapping[str, str]) -> Iterator[CFunction]:
    for field in struct.fields:
        found = _FUNCTION.fullmatch(_behind(field, typedefs))
        # Unbalanced are the parameters of a function that returns a pointer to one.
        if found is not None and field.span is not None and min(_depths(found[2]), default=0) >= 0:
            params = tuple(CParam("", c_type, field.span) for c_type in _split(found[2]) if c_type != "void")
            header = field.span.file.rpartition("/")[2]
            yield CFunction(field.name, found[1], params, weak=False, span=field.span, header=header)


def _behind(field: CField, typedefs: Mapping[str, str]) -> str:
    """The type of a member, behind the typedef of a function or of a pointer to one."""
    name = field.type.removesuffix(" *")
    known = typedefs.get(name, "")
    is_pointer = re.match(r"[^(]*\( ?\*\)", known) is not None
    return known if "(" in known and is_pointer == (name == field.type) else field.type


def _split(params: str) -> Iterator[str]:
    """The parameters of a function type: commas inside parentheses belong to one."""
    start = 0
    for position, depth in enumerate(_depths(params)):
        if params[position] == "," and depth == 0:
            yield params[start:position].strip()
            start = position + 1
    if params[start:].strip():
        yield params[start:].strip()


def _depths(text: str) -> Iterator[int]:
    """Number of open parentheses after each character."""
    return itertools.accumulate({"(": 1, ")": -1}.get(character, 0) for character in text)
