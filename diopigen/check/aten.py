"""ATen overloads: each exists in the release that the spec names, once, and can be served as it is used."""

from __future__ import annotations

from collections import Counter

from diopigen.check.rule import Subject
from diopigen.check.types import misfit
from diopigen.diagnostics import Note, Sink, Span, did_you_mean
from diopigen.ir.aten import AtenSchema, kinds_of, parse_schema
from diopigen.ir.aten_model import Overload
from diopigen.ir.model import Function
from diopigen.ir.types import TENSORS

RULES = {
    "unknown-overload": "An ATen overload exists in a release of torch that the spec names.",
    "duplicate-overload": "An ATen overload is served by one function.",
    "overload-mismatch": "What an ATen overload writes and takes can be served by the function.",
    "bad-binding": "What an ATen overload fixes is a parameter that it does not pass, with a value that it may have; "
    "what it calls otherwise is a parameter and an argument of one kind.",
}

_NUMBERS = frozenset({"Scalar", "float", "int", "bool", "SymInt"})


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    schemas = subject.interface.aten.schemas
    if not schemas:
        return
    packets = Counter(name.partition(".")[0] for name in schemas)
    first: dict[str, tuple[str, Span]] = {}
    for function in subject.functions:
        for overload in function.aten:
            if overload.name in first:
                owner, span = first[overload.name]
                message = f"{function.name}: '{overload.name}' is served by {owner} already"
                notes = [Note("first named here", span)]
                sink.error("duplicate-overload", message, overload.span, notes=notes, fix="keep it where it fits best")
                continue
            first[overload.name] = (function.name, overload.span)
            text = schemas.get(overload.name)
            if text is not None:
                _check_fit(subject, function, overload, text, sink)
            elif overload.name not in subject.interface.aten.damaged:
                _report_unknown(subject, function, overload, packets, sink)


def _report_unknown(
    subject: Subject, function: Function, overload: Overload, packets: Counter[str], sink: Sink
) -> None:
    packet = overload.name.partition(".")[0]
    if packet in packets:
        overloads = sorted(name for name in subject.interface.aten.schemas if name.partition(".")[0] == packet)
        fix = f"overloads of {packet}: {', '.join(overloads)}"
    else:
        fix = did_you_mean(packet, packets) or "see native_functions.yaml of torch"
    message = f"{function.name}: {subject.interface.aten.torch} has no overload '{overload.name}'"
    sink.error("unknown-overload", message, overload.span, fix=fix)


def _check_fit(subject: Subject, function: Function, overload: Overload, text: str, sink: Sink) -> None:
    schema = parse_schema(text)
    problem = _problem(function, schema)
    if problem:
        fix = "name the overload under the variant that it fits"
        message = f"{function.name}: '{overload.name}' {problem}"
        sink.error("overload-mismatch", message, overload.span, fix=fix)
    passed = {argument.name for argument in schema.arguments}
    for name in overload.constants:
        _check_constant(subject, function, overload, name, name in passed, sink)
    for name in overload.names:
        _check_name(function, overload, name, schema, sink)


def _check_name(function: Function, overload: Overload, name: str, schema: AtenSchema, sink: Sink) -> None:
    """A parameter that an overload calls otherwise."""
    argument, position = overload.names[name], overload.spans[name]
    params = {param.name: param for param in function.params if param.is_read}
    arguments = {one.name: one for one in schema.arguments}
    where = f"{function.name}: '{overload.name}' names '{argument}' for '{name}'"
    if name not in params:
        fix = did_you_mean(name, params) or f"parameters that are read: {', '.join(params) or 'none'}"
        sink.error("bad-binding", f"{where}, which is no parameter that is read", position, fix=fix)
    elif argument not in arguments:
        fix = did_you_mean(argument, arguments) or f"arguments of the overload: {', '.join(arguments)}"
        sink.error("bad-binding", f"{where}, but has no such argument", position, fix=fix)
    elif params[name].type not in kinds_of(arguments[argument]):
        message = f"{where}, which is no {params[name].type}"
        sink.error("bad-binding", message, position, fix="name an argument of the parameter's kind")


def _check_constant(
    subject: Subject, function: Function, overload: Overload, name: str, is_passed: bool, sink: Sink
) -> None:
    """A parameter that an overload fixes. `is_passed`: it has an argument of that name."""
    values = {param.name: param for param in function.params if not param.is_written and param.type not in TENSORS}
    param, constant, position = values.get(name), overload.constants[name], overload.spans[name]
    where = f"{function.name}: '{overload.name}' binds '{name}'"
    if param is None:
        fix = did_you_mean(name, values) or f"parameters with a value: {', '.join(values) or 'none'}"
        sink.error("bad-binding", f"{where}, which is no parameter with a value", position, fix=fix)
    elif is_passed:
        sink.error("bad-binding", f"{where}, which it passes", position, fix="remove it")
    elif problem := misfit(subject, param, constant):
        sink.error("bad-binding", f"{where} to a value that is {problem}", constant.span, fix="give a legal value")


def _problem(function: Function, schema: AtenSchema) -> str:
    params = function.params
    has_output = any(p.direction in ("out", "partial_out") for p in params)
    writes_input = any(p.direction in ("inout", "partial_out") and p.type in ("tensor", "tensors") for p in params)
    if schema.is_inplace and function.variant == "base" and not writes_input and not has_output:
        return "works in place, but the function writes no tensor"
    if function.variant in ("inplace", "inplace_scalar") and not any(a.written for a in schema.arguments):
        return "writes nothing, but the function works in place"
    if function.variant in ("scalar", "inplace_scalar"):
        tensors = sum(a.type == "Tensor" and not a.written for a in schema.arguments)
        own = sum(p.type in ("tensor", "tensors") and p.is_read for p in params)
        numbers = sum(a.type in _NUMBERS for a in schema.arguments)
        if tensors > own and numbers == 0:
            return f"takes {tensors} tensors and no number, but the function takes {own} and a scalar"
    return ""
