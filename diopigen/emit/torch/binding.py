"""Mapping of the arguments of an ATen overload to the parameters of a function of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.ir.aten import AtenArgument, AtenSchema, kinds_of
from diopigen.ir.aten_model import Overload
from diopigen.ir.clauses import Default
from diopigen.ir.model import Function, Parameter

IMPLIED = frozenset(
    {
        "keepdim",
        "dtype",
        "input_dtype",
        "half_to_float",
        "layout",
        "device",
        "pin_memory",
        "memory_format",
        "sparse_grad",
    }
)
"""Arguments of ATen that the outputs say, or that concern the gradient alone."""
SCALES = frozenset({"scales", "scales_d", "scales_h", "scales_w"})
"""Arguments of ATen that repeat the ratio of two sizes, for a function that knows sizes alone."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Arguments by parameter name. `outputs` are the parameters that are written, in the order of the results; they
    have no argument unless the overload reads them as well."""

    arguments: Mapping[str, AtenArgument]
    outputs: tuple[Parameter, ...]
    constants: Mapping[str, Default] = field(default_factory=dict)
    """The parameters that the overload fixes, with their values."""
    scales: tuple[str, ...] = ()
    """Arguments that repeat what sizes say; the kernel falls back where they say something else."""


class BindingError(Exception):
    """An argument or a parameter has no counterpart."""


def _entry(function: Function, overload: str) -> Overload | None:
    return next((one for one in function.aten if one.name == overload), None)


def matched(function: Function, schema: AtenSchema) -> Mapping[str, AtenArgument]:
    """The argument of each parameter that is read: the one that the entry names, the one of the same name, then the
    rest of the same kind in order. What the overload fixes takes none."""
    entry = _entry(function, schema.name)
    named = {argument: param for param, argument in entry.names.items()} if entry is not None else {}
    counts = {param.count for param in function.params if isinstance(param.count, str)}
    skipped = {*counts, *(entry.constants if entry is not None else ())}
    waiting = [p for p in function.params if (p.is_read or p.type == "generator") and p.name not in skipped]
    taken: dict[str, AtenArgument] = {}
    for by_name in (True, False):
        for argument in _provided(schema):
            if argument in taken.values() or (argument.name in IMPLIED | SCALES and not by_name):
                continue
            suited = [p for p in waiting if p.type in kinds_of(argument)]
            if by_name:
                suited = [p for p in suited if p.name == named.get(argument.name, argument.name)]
            else:
                suited = [p for p in suited if p.name not in named.values()]
            if suited:
                taken[suited[0].name] = argument
                waiting.remove(suited[0])
    return taken


def _provided(schema: AtenSchema) -> list[AtenArgument]:
    return [a for a in schema.arguments if not (a.written and a.keyword_only)]


def bind(function: Function, schema: AtenSchema) -> Binding:
    """Pairs arguments with parameters.

    Raises `BindingError` where an argument would be lost, or a parameter without a default has none.
    """
    taken = matched(function, schema)
    entry = _entry(function, schema.name)
    constants = entry.constants if entry is not None else {}
    counts = {param.count for param in function.params if isinstance(param.count, str)}
    outputs = tuple(p for p in function.params if p.is_written and p.type != "generator")
    provided = _provided(schema)
    used = set(map(id, taken.values()))
    lost = [a.name for a in provided if id(a) not in used and a.name not in IMPLIED | SCALES and not a.written]
    if lost:
        raise BindingError(f"has no parameter for {', '.join(lost)}")
    without = [p for p in function.params if p.direction == "in" and p.name not in {*taken, *constants, *counts}]
    missing = [p.name for p in without if p.default is None and not p.nullable]
    if missing:
        raise BindingError(f"has nothing for {', '.join(missing)}")
    scales = tuple(a.name for a in provided if a.name in SCALES and id(a) not in used)
    return Binding(taken, outputs, constants, scales)
