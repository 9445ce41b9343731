"""Which argument of an ATen overload becomes which parameter of a function of the interface."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.ir.aten import AtenArgument, AtenSchema
from diopigen.ir.model import Default, Function, Parameter

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "self": ("input", "inout", "inputs", "x"),
    "mat1": ("input",),
    "dim": ("dims", "axis"),
    "dims": ("dim",),
    "grad_output": ("grad", "grad_out", "grad_outputs"),
    "grad": ("grad_output",),
    "grad_out": ("grad_output",),
    "gradient": ("grad_output",),
    "ord": ("p", "norm_type"),
    "repeats": ("repeats_size",),
    "output_size": ("size", "out_size"),
    "input_size": ("in_size", "input_sizes"),
    "input_sizes": ("in_size",),
    "src": ("source",),
    "mask": ("condition",),
    "result": ("output",),
    "rstd": ("save_invstd", "inv_rms"),
    "group": ("num_groups",),
}
"""What the interface calls an argument of ATen, besides its own name."""

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

_NUMBERS = frozenset({"scalar", "double", "float", "int64"})
_KINDS: Mapping[str, frozenset[str]] = {
    "Tensor": frozenset({"tensor"}),
    "Scalar": _NUMBERS,
    "int": frozenset({"int64", "int32", "diopiReduction_t", "sizes"}),
    "SymInt": frozenset({"int64", "int32", "diopiReduction_t", "sizes"}),
    "float": frozenset({"double", "float", "scalar"}),
    "bool": frozenset({"bool"}),
    "str": frozenset({"string", "diopiRoundMode_t"}),
    "Generator": frozenset({"generator"}),
}


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


class Unbound(Exception):
    """An argument or a parameter has no counterpart."""


def _kinds(argument: AtenArgument) -> frozenset[str]:
    if argument.is_list and argument.type == "Tensor":
        return frozenset({"tensors"})
    if argument.is_list:
        return frozenset({"sizes"}) if argument.type in ("int", "SymInt") else frozenset()
    return _KINDS.get(argument.type, frozenset())


def constants_of(function: Function, overload: str) -> Mapping[str, Default]:
    """The parameters that an overload fixes."""
    return next((one.constants for one in function.aten if one.name == overload), {})


def bind(function: Function, schema: AtenSchema) -> Binding:
    """Pairs arguments with parameters: those of the same name first, then the rest of the same kind in order. What the
    overload fixes takes none.

    Raises `Unbound` where an argument would be lost, or a parameter without a default has none.
    """
    params = function.params
    counts = {param.count for param in params if isinstance(param.count, str)}
    constants = constants_of(function, schema.name)
    skipped = {*counts, *constants}
    waiting = [p for p in params if (p.is_read or p.type == "generator") and p.name not in skipped]
    provided = [a for a in schema.arguments if not (a.written and a.keyword_only)]
    taken: dict[str, AtenArgument] = {}
    for by_name in (True, False):
        for argument in provided:
            if argument in taken.values() or (argument.name in IMPLIED | SCALES and not by_name):
                continue
            kinds = _kinds(argument)
            suited = [p for p in waiting if p.type in kinds]
            if by_name:
                names = (argument.name, *SYNONYMS.get(argument.name, ()))
                suited = [p for name in names for p in suited if p.name == name]
            if suited:
                taken[suited[0].name] = argument
                waiting.remove(suited[0])
    outputs = tuple(p for p in params if p.is_written and p.type != "generator")
    used = set(map(id, taken.values()))
    lost = [a.name for a in provided if id(a) not in used and a.name not in IMPLIED | SCALES and not a.written]
    if lost:
        raise Unbound(f"has no parameter for {', '.join(lost)}")
    missing = [p.name for p in waiting if p.direction == "in" and p.default is None and not p.nullable]
    if missing:
        raise Unbound(f"has nothing for {', '.join(missing)}")
    scales = tuple(a.name for a in provided if a.name in SCALES and id(a) not in used)
    return Binding(taken, outputs, constants, scales)
