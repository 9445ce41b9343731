"""Directions: what an operator reads and what it writes is said, not guessed."""

from __future__ import annotations

from diopigen.check.rule import Subject, open_entry
from diopigen.diagnostics import Sink
from diopigen.ir.c_types import is_written_through
from diopigen.ir.model import Function
from diopigen.ir.types import TYPES

RULES = {
    "missing-direction": "Every tensor and generator says whether it is in, out, inout or partial_out.",
    "impossible-direction": "A direction is one that the type can have, and nothing const is written.",
    "irregular-order": "Outputs come before inputs, or the entry says why not.",
}


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for function in subject.functions:
        for param in function.params:
            info = TYPES.get(param.type)
            allowed = info.directions if info else ("in", "out", "inout")
            if not param.direction:
                message = f"{function.name}: '{param.name}' has no direction"
                fix = f"say what the operator does with it: {', '.join(allowed)}"
                open_entry(function, sink, "missing-direction", message, param.span, fix)
            elif param.direction not in allowed:
                message = f"{function.name}: '{param.name}' of type {param.type} cannot be '{param.direction}'"
                fix = f"use {' or '.join(allowed)}"
                sink.error("impossible-direction", message, param.at("direction"), fix=fix)
            elif param.c_type and param.is_written and not is_written_through(param.c_type):
                what = f"'{param.name}' is '{param.direction}', but its type is '{param.c_type}'"
                message = f"{function.name}: {what}"
                sink.error("impossible-direction", message, param.at("direction"), fix="make it 'in'")
            elif param.const and param.is_written and param.type != "opaque":
                message = f"{function.name}: '{param.name}' is const and '{param.direction}'"
                sink.error("impossible-direction", message, param.at("const"), fix="remove 'const', or make it 'in'")
            elif param.mutable and param.is_written:
                message = f"{function.name}: 'mutable' on '{param.name}', which is written anyway"
                sink.error("impossible-direction", message, param.at("mutable"), fix="remove 'mutable'")
        if function.variant == "base" and function.family != "runtime":
            _check_order(function, sink)


def _check_order(function: Function, sink: Sink) -> None:
    name = function.name
    tensors = [param for param in function.params if param.type in TYPES and TYPES[param.type].has_shape]
    first_input = next((param for param in tensors if param.direction == "in"), None)
    late = [
        param
        for position, param in enumerate(tensors)
        if param.direction == "out" and any(other.direction == "in" for other in tensors[:position])
    ]
    if late and first_input is not None and function.irregular_order is None:
        message = f"{name}: output '{late[0].name}' comes after input '{first_input.name}'"
        fix = "move it to the front, or give the reason in 'irregular_order'"
        open_entry(function, sink, "irregular-order", message, late[0].span, fix)
    elif function.irregular_order is not None and not late:
        message = f"{name}: 'irregular_order' is given, but all outputs come first"
        sink.error("irregular-order", message, function.at("irregular_order"), fix="remove 'irregular_order'")
