"""The glue for PyTorch: kernels for the overloads of ATen that functions of the interface serve.

Overloads of structured operators are generated; what the spec's `torch.yaml` names is handwritten and only declared and
registered here. An overload that a new device needs, that a function of the interface serves, and that is neither is an
error: nothing is left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from diopigen.diagnostics import Diagnostic, Failure, Severity, Span, did_you_mean
from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.templates import render
from diopigen.emit.torch.binding import Unbound
from diopigen.emit.torch.schema import operator_class, operator_header, schema_of, signature
from diopigen.emit.torch.structured import StructuredKernel, registrations, run_parameters, structured_kernel
from diopigen.ir.model import Function, HandwrittenKernel, Interface, LeftOut, Overload, StructuredGroup

TARGET = "torch"

RULES = {
    "torch-unserved": "An overload that a new device needs and a function names is generated, handwritten or left out.",
    "torch-unknown": "torch.yaml names overloads of the release that the spec names, each once.",
    "torch-idle": "An overload that torch.yaml leaves out is one that would be served otherwise.",
}


def _error(code: str, message: str, span: Span, fix: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, span, (), fix)


def _owners(interface: Interface) -> dict[str, tuple[Function, Overload]]:
    """The function and the entry of each overload that the spec names."""
    return {overload.name: (f, overload) for f in interface.functions for overload in f.aten}


def _group_of(interface: Interface) -> dict[str, StructuredGroup]:
    """The structured group by each of its overloads."""
    found = {}
    for group in interface.aten.structured:
        for overload in (group.out, group.functional, group.inplace):
            if overload is not None:
                found[overload] = group
    return found


def _check_names(interface: Interface) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    seen: set[str] = set()
    owners = _owners(interface)
    entries: tuple[HandwrittenKernel | LeftOut, ...] = (*interface.aten.handwritten, *interface.aten.left_out)
    for entry in entries:
        if entry.overload not in interface.aten_schemas:
            message = f"torch {interface.aten_release} has no overload '{entry.overload}'"
            fix = did_you_mean(entry.overload, interface.aten_schemas) or "see native_functions.yaml of torch"
            found.append(_error("torch-unknown", message, entry.span, fix))
        elif entry.overload in seen:
            message = f"'{entry.overload}' is here twice"
            found.append(_error("torch-unknown", message, entry.span, "keep one entry"))
        seen.add(entry.overload)
    for left in interface.aten.left_out:
        if left.overload in interface.aten_schemas and left.overload not in owners:
            message = f"no function of the interface names '{left.overload}'"
            found.append(_error("torch-idle", message, left.span, "remove the entry"))
    known = {function.short_name for function in interface.functions}
    for kernel in interface.aten.handwritten:
        for name in kernel.calls:
            if name not in known:
                message = f"{kernel.function} calls '{name}', which is no function of the interface"
                found.append(_error("torch-unknown", message, kernel.span, did_you_mean(name, known) or "see the spec"))
    return found


def structured(interface: Interface) -> tuple[list[StructuredKernel], list[Diagnostic]]:
    """The generated kernels, and what cannot be generated."""
    by_out = {entry.overload: entry.function for entry in interface.aten.handwritten}
    left = {entry.overload for entry in interface.aten.left_out}
    owners = _owners(interface)
    kernels, problems = [], []
    for group in sorted(interface.aten.structured, key=lambda one: one.meta):
        if group.out in left or (group.out not in owners and group.out not in by_out):
            continue
        if group.out not in owners:
            kernels.append(structured_kernel(interface, group, interface.functions[0], by_out))
            continue
        function, overload = owners[group.out]
        try:
            kernels.append(structured_kernel(interface, group, function, by_out))
        except Unbound as reason:
            problems.append(_unserved(function, overload, str(reason)))
    return kernels, problems


def _unserved(function: Function, overload: Overload, reason: str) -> Diagnostic:
    message = f"{function.name}: '{overload.name}' {reason}"
    fix = "write a kernel by hand, and name it in torch.yaml"
    return _error("torch-unserved", message, overload.span, fix)


def unserved(interface: Interface) -> list[Diagnostic]:
    """Overloads that a new device needs, that a function names, and that nothing serves."""
    groups = {group.out for group in interface.aten.structured}
    served = {entry.overload for entry in interface.aten.handwritten}
    served |= {entry.overload for entry in interface.aten.left_out}
    found = []
    for name, (function, overload) in _owners(interface).items():
        if name in interface.aten.needed and name not in groups and name not in served:
            found.append(_unserved(function, overload, "is no structured operator"))
    return found


def _handwritten(interface: Interface) -> tuple[list[HandwrittenKernel], dict[str, HandwrittenKernel]]:
    """Handwritten kernels of whole overloads; and those that fill the outputs of a structured group, by overload."""
    outs = {group.out for group in interface.aten.structured}
    whole = [entry for entry in interface.aten.handwritten if entry.overload not in outs]
    return whole, {entry.overload: entry for entry in interface.aten.handwritten if entry.overload in outs}


def _declaration(result: str, name: str, parameters: Sequence[str]) -> str:
    """A result that leaves no room for the name is on a line of its own, as clang-format has it."""
    if len(f"{result} {name}(") > COLUMNS:
        return f"{result}\n{call_lines(name, parameters, ';')}"
    return call_lines(f"{result} {name}", parameters, ";")


def _declarations(interface: Interface) -> list[tuple[str, str]]:
    """A comment and a declaration for each handwritten function."""
    whole, fillers = _handwritten(interface)
    groups = {group.out: group for group in interface.aten.structured}
    lines = []
    for entry in sorted(whole, key=lambda one: one.overload):
        schema = schema_of(interface, entry.overload)
        assert schema is not None
        own = signature(schema)
        lines.append((entry.overload, _declaration(own.result, entry.function, own.texts)))
    for overload, entry in sorted(fillers.items()):
        schema = schema_of(interface, overload)
        assert schema is not None
        results = tuple(a.name for a in schema.arguments if a.written and a.keyword_only)
        parameters = run_parameters(schema, results, groups[overload])
        lines.append((f"{overload}: fills its outputs", call_lines(f"void {entry.function}", parameters, ";")))
    return lines


def _sources(interface: Interface) -> tuple[str, ...]:
    named = {interface.file_of[f.name] for f in interface.functions if f.aten and f.name in interface.file_of}
    extra = [name for name in interface.files if name.startswith("specs/aten/") or name == "specs/torch.yaml"]
    return (*sorted({*named, *extra}), "specs/types.yaml")


def _headers(names: Iterable[str]) -> list[str]:
    return sorted(set(names))


def emit(interface: Interface, templates: Path) -> Plan:
    """`torch/structured.cpp`, `torch/handwritten.cpp` and `torch/kernels.h`; nothing where the spec has no torch.yaml.

    Raises `Failure` for every overload that cannot be served as the spec says.
    """
    if not interface.aten.structured or "specs/torch.yaml" not in interface.files:
        return Plan(())
    problems = _check_names(interface)
    if problems:
        raise Failure(*problems)
    kernels, problems = structured(interface)
    problems += unserved(interface)
    if problems:
        raise Failure(*problems)
    whole, _ = _handwritten(interface)
    values = {
        "release": interface.aten_release,
        "kernels": kernels,
        "headers": _headers(header for kernel in kernels for header in kernel.headers),
        "registrations": [line for kernel in kernels for line in registrations(kernel.group)],
        "declarations": _declarations(interface),
        "handwritten": [
            f"implement<{operator_class(entry.overload)}, &kernels::{entry.function}>(library);"
            for entry in sorted(whole, key=lambda one: one.overload)
        ],
        "handwritten_headers": _headers(operator_header(entry.overload) for entry in whole),
    }
    inputs = _sources(interface)
    files = []
    for name in ("structured.cpp", "handwritten.cpp", "kernels.h"):
        template = f"torch/{name}.j2"
        content = render(templates, template, values)
        files.append(PlannedFile(f"torch/{name}", content, (*inputs, f"templates/{template}"), TARGET))
    return Plan(tuple(files))
