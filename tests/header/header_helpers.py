"""Shared by tests of headers: the interface's facts, headers made from them, and one-line findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Diagnostic, Sink
from diopigen.header.cdecl import CEnum, CField, CFunction, CInterface, CParam, CStruct, CTypedef

FACTS = Path(__file__).parent.parent / "data" / "diopi_interface.json"

SPARSE_NOTE = "稀疏张量"  # columns count characters: a comment in Chinese ahead of the declarations


def load_facts() -> dict[str, Any]:
    """Header name to its facts, in the order of the interface."""
    headers: dict[str, Any] = json.loads(FACTS.read_text(encoding="utf-8"))["headers"]
    return headers


def facts_interface() -> CInterface:
    """The facts as the values that a parser must find."""
    functions, enums, structs, typedefs, macros = [], [], [], [], []
    for header, facts in load_facts().items():
        for entry in facts["functions"]:
            params = tuple(CParam(name, type_) for name, type_ in entry["params"])
            weak, deprecated = not entry.get("strong", False), entry.get("deprecated", False)
            functions.append(CFunction(entry["name"], entry["returns"], params, weak, deprecated, header=header))
        for entry in facts["enums"]:
            values = tuple((name, value) for name, value in entry["values"])
            enums.append(CEnum(entry["name"], values, entry["underlying"]))
        for entry in facts["structs"]:
            fields = tuple(CField(name, type_, offset) for name, type_, offset in entry["fields"])
            structs.append(CStruct(entry["name"], entry["opaque"], entry["size"], entry["align"], fields))
        typedefs += [CTypedef(name, underlying) for name, underlying in facts["typedefs"]]
        macros += [(name, body) for name, body in facts["macros"]]
    return CInterface(tuple(functions), tuple(enums), tuple(structs), tuple(typedefs), tuple(macros))


def synthesise(folder: Path) -> list[Path]:
    """Writes headers in the style of the wild from the facts: no `<stdint.h>`, tags that differ from their
    typedefs, anonymous enums, attributes behind macros, comments in UTF-8. Returns their paths in order."""
    folder.mkdir(parents=True)
    paths = []
    for header, facts in load_facts().items():
        path = folder / header
        path.write_text(_header_text(header, facts), encoding="utf-8")
        paths.append(path)
    return paths


def _header_text(header: str, facts: dict[str, Any]) -> str:
    guard = f"DIOPI_{header[:-2].upper()}_H_"
    lines = [f"/* {SPARSE_NOTE} */", f"#ifndef {guard}", f"#define {guard}", ""]
    if header == "functions_ext.h":
        lines += ["#include <cstdint>", "#include <iostream>", ""]
    lines += ["#include <stddef.h>"] if header == "diopirt.h" else ['#include "diopirt.h"']
    if header == "functions_mmcv.h":
        lines[-1] = "#include <diopi/diopirt.h>"
    lines += [f"#define {name} {body}".rstrip() for name, body in facts["macros"]]
    lines += ["#if defined(__cplusplus)", 'extern "C" {', "#endif", ""]
    enums = {enum["name"]: enum for enum in facts["enums"]}
    structs = {struct["name"]: struct for struct in facts["structs"]}
    for name, underlying in facts["typedefs"]:
        if name in enums:
            lines += ["typedef enum {"]
            lines += [f"  {value} = {number},  // 值" for value, number in enums[name]["values"]]
            lines += [f"}} {name};"]
        elif name in structs:
            lines += [f"typedef struct {name}_ {{", *_members(structs[name]["fields"]), f"}} {name};"]
        else:
            opaque = [tag for tag, struct in structs.items() if struct["opaque"] and tag in underlying.split()]
            spelling = underlying.replace(opaque[0], f"struct {opaque[0]}") if opaque else underlying
            lines.append(f"typedef {spelling} {name};")
    for function in facts["functions"]:
        lines += _function_text(function)
    return "\n".join([*lines, "#if defined(__cplusplus)", "}", "#endif", f"#endif  // {guard}", ""])


def _members(fields: list[tuple[str, str, int]]) -> list[str]:
    """Members at one offset form an anonymous union."""
    lines = []
    by_offset: dict[int, list[str]] = {}
    for name, type_, offset in fields:
        by_offset.setdefault(offset, []).append(f"{type_} {name};")
    for members in by_offset.values():
        lines.append(f"  union {{ {' '.join(members)} }};" if len(members) > 1 else f"  {members[0]}")
    return lines


def _function_text(function: dict[str, Any]) -> list[str]:
    comment = ["/**", " * @brief 计算，对每个元素。"]
    comment += [f" * @param[in] {name} the tensor 张量" for name, _ in function["params"] if name]
    params = ", ".join(f"{type_} {name}".strip() for name, type_ in function["params"])
    attributes = "" if function.get("strong") else "DIOPI_API "
    attributes += "__attribute__((deprecated)) " if function.get("deprecated") else ""
    return [*comment, " */", f"{attributes}{function['returns']} {function['name']}({params});", ""]


def shown(sink: Sink) -> list[str]:
    """Each finding on one line: place, severity, rule, message, then its fix and its notes with their places."""
    return [_shown(diagnostic) for diagnostic in sink.sorted()]


def _shown(diagnostic: Diagnostic) -> str:
    location = str(diagnostic.span) if diagnostic.span else "-"
    text = f"{location}: {diagnostic.severity} {diagnostic.code}: {diagnostic.message}"
    text += f" | {diagnostic.fix}" if diagnostic.fix else ""
    for note in diagnostic.notes:
        text += f" | {note.span}: {note.message}" if note.span else f" | {note.message}"
    return text
