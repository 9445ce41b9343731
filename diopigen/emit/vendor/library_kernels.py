"""First versions of operators: the functions of a vendor that do nothing but call the kernel library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import header_files, spec_files
from diopigen.emit.templates import render
from diopigen.emit.vendor.skeleton import library_call
from diopigen.header.signature import c_function
from diopigen.ir.model import Function, Interface

FOLDER = "functions_library"
"""The folder below impl/NAME with the generated functions; like `functions` it counts as kernels."""
OPERATORS_HEADER = "kernels/include/diopigen_kernels/operators.h"
"""Declares the first versions, below the folder of the host runtime."""
_TEMPLATE = "vendor/library_kernels.cpp.j2"


def first_versions(interface: Interface, runtime: Path) -> Mapping[str, str]:
    """The functions of which the kernel library has a first version with the same parameters, and its name there."""
    functions = {function.name.lower(): function for function in interface.functions}
    text = (runtime / OPERATORS_HEADER).read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for name, parameters in re.findall(r"^Status (\w+)\(const Launch& launch, ([^)]*)\);", text, re.MULTILINE):
        function = functions.get(f"diopi{name.lower()}")
        names = re.findall(r"(\w+)(?:,|$)", parameters)
        if function is not None and names == [param.name for param in c_function(function).params]:
            found[function.name] = name
    return found


def emit_library_kernels(
    interface: Interface, templates: Path, vendor: str, functions: Sequence[Function], library: Mapping[str, str]
) -> Plan:
    """`kernels.cpp` with these functions in `impl::VENDOR`; nothing without any."""
    if not functions:
        return Plan(())
    values = {
        "vendor": vendor,
        "headers": header_files(interface, functions),
        "functions": [(function.name, library_call(function, library[function.name])) for function in functions],
    }
    inputs = (*spec_files(interface, functions), f"templates/{_TEMPLATE}")
    return Plan((PlannedFile("kernels.cpp", render(templates, _TEMPLATE, values), inputs, "vendor"),))
