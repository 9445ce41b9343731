"""Gradients of operators of the namespace `diopi`: the operator that computes them, and its arguments.

The words for an argument of a backward operator, and for what a result of it is, are those of
`diopigen_torch/custom_gradient.h`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.torch.binding import BindingError
from diopigen.emit.torch.custom import Argument, Custom
from diopigen.ir.model import DtypeList, Function, Interface, Parameter, ShapeList
from diopigen.spec.expression import Name

_DEFAULTS = frozenset({"", "in", "input", "bottom", "out", "points"})
"""Names of a gradient that is simply that of the first operand."""
_INTEGRAL = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})


@dataclass(frozen=True, slots=True)
class Backward:
    """One call of a backward operator."""

    operator: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]
    """For each result the argument of the forward operator that it is the gradient of, or `-`."""


def _is_floating(function: Function, param: Parameter) -> bool:
    return not (isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= _INTEGRAL)


def _stem(name: str) -> str:
    """Operand in the name of a gradient: `weight` of `grad_weight`, `mask` of `mask_grad`."""
    lower = name.lower()
    for part in ("grad_", "_grad", "grad"):
        if lower.startswith(part):
            return name[len(part) :].strip("_").lower()
        if lower.endswith(part):
            return name[: -len(part)].strip("_").lower()
    return lower


def _names(param: Parameter) -> list[str]:
    """The dimensions by name; what is no name is empty."""
    if not isinstance(param.shape, ShapeList):
        return []
    expressions = [one.formula.expression for one in param.shape.dimensions]
    return [one.name if isinstance(one, Name) else "" for one in expressions]


def _is_gradient(name: str) -> bool:
    return "grad" in name.lower() or name == "out"


def _target(forward: Custom, backward: Function, param: Parameter) -> int | None:
    """The argument of the forward operator that a written parameter is the gradient of."""
    if not _is_gradient(param.name):
        return None
    stem = _stem(param.name)
    tensors = [
        (position, one)
        for position, one in enumerate(forward.arguments)
        if one.param.type == "tensor" and not one.param.is_written and _is_floating(forward.function, one.param)
    ]
    for position, one in tensors:
        if one.name.lower() in (stem, f"{stem}s"):
            return position
    if stem in _DEFAULTS and tensors:
        return tensors[0][0]
    return None


def _result_of(forward: Custom, param: Parameter) -> int | None:
    """The result of the forward operator whose gradient a parameter is."""
    if "grad" not in param.name.lower():
        return None
    stem = _stem(param.name)
    floating = [n for n, one in enumerate(forward.results) if _is_floating(forward.function, one.param)]
    named = [n for n in floating if forward.results[n].param.name.lower() in (stem, "output", "out")]
    exact = [n for n in floating if forward.results[n].param.name.lower() == stem]
    return next(iter(exact or named or floating), None)


def _source(forward: Custom, backward: Custom, one: Argument, targets: Sequence[tuple[Parameter, int]]) -> str:
    """The word for an argument of the backward operator."""
    param = one.param
    names = [argument.name for argument in forward.arguments]
    if param.is_written and param.type == "tensor":
        target = next((index for written, index in targets if written.name == param.name), None)
        if target is None:
            raise BindingError(f"{backward.name} writes {param.name}, which is the gradient of no operand")
        return f"z{target}"
    if param.name in names:
        return f"i{names.index(param.name)}"
    results = [result.param.name for result in forward.results]
    if param.name in results:
        return f"o{results.index(param.name)}"
    if param.type == "tensor":
        index = _result_of(forward, param)
        if index is not None:
            return f"g{index}"
        if param.name in [scratch.name for scratch in forward.scratch]:
            return "e"
    if param.type in ("int64", "int32", "int"):
        for written, target in targets:
            dimensions = _names(written)
            if param.name in dimensions:
                return f"s{target}.{dimensions.index(param.name)}"
    if one.default is not None and param.type != "generator":
        return "d"
    raise BindingError(f"{backward.name} reads {param.name}, unknown to the call")


def _backward(forward: Custom, backward: Custom) -> Backward:
    function = backward.function
    targets = []
    for param in function.params:
        if param.is_written and param.type in ("tensor", "new_tensor"):
            index = _target(forward, function, param)
            if index is not None:
                targets.append((param, index))
    if not targets:
        raise BindingError(f"{backward.name} writes the gradient of no operand")
    words = tuple(_source(forward, backward, one, targets) for one in backward.arguments)
    if not any(word.startswith("g") for word in words):
        raise BindingError(f"{backward.name} reads no gradient of a result")
    positions = {param.name: index for param, index in targets}
    results = tuple(str(positions.get(result.param.name, "-")) for result in backward.results)
    return Backward(backward.name, words, results)


def gradients(interface: Interface, customs: Sequence[Custom]) -> tuple[dict[str, list[Backward]], dict[str, str]]:
    """The backward calls of each operator that has a gradient; and the functions for which none follow, with the
    reason."""
    by_function = {one.function.name: one for one in customs}
    found: dict[str, list[Backward]] = {}
    reasons: dict[str, str] = {}
    for forward in customs:
        others = [f for f in interface.functions if f.backward_of == forward.function.operator]
        if not others:
            continue
        try:
            if any(one.param.is_written and one.param.type != "generator" for one in forward.arguments):
                raise BindingError("its results are arguments that the caller provides")
            if any(one.param.type == "generator" for one in forward.arguments):
                raise BindingError("it draws random numbers, which the backward call must draw again")
            missing = [f.name for f in others if f.name not in by_function]
            if missing:
                raise BindingError(f"{', '.join(missing)} has no operator")
            calls = [_backward(forward, by_function[f.name]) for f in others]
            owners = [index for call in calls for index in _positions(call)]
            if len(owners) != len(set(owners)):
                raise BindingError("two backward functions compute the same gradient")
            found[forward.name] = calls
        except BindingError as reason:
            reasons[forward.function.name] = str(reason)
    return found, reasons


def _positions(call: Backward) -> list[str]:
    written = [word[1:] for word in call.arguments if word.startswith("z")]
    return [*written, *(index for index in call.results if index != "-")]


def lines(found: dict[str, list[Backward]]) -> list[str]:
    """The lines that fill the table, and register the autograd kernel."""
    text = []
    for forward, calls in found.items():
        for call in calls:
            words = (forward, call.operator, " ".join(call.arguments), " ".join(call.results))
            text += call_lines("add_gradient", [f'"{word}"' for word in words], ";", COLUMNS - 4).split("\n")
        text.append(f'differentiate(library, "{forward}");')
    return text
