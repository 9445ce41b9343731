"""The glue for PyTorch: kernels for the overloads of ATen that functions of the interface serve.

Overloads of structured operators are generated. What the spec's `torch.yaml` names is handwritten, and declared and
registered here with the forms that are derived from it (`forms`). An overload that a new device needs, that a
function of the interface serves, and that is neither is an error: nothing is left out in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from diopigen.diagnostics import Diagnostic, Failure, Severity, Span, did_you_mean
from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.emit.torch.binding import BindingError
from diopigen.emit.torch.compiled import COPIES, call_bindings, functions_of, fusible, table_lines
from diopigen.emit.torch.custom import operators
from diopigen.emit.torch.custom_autocast import promotion_lines
from diopigen.emit.torch.custom_text import class_text, definition
from diopigen.emit.torch.forms import (
    Family,
    Kernel,
    default_name,
    derived_text,
    families,
    kernels_of,
    takes,
    wrapper_name,
)
from diopigen.emit.torch.gradients import gradients, lines
from diopigen.emit.torch.reasons import wrong_reasons
from diopigen.emit.torch.releases import guarded, guarded_headers
from diopigen.emit.torch.ruled import RuledKernel, ruled_kernel
from diopigen.emit.torch.schema import operator_class, operator_header, signature
from diopigen.emit.torch.structured import StructuredKernel, registrations, run_parameters, structured_kernel
from diopigen.ir.aten import parse_schema
from diopigen.ir.aten_model import Aten, Overload
from diopigen.ir.model import Function, Interface

TARGET = "torch"

RULES = {
    "torch-unserved": "An overload that a new device needs and a function names is generated, handwritten or left out.",
    "torch-unknown": "torch.yaml names overloads of the release that the spec names, each once.",
    "torch-changed": "What kernels serve has the same types in all releases, and is structured in all or none.",
    "torch-idle": "An overload that torch.yaml leaves out is one that would be served otherwise.",
}


def _error(code: str, message: str, span: Span, fix: str) -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, message, span, (), fix)


def _owners(interface: Interface) -> dict[str, tuple[Function, Overload]]:
    """The function and the entry of each overload that the spec names."""
    return {overload.name: (f, overload) for f in interface.functions for overload in f.aten}


def _changes(interface: Interface, overload: str) -> bool:
    """Tells whether kernels of an overload have several types."""
    texts = (*interface.aten.earlier_schemas.get(overload, ()), interface.aten.schemas.get(overload, ""))
    signatures = [signature(parse_schema(text)) for text in texts if text]
    return len({(own.result, tuple(kind for kind, _ in own.parameters)) for own in signatures}) > 1


def _check_releases(interface: Interface) -> list[Diagnostic]:
    """Errors for what kernels serve and releases of torch do not agree on."""
    aten = interface.aten
    spans = {name: entry.span for name, (_, entry) in _owners(interface).items()}
    spans |= {name: entry.span for entry in aten.handwritten for name in (entry.overload, *entry.also)}
    found = {name: f"'{name}' has other C++ types in some releases of" for name in spans if _changes(interface, name)}
    for group in aten.structured:
        overloads = {group.out, group.functional, group.inplace}
        if not group.in_all_releases or overloads & set(aten.releases_of):
            found[group.out] = f"'{group.out}' is a structured operator in some releases alone of"
    fix = "remove it here until the releases agree"
    return [
        _error("torch-changed", f"{text} {aten.torch}", spans[name], fix)
        for name, text in found.items()
        if name in spans
    ]


def _check_names(interface: Interface) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    seen: set[str] = set()
    owners = _owners(interface)
    entries = [(name, entry.span) for entry in interface.aten.handwritten for name in (entry.overload, *entry.also)]
    entries += [(entry.overload, entry.span) for entry in interface.aten.left_out]
    for overload, span in entries:
        if overload not in interface.aten.schemas:
            message = f"{interface.aten.torch} has no overload '{overload}'"
            fix = did_you_mean(overload, interface.aten.schemas) or "see native_functions.yaml of torch"
            found.append(_error("torch-unknown", message, span, fix))
        elif overload in seen:
            message = f"'{overload}' is named twice"
            found.append(_error("torch-unknown", message, span, "keep one entry"))
        seen.add(overload)
    for left in interface.aten.left_out:
        if left.overload in interface.aten.schemas and left.overload not in owners:
            message = f"no function of the interface names '{left.overload}'"
            found.append(_error("torch-idle", message, left.span, "remove the entry"))
    known = {function.short_name for function in interface.functions}
    for kernel in interface.aten.handwritten:
        for name in kernel.calls:
            if name not in known:
                message = f"{kernel.overload} calls '{name}', which is no function of the interface"
                found.append(_error("torch-unknown", message, kernel.span, did_you_mean(name, known) or "see the spec"))
    return found


def _check_forms(known: Mapping[str, Family], kernels: Sequence[Kernel]) -> list[Diagnostic]:
    """Checks that further overloads of a kernel have the same arguments; derived names need not be listed."""
    found = []
    for kernel in kernels:
        entry = kernel.entry
        for schema in kernel.forms.derived:
            if takes(schema) != takes(kernel.forms.schema):
                message = f"'{schema.name}' takes other arguments than '{entry.overload}'"
                found.append(_error("torch-unknown", message, entry.span, "give it an entry of its own"))
        if entry.function == default_name(entry.overload, known[entry.overload]):
            message = f"'{entry.overload}' is served by {entry.function} without being told"
            found.append(_error("torch-idle", message, entry.span, "leave 'function' out"))
    return found


def structured(interface: Interface, handwritten: Sequence[Kernel]) -> tuple[list[StructuredKernel], list[Diagnostic]]:
    """The kernels of structured operators, and what cannot be generated."""
    by_out = {kernel.entry.overload: kernel.name for kernel in handwritten}
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
        except BindingError as reason:
            problems.append(_unserved(function, overload, str(reason)))
    return kernels, problems


def _unserved(function: Function, overload: Overload, reason: str) -> Diagnostic:
    message = f"{function.name}: '{overload.name}' {reason}"
    fix = "write a kernel by hand, and name it in torch.yaml"
    return _error("torch-unserved", message, overload.span, fix)


def ruled(
    interface: Interface, known: Mapping[str, Family], handwritten: Sequence[Kernel]
) -> tuple[list[RuledKernel], list[Diagnostic]]:
    """Kernels of overloads that a new device needs, that a function names, and that nothing else serves; and what
    cannot be generated."""
    served = {overload for kernel in handwritten for overload in kernel.forms.overloads}
    served |= {entry.overload for entry in interface.aten.left_out}
    served |= {name for group in interface.aten.structured for name in (group.out, group.functional)}
    kernels: list[RuledKernel] = []
    problems = []
    for name, (function, overload) in _owners(interface).items():
        if name not in interface.aten.needed or name in served:
            continue
        try:
            if missing := [member for member in known[name].members if member in interface.aten.releases_of]:
                raise BindingError(f"belongs to {missing[0]}, which is not in all of {interface.aten.torch}")
            kernel = ruled_kernel(interface, known[name], frozenset(served))
        except BindingError as reason:
            problems.append(_unserved(function, overload, str(reason)))
            continue
        kernels.append(kernel)
        served |= {overload for overload, _ in kernel.overloads}
    return sorted(kernels, key=lambda kernel: kernel.overloads), problems


def _parted(interface: Interface, kernels: Sequence[Kernel]) -> tuple[list[Kernel], list[Kernel]]:
    """Handwritten kernels of whole overloads; and those that fill the outputs of a structured group. By overload."""
    outs = {group.out for group in interface.aten.structured}
    kernels = sorted(kernels, key=lambda kernel: kernel.entry.overload)
    complete = [kernel for kernel in kernels if kernel.entry.overload not in outs]
    return complete, [kernel for kernel in kernels if kernel.entry.overload in outs]


def _registrations(aten: Aten, complete: Sequence[Kernel]) -> list[str]:
    """A line for each overload that handwritten kernels serve."""
    lines = {kernel.entry.overload: f"kernels::{kernel.name}" for kernel in complete}
    lines |= {schema.name: wrapper_name(schema) for kernel in complete for schema in kernel.forms.derived}
    return guarded(aten, [(name, f"    {_registration(operator_class(name), lines[name])}") for name in sorted(lines)])


def _registration(operator: str, function: str) -> str:
    line = f"implement<{operator}, &{function}>(library);"
    if len(line) + 4 <= COLUMNS:
        return line
    head = line.removesuffix("library);")
    if len(head) + 4 <= COLUMNS:
        return f"{head}\n{' ' * 8}library);"
    return line.replace(", ", ",\n" + " " * len("    implement<"), 1)


def _declaration(result: str, name: str, parameters: Sequence[str]) -> str:
    """A result that leaves no room for the name is on a line of its own, as clang-format has it."""
    if len(f"{result} {name}(") > COLUMNS:
        return f"{result}\n{call_lines(name, parameters, ';')}"
    return call_lines(f"{result} {name}", parameters, ";")


def _declarations(interface: Interface, complete: Sequence[Kernel], fillers: Sequence[Kernel]) -> list[tuple[str, str]]:
    """A comment and a declaration for each handwritten function."""
    groups = {group.out: group for group in interface.aten.structured}
    lines = []
    for kernel in complete:
        own = signature(kernel.forms.schema)
        lines.append((", ".join(kernel.forms.overloads), _declaration(own.result, kernel.name, own.texts)))
    for kernel in fillers:
        results = tuple(a.name for a in kernel.forms.schema.arguments if a.written and a.keyword_only)
        overload = kernel.entry.overload
        parameters = run_parameters(kernel.forms.schema, results, groups[overload])
        lines.append((f"{overload}: fills its outputs", call_lines(f"void {kernel.name}", parameters, ";")))
    return lines


def _sources(interface: Interface) -> tuple[str, ...]:
    named = spec_files(interface, (function for function in interface.functions if function.aten))
    extra = [name for name in interface.files if name.startswith("specs/aten/") or name == "specs/torch.yaml"]
    return (*sorted({*named, *extra}), "specs/types.yaml")


def _headers(names: Iterable[str]) -> list[str]:
    return sorted(set(names))


def _customs(interface: Interface) -> dict[str, object]:
    """Data of the template of the operators of the namespace `diopi`."""
    found, _ = operators(interface)
    return {
        "custom_headers": sorted({one.function.header for one in found}),
        "customs": [class_text(one) for one in found],
        "custom_definitions": [line for one in found for line in definition(one)],
        "custom_kernels": [(one.name, one.function.short_name, one.is_shaped) for one in found],
        "custom_gradients": lines(gradients(interface, found)[0]),
        "custom_promotions": promotion_lines(found),
    }


def _structured_files(kernels: Sequence[StructuredKernel]) -> dict[str, dict[str, object]]:
    """The kernels of structured operators by file: two that take the same time and memory to compile."""
    parts = {
        "structured_elementwise.cpp": [kernel for kernel in kernels if kernel.group.iterator],
        "structured.cpp": [kernel for kernel in kernels if not kernel.group.iterator],
    }
    return {
        name: {
            "kernels": part,
            "headers": _headers(header for kernel in part for header in kernel.headers),
            "registrations": [line for kernel in part for line in registrations(kernel.group)],
        }
        for name, part in parts.items()
    }


def emit(interface: Interface, templates: Path) -> Plan:
    """The sources in `torch/` and their headers.

    Nothing where the spec has no torch.yaml.

    Raises `Failure` for every overload that cannot be served as the spec says.
    """
    if not interface.aten.structured or "specs/torch.yaml" not in interface.files:
        return Plan(())
    problems = _check_names(interface) + _check_releases(interface)
    if problems:
        raise Failure(*problems)
    known = families(interface)
    handwritten = kernels_of(interface, known)
    problems = _check_forms(known, handwritten) + wrong_reasons(interface, known, handwritten)
    if problems:
        raise Failure(*problems)
    kernels, problems = structured(interface, handwritten)
    by_rule, more = ruled(interface, known, handwritten)
    if problems or more:
        raise Failure(*problems, *more)
    complete, fillers = _parted(interface, handwritten)
    calls = call_bindings(interface, known, handwritten)
    values = {
        "torch": interface.aten.torch,
        "ruled": [kernel.text for kernel in by_rule],
        "ruled_registrations": [
            _registration(operator_class(name), function) for kernel in by_rule for name, function in kernel.overloads
        ],
        "ruled_headers": _headers(operator_header(name) for kernel in by_rule for name, _ in kernel.overloads),
        "declarations": _declarations(interface, complete, fillers),
        "derived": [
            (
                schema.name,
                kernel.entry.overload,
                "\n".join(guarded(interface.aten, [(schema.name, derived_text(kernel.forms, schema))])),
            )
            for kernel in complete
            for schema in kernel.forms.derived
        ],
        "compiled_functions": table_lines(functions_of(interface, calls)),
        "compiled_kernels": fusible(interface, functions_of(interface, calls)),
        "compiled_bindings": [*COPIES, *(call.text() for call in calls)],
        "handwritten": _registrations(interface.aten, complete),
        "handwritten_headers": guarded_headers(
            interface.aten,
            {name: operator_header(name) for kernel in complete for name in kernel.forms.overloads},
        ),
        **_customs(interface),
    }
    types = {
        "header": interface.types_header,
        "dtypes": interface.dtypes,
        "sets": [
            (
                f"k{one.name.capitalize()}{'Dtype' if one.name == 'any' else ''}",
                [f"k{n.capitalize()}" for n in one.dtypes],
            )
            for one in interface.dtype_sets
        ],
    }
    inputs = _sources(interface)
    every = tuple(name for name in interface.files if name.startswith("specs/ops/"))
    files = []
    for name, own in _structured_files(kernels).items():
        content = render(templates, "torch/structured.cpp.j2", {**values, **own})
        files.append(PlannedFile(f"torch/{name}", content, (*inputs, "templates/torch/structured.cpp.j2"), TARGET))
    for name in ("ruled.cpp", "handwritten.cpp", "compiled.cpp", "custom.cpp", "kernels.h"):
        template = f"torch/{name}.j2"
        content = render(templates, template, values)
        read = sorted({*inputs, *every}) if name == "custom.cpp" else inputs
        files.append(PlannedFile(f"torch/{name}", content, (*read, f"templates/{template}"), TARGET))
    template = "torch/scalar_types.h.j2"
    content = render(templates, template, types)
    files.append(PlannedFile("torch/scalar_types.h", content, ("specs/types.yaml", f"templates/{template}"), TARGET))
    return Plan(tuple(files))
