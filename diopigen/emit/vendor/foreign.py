"""A tree to start from for an interface that is not DIOPI's: its headers, CMake, and one skeleton for each function."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from diopigen.emit.c import headers
from diopigen.emit.c_text import call_lines, declarator, wrapped
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.emit.vendor.selection import Selection
from diopigen.emit.vendor.skeleton import Operator, contract, skeleton_path
from diopigen.emit.vendor.tree import MARK
from diopigen.header.signature import c_function
from diopigen.ir.model import Function, Interface

_STARTS = {"CMakeLists.txt": "CMakeLists.txt.j2", "impl/{vendor}/missing.h": "missing.h.j2"}


def generated_files(interface: Interface, templates: Path, vendor: str, selection: Selection) -> Plan:
    """Files that are generated from the spec and belong to diopigen."""
    mark = {"vendor": vendor, "interface": str(interface.version), "operators": selection.as_json()}
    text = (json.dumps(mark, indent=2) + "\n").encode()
    return Plan((*headers.emit(interface, templates).files, PlannedFile(MARK, text, ("specs/types.yaml",), "vendor")))


def starts(interface: Interface, templates: Path, vendor: str, operators: Iterable[Operator]) -> Plan:
    """Files that are created once and then belong to the vendor."""
    files = [_file(templates, path.format(vendor=vendor), name, {"vendor": vendor}) for path, name in _STARTS.items()]
    for operator in operators:
        function = operator.functions[0]
        source = interface.file_of[function.name]
        text = (
            f"A start, made by `diopigen scaffold` from {source}. This file is yours: it is not written a second time."
        )
        values = {
            "heading": "\n".join(wrapped(text, " * ", " * ")),
            "header": function.header,
            "vendor": vendor,
            "contract": contract(function),
            "definition": _definition(function, vendor),
        }
        files.append(_file(templates, skeleton_path(vendor, operator), "function.cpp.j2", values))
    return Plan(tuple(files))


def _file(templates: Path, path: str, template: str, values: dict[str, str]) -> PlannedFile:
    name = f"vendor/foreign/{template}"
    return PlannedFile(path, render(templates, name, values), (f"templates/{name}",), "vendor")


def _definition(function: Function, vendor: str) -> str:
    declared = c_function(function)
    params = [declarator(param.type, param.name) for param in declared.params]
    head = call_lines(f'extern "C" {declarator(declared.returns, function.name)}', params, " {")
    names = ["__func__", *(param.name for param in declared.params if param.name)]
    return f"{head}\n    {call_lines(f'impl::{vendor}::missing', names, ';', 116)}\n}}"
