"""The operators of Relax with the functions that compute them: those that the spec lists, and those of ATen's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diopigen.diagnostics import did_you_mean
from diopigen.emit.tvm_ffi.arguments import TENSORS, is_destination, passed, returned
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.ir.relax_model import RelaxOperator
from diopigen.spec.expression import Call, Expression, ExpressionError, Name, Text, parse

FORMS = {
    "symmetric": "the padding of one side, where both sides have the same",
    "axes": "dimensions counted from the first; all where there are none",
    "trailing": "the sizes of the first operand's dimensions of these numbers, which must be its last ones",
    "permutation": "an order of dimensions; without one they are reversed",
    "number": "an operand that is a number",
}
"""Functions in expressions of arguments."""


def entries(interface: Interface) -> Mapping[str, tuple[RelaxOperator, ...]]:
    """The entries of each operator, in the order in which they are tried."""
    found: dict[str, list[RelaxOperator]] = {}
    for operator, name in interface.relax.named.items():
        function = by_aten_name(interface, name)
        if function is not None:
            arguments = {param.name: f"x{k}" for k, param in enumerate(_tensors_in(function))}
            found.setdefault(operator, []).append(RelaxOperator(operator, function.name, arguments))
    for entry in interface.relax.operators:
        if interface.function(entry.function) is not None:  # of a draft nothing is generated
            found.setdefault(entry.relax, []).append(entry)
    return {operator: tuple(found[operator]) for operator in sorted(found)}


def by_aten_name(interface: Interface, name: str) -> Function | None:
    """The function that serves an overload of ATen of that name, has one output and takes tensors alone but for
    parameters with defaults."""
    for function in interface.functions:
        overloads = {overload.name.partition(".")[0] for overload in function.aten if not overload.constants}
        if name not in overloads or function.variant != "base" or returned(function):
            continue
        others = [param for param in read(function) if param not in _tensors_in(function)]
        written = [param for param in function.params if is_destination(param)]
        if len(written) == 1 and all(param.default is not None and param.type not in TENSORS for param in others):
            return function
    return None


def read(function: Function) -> tuple[Parameter, ...]:
    """The arguments of a packed function that come before its destinations."""
    return tuple(param for param in passed(function) if not is_destination(param))


def _tensors_in(function: Function) -> list[Parameter]:
    return [param for param in read(function) if param.type == "tensor" and param.direction == "in"]


def counted(function: Function) -> Mapping[str, str]:
    """The parameters that are the number of entries of a list, with the list."""
    return {
        param.count: param.name for param in function.params if param.type == "tensors" and isinstance(param.count, str)
    }


def argument(text: str) -> Expression:
    """The expression of an argument. Raises `ExpressionError` for one that is none, or calls an unknown form."""
    found = parse(text)
    if isinstance(found, (Name, Text)):
        return found
    if isinstance(found, Call) and len(found.arguments) == 1 and isinstance(found.arguments[0], Name):
        if found.function not in FORMS:
            hint = did_you_mean(found.function, FORMS) or f"forms: {', '.join(FORMS)}"
            raise ExpressionError(f"there is no form '{found.function}'; {hint}", found.offset, len(found.function))
        return found
    raise ExpressionError("an argument is a name, a quoted text, or a form of a name", 0, len(text))


def operators_of(match: Expression) -> tuple[str, ...]:
    """The operators of a fused expression, the outermost first; `nn_conv2d` stands for nn.conv2d."""
    if not isinstance(match, Call):
        return ()
    inner = (name for argument in match.arguments for name in operators_of(argument))
    return (operator_name(match.function), *inner)


def operator_name(word: str) -> str:
    """The operator that a function of a fused expression stands for."""
    space, _, rest = word.partition("_")
    return f"{space}.{rest}" if space in ("nn", "image") else word


def names_of(match: Expression) -> tuple[str, ...]:
    """The names in a fused expression: parameters of its function."""
    if isinstance(match, Name):
        return (match.name,)
    return tuple(name for argument in match.arguments for name in names_of(argument)) if isinstance(match, Call) else ()


def as_data(value: Any) -> Any:
    """A value of the spec as JSON has it."""
    if isinstance(value, Mapping):
        return {key: as_data(item) for key, item in value.items()}
    return [as_data(item) for item in value] if isinstance(value, tuple) else value
