"""Pairs of parameters by name: arguments of ATen, and gradients with what they are the gradient of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from diopigen.emit.torch.binding import BindingError, bind
from diopigen.ir.aten import parse_schema
from diopigen.ir.model import Function, Interface
from diopigen.refactoring.changes import Tree


def changed_bindings(tree: Tree, interface: Interface, functions: Sequence[Function], old: str, new: str) -> None:
    """Names for a person what pairs otherwise under the new name: an overload of ATen whose argument finds its
    parameter by the name alone, and the gradient that `check` compares with a derivative."""
    for function in functions:
        renamed = _renamed(function, old, new)
        for overload in function.aten:
            if overload.name not in interface.aten.schemas:
                continue
            before = _binding(function, interface.aten.schemas[overload.name], {old: new})
            after = _binding(renamed, interface.aten.schemas[overload.name], {})
            if before != after:
                message = f"'{overload.name}' of ATen finds its parameters by their names, and not '{new}'"
                tree.by_hand(message, overload.span, "add the name to SYNONYMS of diopigen/emit/torch/binding.py")
    for function in interface.functions:
        gradient = function.param(f"grad_{old}")
        if gradient is not None and function.backward_of == functions[0].operator:
            message = f"{function.name}: 'grad_{old}' is the gradient of '{old}' by its name"
            fix = f"diopigen rename {function.short_name}.grad_{old} grad_{new}"
            tree.by_hand(message, gradient.span, fix)


def _renamed(function: Function, old: str, new: str) -> Function:
    params = tuple(replace(param, name=new) if param.name == old else param for param in function.params)
    counted = tuple(replace(param, count=new) if param.count == old else param for param in params)
    aten = tuple(
        replace(one, constants={new if name == old else name: value for name, value in one.constants.items()})
        for one in function.aten
    )
    return replace(function, params=counted, aten=aten)


def _binding(function: Function, schema: str, names: dict[str, str]) -> dict[str, str] | str:
    """The argument of each parameter, whose names are replaced; the reason where there is no binding."""
    try:
        bound = bind(function, parse_schema(schema))
    except BindingError as reason:
        return str(reason)
    return {names.get(name, name): argument.name for name, argument in bound.arguments.items()}
