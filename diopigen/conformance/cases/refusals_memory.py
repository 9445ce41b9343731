"""Calls that a library must reject for their memory: on different devices, or partly overlapping."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from diopigen.conformance.cases.resolve import Arguments
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import ANY_FAILURE, Case, Operand, Value
from diopigen.conformance.strides import GUARD
from diopigen.ir.model import Function, Parameter


def cases(function: Function, dtype: str, arguments: Arguments) -> Iterator[Case]:
    """The cases of one function, from arguments that a library accepts."""
    changed = (*_devices(function, arguments), *_overlaps(function, arguments), *_outputs(function, arguments))
    for name, parameter, about, changes in changed:
        case_id = f"{function.name}/{name}/error"
        yield Case(
            case_id, function.name, function.family, dtype, "error", {**arguments, **changes},
            ANY_FAILURE, about, parameter,
        )  # fmt: skip


_Invalid = tuple[str, str, str, dict[str, Value]]
"""Name of a case, parameter at fault, what is wrong, and the arguments that change."""


def _first(value: Value) -> Operand | None:
    """The tensor, or the first one of an array."""
    one = value[0] if isinstance(value, tuple) and value else value
    return one if isinstance(one, Operand) else None


def _exchanged(value: Value, operand: Operand) -> Value:
    return (operand, *value[1:]) if isinstance(value, tuple) else operand


def _tensors(function: Function, arguments: Arguments) -> list[tuple[Parameter, Operand]]:
    """The dense tensors of a call; of arrays the first one."""
    found = []
    for param in function.params:
        operand = _first(arguments.get(param.name)) if param.type in ("tensor", "tensors") else None
        if operand is not None and not param.sparse:
            found.append((param, operand))
    return found


def _devices(function: Function, arguments: Arguments) -> Iterator[_Invalid]:
    """One tensor on the host, all others on the device. A tensor without dimensions may be there, as a number may."""
    tensors = _tensors(function, arguments)
    for param, operand in tensors:
        if "device" in param.free:
            continue
        if operand.shape and len(tensors) > 1:
            changed = _exchanged(arguments[param.name], replace(operand, on_host=True))
            about = f"'{param.name}' is on the host, the others on the device"
            yield f"device-{param.name}", param.name, about, {param.name: changed}


def _overlaps(function: Function, arguments: Arguments) -> Iterator[_Invalid]:
    """An output that begins one element behind the start of another tensor's memory, or the other way round; and each
    output once where it meets no more than the last elements of another."""
    tensors = _tensors(function, arguments)
    ends: set[str] = set()
    for position, (param, operand) in enumerate(tensors):
        for other_position, (other, second) in enumerate(tensors):
            if not param.is_written or position == other_position or (other.is_written and other_position < position):
                continue
            for name, (moved, shifted) in _shifted(param, operand, other, second).items():
                if name == "overlap-end":
                    if param.name in ends:
                        continue
                    ends.add(param.name)
                about = f"'{param.name}' and '{other.name}' share a part of their memory"
                changes = {moved.name: _exchanged(arguments[moved.name], shifted)}
                yield f"{name}-{param.name}-{other.name}", param.name, about, changes


def _outputs(function: Function, arguments: Arguments) -> Iterator[_Invalid]:
    """Each output as the tensor of another one of its shape and dtype, where the spec does not let them be one."""
    written = [(param, operand) for param, operand in _tensors(function, arguments) if param.is_written]
    for position, (param, operand) in enumerate(written):
        for other, second in written[:position]:
            is_alike = operand.shape == second.shape and operand.dtype == second.dtype and _bytes(operand) > 0
            plain = all(item.alias is None for item in (operand, second))
            if not is_alike or not plain or other.name == param.shares or param.name == other.shares:
                continue
            about = f"'{param.name}' is the tensor of '{other.name}', which is written as well"
            one = replace(operand, alias=other.name, shift=0, layout="contiguous")
            yield (
                f"one-{other.name}-{param.name}",
                param.name,
                about,
                {param.name: _exchanged(arguments[param.name], one)},
            )


def _shifted(one: Parameter, first: Operand, two: Parameter, second: Operand) -> dict[str, tuple[Parameter, Operand]]:
    """The smaller of two tensors inside the memory of the larger, behind its first byte, and as far towards its end as
    the memory behind that allows. Nothing where nothing of it would be there."""
    room, taken = _bytes(first), _bytes(second)
    target, moved, operand = (one, two, second) if room >= taken else (two, one, first)
    step = STORAGE[operand.dtype].itemsize
    most, least = max(room, taken), min(room, taken)
    plain = all(item.alias is None for item in (first, second))
    if not plain or not least or step >= most or least + step > most + GUARD:
        return {}
    last = min((most + GUARD - least) // step, (most - 1) // step)
    shifts = {"overlap": 1} if last == 1 else {"overlap": 1, "overlap-end": last}
    return {
        name: (moved, replace(operand, alias=target.name, shift=shift, layout="contiguous"))
        for name, shift in shifts.items()
    }


def _bytes(operand: Operand) -> int:
    return math.prod(operand.shape) * STORAGE[operand.dtype].itemsize
