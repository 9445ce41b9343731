"""`diopi.json` back to C declarations: the old side of `diopigen breaking`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Sink, Span
from diopigen.header.cdecl import CEnum, CField, CFunction, CInterface, CParam, CStruct, CTypedef, canonical_type

FORMATS = (1,)

JSON_RULES = {
    "interface-unreadable": "What is compared with is a spec folder, a diopi.json, a header or a folder of headers.",
}


def read_interface_json(path: Path, sink: Sink) -> CInterface | None:
    """The interface that a `diopi.json` holds; None where it is no such file (reported)."""
    here = Span(str(path))
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not UTF-8"
        sink.error("interface-unreadable", f"cannot be read: {reason}", here, fix="name a diopi.json")
        return None
    except (json.JSONDecodeError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        column = getattr(error, "colno", 1)
        message = f"is not JSON: {getattr(error, 'msg', 'nested too deeply')}"
        sink.error("interface-unreadable", message, Span(str(path), line, column), fix="generate it again")
        return None
    version = document.get("format") if isinstance(document, dict) else None
    if version not in FORMATS:
        message = f"is no diopi.json of a known format (found {version!r})"
        sink.error("interface-unreadable", message, here, fix="generate it with `diopigen generate --target json`")
        return None
    try:
        return _interface(document, here)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f"is damaged: {type(error).__name__} at {error}"
        sink.error("interface-unreadable", message, here, fix="generate it again")
        return None


def _interface(document: dict[str, Any], here: Span) -> CInterface:
    functions = tuple(
        _function(function, header["file"], here) for header in document["headers"] for function in header["functions"]
    )
    enums = tuple(CEnum(e["name"], tuple(e["values"].items()), span=here) for e in document["enums"])
    structs = tuple(
        CStruct(
            s["name"],
            False,
            s["size"],
            s["align"],
            tuple(CField(f["name"], canonical_type(f["c_type"]), f["offset"]) for f in s["fields"]),
            here,
        )
        for s in document["structs"]
    )
    typedefs = (
        *(CTypedef(enum.name, enum.name, here) for enum in enums),
        *(CTypedef(struct.name, struct.name, here) for struct in structs),
        *(CTypedef(h["name"], canonical_type(h["c_type"]), here) for h in document["handles"]),
    )
    opaque: dict[str, None] = {}
    for handle in document["handles"]:
        words = handle["c_type"].replace("*", " ").split()
        if "struct" in words:
            opaque.setdefault(words[words.index("struct") + 1])
    structs += tuple(CStruct(name, True, span=here) for name in opaque)
    macros = tuple((name, body) for name, body in document["macros"].items())
    return CInterface(functions, enums, structs, typedefs, macros)


def _function(entry: dict[str, Any], header: str, here: Span) -> CFunction:
    params = [CParam("" if p.get("unnamed") else p["name"], p["c_type"], here) for p in entry.get("params", ())]
    if entry.get("context"):
        params.insert(0, CParam("ctx", "diopiContextHandle_t", here))
    return CFunction(
        entry["name"],
        entry["returns"],
        tuple(params),
        entry["linkage"] == "weak",
        "deprecated" in entry,
        here,
        header=header,
    )
