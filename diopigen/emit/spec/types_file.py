"""`types.yaml` of an imported spec."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from diopigen.check.names import KEYWORDS
from diopigen.diagnostics import Sink
from diopigen.emit.spec.alignments import UNITS, Alignments
from diopigen.emit.spec.selection import named_in
from diopigen.emit.spec.yaml_text import OPEN, c_text, quoted
from diopigen.header.cdecl import CEnum, CInterface, CStruct
from diopigen.ir.c_types import DtypeInfo
from diopigen.ir.load import known_dtypes
from diopigen.ir.naming import DIOPI, Naming
from diopigen.spec.grammar_words import C_TYPE, WORD

_C_TYPE, _NAME = re.compile(C_TYPE.pattern or ""), re.compile(WORD.pattern or "")
_INTS = frozenset({"unsigned int", "int"})
"""Underlying type of an enum, unless it declares another."""
_SETS = {
    "floating": ("float16", "bfloat16", "float32", "float64"),
    "integral": ("uint8", "int8", "int16", "int32", "int64"),
    "index": ("int32", "int64"),
    "complex": ("complex64", "complex128"),
}


def types_text(interface: CInterface, header: str, naming: Naming, sink: Sink) -> str:
    """The text of the file; what C says of types and the grammar cannot hold goes to `sink`."""
    macros = dict(interface.macros)
    version = [macros.get(f"DIOPI_VER_{part}", "0") for part in ("MAJOR", "MINOR", "PATCH")]
    major, minor, patch = (text if text.isdigit() else "0" for text in version)
    lines = [f"version: {{major: {major}, minor: {minor}, patch: {patch}}}", f"header: {quoted(header)}"]
    if naming != DIOPI:
        lines += [f"prefix: {quoted(naming.prefix)}", f"status: {quoted(naming.status)}"]
    enums = [enum for enum in interface.enums if enum.name and enum.underlying in _INTS]
    structs = [struct for struct in interface.structs if not struct.opaque]
    dtypes = dtypes_of(interface.enums, naming)
    sets = {name: [dtype for dtype in members if dtype in dtypes] for name, members in _SETS.items()}
    lines += ["", *_list("enums", (line for enum in enums for line in _enum(enum)))]
    alignments = Alignments(interface)
    lines += ["", *_list("structs", (line for struct in structs for line in _struct(struct, alignments, sink)))]
    lines += ["", *_list("handles", _handles(interface, sink))]
    rows = (f"  - {{{_dtype(known_dtypes()[name], enum_value)}}}" for name, enum_value in dtypes.items())
    lines += ["", *_list("dtypes", rows)]
    rows = (f"  - {{name: {n}, of: [{', '.join(m)}], doc: {OPEN}}}" for n, m in sets.items() if m)
    lines += ["", *_list("dtype_sets", rows)]
    _report_unnamed(interface.enums, sink)
    return "\n".join(lines) + "\n"


def _list(key: str, lines: Iterable[str]) -> list[str]:
    found = list(lines)
    return [f"{key}:", *found] if found else [f"{key}: []"]


def _enum(enum: CEnum) -> Iterator[str]:
    yield from (f"  - name: {quoted(enum.name)}", f"    doc: {OPEN}", "    values:")
    seen: set[int] = set()
    for name, value in enum.values:
        alias = ", alias: true" if value in seen else ""
        seen.add(value)
        yield f"      - {{name: {quoted(name)}, value: {value}{alias}, doc: {OPEN}}}"


def _report_unnamed(enums: Iterable[CEnum], sink: Sink) -> None:
    unnamed = [enum for enum in enums if not enum.name]
    if unnamed:
        first = unnamed[0].values[0][0] if unnamed[0].values else "none"
        what = "1 enum without a name is" if len(unnamed) == 1 else f"{len(unnamed)} enums without a name are"
        message = f"{what} left out, the first with the value {first}"
        sink.warning("import-unsupported", message, unnamed[0].span, fix="keep such constants outside the spec")


def _struct(struct: CStruct, alignments: Alignments, sink: Sink) -> Iterator[str]:
    yield from (f"  - name: {quoted(struct.name)}", f"    doc: {OPEN}", f"    size: {struct.size}")
    yield from (f"    align: {struct.align}", "    fields:")
    problem = _layout_problem(struct, alignments)
    if problem:
        message = f"the members of {struct.name} are left out: {problem}"
        sink.warning("import-unsupported", message, struct.span, fix="its size and alignment stay: pass it by pointer")
        c_type = f"{UNITS.get(struct.align, 'uint8_t')}[{max(1, struct.size // _unit_size(struct.align))}]"
        yield f"      - {{name: opaque, c_type: '{c_type}', offset: 0, doc: {OPEN}}}"
        return
    for field in struct.fields:
        c_type = c_text(field.type)
        yield f"      - {{name: {quoted(field.name)}, c_type: {c_type}, offset: {field.offset}, doc: {OPEN}}}"


def _unit_size(align: int) -> int:
    return align if align in UNITS else 1


def _layout_problem(struct: CStruct, alignments: Alignments) -> str:
    """Why the members of a struct cannot be in the spec; empty where they can."""
    if not struct.fields:
        return "it has none"
    for field in struct.fields:
        if not _NAME.fullmatch(field.name) or field.name in KEYWORDS or not _C_TYPE.fullmatch(field.type):
            return f"the grammar cannot hold '{field.name}' of type '{field.type}'"
    known = [alignments.of(field.type) for field in struct.fields]
    if 0 in known:
        return f"the size of '{struct.fields[known.index(0)].name}' is not known outside of it"
    return "" if max(known) == struct.align else "their alignment is not that of their types"


def _handles(interface: CInterface, sink: Sink) -> Iterator[str]:
    """Typedefs that are neither an enum nor a defined struct; pointers to opaque structs keep their tag, and opaque
    structs that other declarations name without it become typedefs. Enums that are no `int` become what they are."""
    enums = {enum.name for enum in interface.enums if enum.underlying in _INTS}
    own = enums | {struct.name for struct in interface.structs if not struct.opaque}
    tags = {struct.name for struct in interface.structs if struct.opaque}
    opaque = tags | named_in(interface, everywhere=True) - {declared.name for declared in interface.types}
    types = {typedef.name: typedef.underlying for typedef in interface.typedefs if typedef.name not in own}
    bare = named_in(interface) & opaque
    for name, c_type in {**{name: name for name in sorted(bare)}, **types, **_odd_enums(interface, sink)}.items():
        if "(" not in c_type:
            c_type = " ".join(f"struct {word}" if word in opaque else word for word in c_type.split())
        if _C_TYPE.fullmatch(c_type):
            yield f"  - {{name: {quoted(name)}, c_type: {c_text(c_type)}, doc: {OPEN}}}"


def _odd_enums(interface: CInterface, sink: Sink) -> Mapping[str, str]:
    found = {}
    for enum in interface.enums:
        if enum.name and enum.underlying not in _INTS:
            found[enum.name] = enum.underlying
            message = f"the values of {enum.name} are left out: it is an enum of {enum.underlying}"
            sink.warning("import-unsupported", message, enum.span, fix="keep such constants outside the spec")
    return found


def dtypes_of(enums: Iterable[CEnum], naming: Naming) -> dict[str, str]:
    """dtype to enum value, for the values of DIOPI's enum of dtypes whose suffix is a known dtype."""
    for enum in enums:
        if naming.prefix == DIOPI.prefix and "dtype" in enum.name.lower():
            found = {name.rpartition("_")[2]: name for name, _ in enum.values}
            return {dtype: found[dtype] for dtype in known_dtypes() if dtype in found}
    return {}


def _dtype(info: DtypeInfo, enum_value: str) -> str:
    """The keys of a dtype that the spec of the package has too, with the value of another enum."""
    keys = {"name": info.name, "enum": enum_value, "bytes": info.bytes, "kind": info.kind, "digits": info.digits}
    keys |= {"exponent": info.exponent, "compute": info.compute if info.compute != info.name else ""}
    keys |= {key: getattr(info, key) for key in ("largest", "real", "complex", "c", "numpy", "aten", "dlpack")}
    return ", ".join(f"{key}: {value}" for key, value in keys.items() if value)
