"""`diopi.json` back to C declarations: the old side of `diopigen breaking`."""

from __future__ import annotations

import re
from pathlib import Path

from diopigen.diagnostics import Failure, Sink, Span
from diopigen.header.cdecl import (
    CEnum,
    CField,
    CFunction,
    CInterface,
    CParam,
    CStruct,
    CTypedef,
    canonical_type,
    enum_type,
)
from diopigen.spec.grammar_words import C_TYPE
from diopigen.spec.json_form import Form, FormFault, read_json

FORMATS = (1,)

JSON_RULES = {
    "interface-unreadable": "What is compared with is a spec folder, a diopi.json, a header or a folder of headers.",
}

_CODE = "interface-unreadable"
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_TYPE = re.compile(C_TYPE.pattern or "", re.ASCII)
_LINKAGES = ("weak", "strong")


def read_interface_json(path: Path, sink: Sink) -> CInterface | None:
    """The interface that a `diopi.json` holds; None where it is no such file (reported)."""
    here = Span(str(path))
    try:
        document = read_json(path, _CODE, "name a diopi.json, or generate it again")
    except Failure as fault:
        sink.extend(fault.diagnostics)
        return None
    version = document.value.get("format") if isinstance(document.value, dict) else None
    if type(version) is not int or version not in FORMATS:
        message = f"is no diopi.json of a known format (found {version!r})"
        sink.error(_CODE, message, here, fix="generate it with `diopigen generate --target json`")
        return None
    try:
        return _interface(document, here)
    except FormFault as error:
        sink.error(_CODE, f"is damaged: {error}", here, fix="generate it again")
        return None


def _interface(document: Form, here: Span) -> CInterface:
    functions = tuple(
        _function(function, header["file"].text(), here)
        for header in document["headers"].items()
        for function in header["functions"].items()
    )
    enums = tuple(_enum(enum, here) for enum in document["enums"].items())
    structs = tuple(
        CStruct(
            _name(s["name"]),
            False,
            s["size"].whole(0),
            s["align"].whole(0),
            tuple(CField(f["name"].text(), _type(f["c_type"]), f["offset"].whole(0)) for f in s["fields"].items()),
            here,
        )
        for s in document["structs"].items()
    )
    handles = [(_name(handle["name"]), _type(handle["c_type"])) for handle in document["handles"].items()]
    typedefs = (
        *(CTypedef(enum.name, enum.name, here) for enum in enums),
        *(CTypedef(struct.name, struct.name, here) for struct in structs),
        *(CTypedef(name, c_type, here) for name, c_type in handles),
    )
    opaque: dict[str, None] = {}
    for handle in document["handles"].items():
        words = handle["c_type"].text().replace("*", " ").split()
        if "struct" in words[:-1]:
            opaque.setdefault(words[words.index("struct") + 1])
    structs += tuple(CStruct(name, True, span=here) for name in opaque)
    macros = tuple((name, body.text()) for name, body in document["macros"].entries())
    return CInterface(functions, enums, structs, typedefs, macros)


def _enum(enum: Form, here: Span) -> CEnum:
    values = tuple((name, value.whole()) for name, value in enum["values"].entries())
    return CEnum(_name(enum["name"]), values, enum_type(value for _, value in values), here)


def _function(entry: Form, header: str, here: Span) -> CFunction:
    params = [_param(param, here) for param in entry.get("params", []).items()]
    if entry.get("context", False).truth():
        params.insert(0, CParam("ctx", "diopiContextHandle_t", here))
    linkage = entry["linkage"]
    if linkage.text() not in _LINKAGES:
        raise linkage.fault(" or ".join(f"'{word}'" for word in _LINKAGES))
    return CFunction(
        _name(entry["name"]),
        _type(entry["returns"]),
        tuple(params),
        linkage.text() == "weak",
        "deprecated" in entry,
        here,
        header=header,
        stated=entry.get("doc", "").text(),
    )


def _param(param: Form, here: Span) -> CParam:
    name = "" if param.get("unnamed", False).truth() else _name(param["name"])
    return CParam(name, _type(param["c_type"]), here)


def _name(form: Form) -> str:
    if not _NAME.match(form.text()):
        raise form.fault("a name in C")
    return form.text()


def _type(form: Form) -> str:
    if not _TYPE.fullmatch(form.text()):
        raise form.fault("a type in C")
    return canonical_type(form.text())
