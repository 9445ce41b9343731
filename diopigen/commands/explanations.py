"""Answers to `diopigen explain`: what a function is. `rulebook/text.py` answers for rules."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.diagnostics import failure, nearest
from diopigen.emit.c.headers import function_declaration
from diopigen.emit.prose import constraint_text, latitude_text, overload_text, param_text, shape_text
from diopigen.ir.model import Function, Interface, ShapeList
from diopigen.ir.types import TENSORS
from diopigen.spec.expression import to_text
from diopigen.spec.grammar_operators import UNSPECIFIED

RULES = {"unknown-function-name": "What is to be explained is a function of the spec or a rule."}


def explain_function(interface: Interface, name: str) -> str:
    """All that the spec says about a function. Raises `Failure` with the nearest name where there is none."""
    return _text(named_function(interface, name), interface)


def named_function(interface: Interface, name: str) -> Function:
    """A function by its name, with or without prefix. Raises `Failure` with the nearest name where there is none."""
    function = interface.function(name) or interface.function(interface.naming.full(name))
    if function is None:
        near = nearest(interface.naming.full(interface.naming.short(name)), (f.name for f in interface.functions))
        fix = f"did you mean '{near}'?" if near else "diopigen explain --rules lists the rules"
        raise failure("unknown-function-name", f"there is no function or rule '{name}'", fix=fix)
    return function


def _open_shapes(function: Function) -> Iterator[str]:
    """The outputs whose shapes do not follow from shapes, numbers and lists, each with what decides."""
    for param in function.params:
        if param.direction not in ("out", "partial_out") or param.type not in TENSORS:
            continue
        if isinstance(param.shape, ShapeList):
            if any(entry.kind == "unknown" for entry in param.shape.dimensions):
                yield f"  The shape of {param.name} depends on elements ('?')."
        elif not shape_text(param):
            allocated = param.type.startswith("new_")
            what = "depends on elements or on the library" if allocated else "is the caller's choice"
            yield f"  The shape of {param.name} {what}, within the constraints."


def _text(function: Function, interface: Interface) -> str:
    lines = [function_declaration(function), "", f"  {function.doc}", ""]
    facts = [
        ("header", function.header),
        ("family", function.family),
        ("operator", f"{function.operator} ({function.variant})"),
        ("tolerance", function.tolerance or ""),
        ("unspecified", "; ".join(UNSPECIFIED[word] for word in function.unspecified)),
        ("latitude", latitude_text(function.latitude)),
        ("work", "; ".join(f"{name}: {to_text(formula.expression)}" for name, formula in function.work)),
        ("gradient of", function.backward_of or ""),
        ("ATen", ", ".join(map(overload_text, function.aten))),
        ("since", function.since),
        ("deprecated", function.deprecated or ""),
        ("source", function.source or ""),
        ("spec", f"{interface.file_of.get(function.name, '')}:{function.span.line}"),
    ]
    lines += [f"  {label:<12} {value}" for label, value in facts if value]
    if function.params:
        lines.append("")
        width = max(len(param.name) for param in function.params)
        lines += [f"  {param.name:<{width}}  {param.direction:<11}  {param_text(param)}" for param in function.params]
        lines += list(_open_shapes(function))
    if function.kernel is not None:
        lines.append("")
        lines += [f"  let {name} = {to_text(formula.expression)}" for name, formula in function.kernel.lets]
        lines += [f"  {name} = {to_text(formula.expression)}" for name, formula in function.kernel.results]
    if function.constraints:
        lines.append("")
        lines += [f"  {constraint_text(constraint)}" for constraint in function.constraints]
    return "\n".join(lines)
