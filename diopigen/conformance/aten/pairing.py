"""Places of a function's parameters among the arguments and results of an overload, by the schema of the torch at hand.

The spec's names decide, as they do for the glue (`emit.torch.binding.matched`). What the outputs of a call say already,
an argument of ATen repeats: `RULES` has these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from diopigen.emit.torch.binding import matched
from diopigen.ir.aten import AtenArgument, AtenSchema
from diopigen.ir.model import Function, Parameter


class Seen(Protocol):
    """A tensor of a call, as rules see it."""

    @property
    def shape(self) -> Sequence[int]:
        """Sizes."""

    @property
    def dtype(self) -> Any:
        """The dtype of torch."""


class CallFacts(Protocol):
    """A call, as rules see it."""

    def output(self, index: int = 0) -> Seen | None:
        """The tensor that a result is for; None where the call has no use for the result."""

    def first_input(self) -> Seen:
        """The first tensor that is read."""

    @property
    def outputs(self) -> Sequence[Parameter]:
        """The parameters that are written."""

    def is_requested(self, param: Parameter) -> bool:
        """Returns whether the call has a position for an output."""

    @property
    def device(self) -> Any:
        """The device of the call."""

    def number(self, name: str) -> Any:
        """The value of a parameter that is no tensor."""


Rule = Callable[[CallFacts], Any]


def _mask(call: CallFacts) -> list[bool]:
    return [call.is_requested(param) for param in call.outputs]


def _dtype(call: CallFacts) -> Any:
    first = call.output()
    return None if first is None else first.dtype


def _keepdim(call: CallFacts) -> bool:
    first = call.output()
    return first is not None and len(first.shape) == len(call.first_input().shape)


def _half_to_float(call: CallFacts) -> bool:
    first = call.output()
    return first is not None and first.dtype != call.first_input().dtype


def _size(call: CallFacts) -> list[int]:
    first = call.output()
    return [] if first is None else list(first.shape)


RULES: Mapping[str, Rule] = {
    "output_mask": _mask,
    "mask": _mask,
    "return_inverse": lambda call: any(p.name == "indices" and call.is_requested(p) for p in call.outputs),
    "return_counts": lambda call: any(p.name == "counts" and call.is_requested(p) for p in call.outputs),
    "dtype": _dtype,
    "input_dtype": _dtype,
    "keepdim": _keepdim,
    "half_to_float": _half_to_float,
    "size": _size,
    "output_padding": lambda call: [0] * (len(call.first_input().shape) - 2),
    "transposed": lambda _: False,
    "unsafe": lambda _: False,
    "sparse_grad": lambda _: False,
    "device": lambda call: call.device,
    "N": lambda call: call.first_input().shape[0],
    "C": lambda call: call.first_input().shape[1],
    "output_size": lambda call: list(call.first_input().shape[-1:]),
    "normalized_shape": lambda call: list(call.first_input().shape[call.number("begin_norm_axis") :]),
    "state_steps": lambda call: [call.number("step")],
    "HxW": lambda call: _product(call.first_input().shape[2:]),
}
"""Arguments that no parameter has, by name."""


def _product(sizes: Sequence[int]) -> int:
    product = 1
    for size in sizes:
        product *= size
    return product


@dataclass(frozen=True, slots=True)
class Position:
    """An argument of an overload, and what it gets: a parameter, an output, a rule, or its default."""

    argument: AtenArgument
    param: Parameter | None = None
    output: int | None = None
    """Number among the outputs of the call, for an argument that results are written to."""
    rule: Rule | None = None


@dataclass(frozen=True, slots=True)
class Pairing:
    """The positions of an overload in order, and the parameters that its results belong to."""

    positions: tuple[Position, ...]
    outputs: tuple[Parameter, ...]
    constants: frozenset[str]
    """Parameters that the overload fixes or lacks."""
    gradients: Mapping[str, str] = field(default_factory=dict)
    grad_outputs: tuple[str, ...] = ()
    """As those of the overload (`ir.aten_model.Overload`)."""

    def left(self, function: Function) -> list[Parameter]:
        """The parameters that are read and have no position."""
        used = {position.param.name for position in self.positions if position.param is not None} | self.constants
        used |= {param.count for param in function.params if isinstance(param.count, str)}
        kinds = ("generator", "generators", "context")
        return [p for p in function.params if p.is_read and p.name not in used and p.type not in kinds]


class PairingError(Exception):
    """An argument or a parameter has no counterpart; the text says which."""


def paired(function: Function, overload: str, schema: AtenSchema, optional: frozenset[str]) -> Pairing:
    """The positions of the arguments of `schema`, which may have another name than the `overload` of the spec; those of
    `optional` have defaults. Raises `PairingError`."""
    entry = next(one for one in function.aten if one.name == overload)
    # What it lacks and has a usual value must have that one in a call.
    bare = {p.name for p in function.params if p.name in entry.without and (p.is_written or p.default is None)}
    # A gradient is no argument of the operator that autograd differentiates, unless it is named as one.
    lacking = {*entry.without, *(() if set(entry.grad_outputs) & set(entry.names) else entry.grad_outputs)}
    constants = frozenset({*entry.constants, *bare, *entry.grad_outputs})
    present = replace(function, params=tuple(p for p in function.params if p.name not in lacking))
    free = tuple(argument for argument in schema.arguments if argument.name not in entry.arguments)
    taken = matched(_with_lists(present, schema), replace(schema, name=overload, arguments=free))
    by_argument = {argument.name: function.param(name) for name, argument in taken.items()}
    outputs = tuple(p for p in present.params if p.is_written and p.type not in ("generator", "generators"))
    positions, written, waiting = [], 0, [p for p in outputs if p.name not in taken]
    for argument in schema.arguments:
        param = by_argument.get(argument.name) or _listed(present, argument)
        if argument.name in entry.arguments:
            positions.append(Position(argument, rule=_fixed(entry.arguments[argument.name].value)))
        elif param is not None:
            positions.append(Position(argument, param))
        elif argument.written:
            if not waiting:
                raise PairingError(f"no output is written to '{argument.name}'")
            positions.append(Position(argument, output=outputs.index(waiting.pop(0))))
            written += 1
        elif argument.name in RULES and not (argument.name == "size" and argument.name in optional):
            positions.append(Position(argument, rule=RULES[argument.name]))
        elif argument.name in optional or argument.optional:
            positions.append(Position(argument))
        elif argument.type == "Tensor" and not argument.is_list and not written and not entry.gradients:
            positions.append(Position(argument, output=0))  # its sizes alone count
        else:
            raise PairingError(f"no parameter has '{argument.name}'")
    return Pairing(tuple(positions), outputs, constants, entry.gradients, entry.grad_outputs)


def _fixed(value: Any) -> Rule:
    return lambda _: list(value) if isinstance(value, tuple) else value


def _listed(function: Function, argument: AtenArgument) -> Parameter | None:
    """The tensor of the same name whose elements a list of integers has: the lengths of `_ctc_loss`."""
    param = function.param(argument.name)
    is_integers = argument.is_list and argument.type in ("int", "SymInt")
    return param if is_integers and param is not None and param.type == "tensor" else None


def _with_lists(function: Function, schema: AtenSchema) -> Function:
    """The function as a list of one has it, where an overload takes lists: `_foreach_add`."""
    if not schema.name.startswith(("_foreach", "_fused_")) or any(p.type == "tensors" for p in function.params):
        return function
    lists = {argument.name for argument in schema.arguments if argument.is_list}
    is_listed = any(a.is_list and a.type == "Tensor" for a in schema.arguments) and lists
    if not is_listed:
        return function
    params = tuple(replace(p, type="tensors") if p.type == "tensor" else p for p in function.params)
    return replace(function, params=params)
