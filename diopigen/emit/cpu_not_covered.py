"""The functions that the CPU library does not cover: they answer diopiNoImplement, so that a caller need not guess."""

from __future__ import annotations

from pathlib import Path

from diopigen.emit.c_text import call_lines, declarator
from diopigen.emit.cpu_kernels import tensor_functions
from diopigen.emit.plan import PlannedFile
from diopigen.emit.templates import render
from diopigen.header.signature import c_function
from diopigen.ir.model import Function, Interface

NOT_COVERED = ("functions_mmcv.h", "functions_lmdeploy.h")
"""Headers whose functions the library has only where a kernel of the spec gives them."""

_TEMPLATE = "cpu/not_covered.cpp.j2"


def not_covered(interface: Interface) -> tuple[Function, ...]:
    """The functions that the library answers diopiNoImplement to, in the order of the headers."""
    covered = {function.name for function in tensor_functions(interface)}
    headers = [header for header in interface.headers if header.file in NOT_COVERED]
    return tuple(f for header in headers for f in header.functions if f.name not in covered and f.returns == "status")


def not_covered_files(interface: Interface, templates: Path, target: str) -> tuple[PlannedFile, ...]:
    """`cpu/not_covered.cpp`; nothing for an interface without such functions."""
    functions = not_covered(interface)
    if not functions:
        return ()
    sources = sorted({interface.file_of[function.name] for function in functions})
    values = {
        "sources": sources,
        "headers": sorted({function.header for function in functions}),
        "functions": [
            {"name": function.name, "head": call_lines(function_head(function), function_params(function), " {")}
            for function in functions
        ],
    }
    inputs = (*sources, "specs/types.yaml", f"templates/{_TEMPLATE}")
    return (PlannedFile("cpu/not_covered.cpp", render(templates, _TEMPLATE, values), inputs, target),)


def function_head(function: Function) -> str:
    """The declaration of a function up to its parameters."""
    return f"DIOPI_API diopiError_t {function.name}"


def function_params(function: Function) -> list[str]:
    """The parameters of a function that looks at none of them."""
    return [declarator(param.type, f"/*{param.name}*/") for param in c_function(function).params]
