"""Operators that leave PyTorch's meta function out where operands are alike (specs/aten): results, and what is
rejected, are as on the CPU, for operands that are alike and for those that nearly are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import yaml
from run_kind import ROOT
from test_schemas import has_kernel

GROUPS = {
    group["meta"]: group
    for group in yaml.load((ROOT / "specs/aten/torch.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)["structured"]
    if "alike" in group
}
Make = Callable[[Any], torch.Tensor]
Operands = Callable[[Any], tuple[torch.Tensor, torch.Tensor, Any]]
"""First and other tensors of a call, and its number."""


def ramp(*shape: int, dtype: torch.dtype = torch.float32) -> Make:
    """Values in (0, 1), which every operator takes; from 1 on for integers."""
    count = torch.Size(shape).numel()
    values = torch.linspace(0.1, 0.9, count) if dtype.is_floating_point else torch.arange(1, count + 1)
    return lambda device: values.to(dtype).reshape(shape).to(device, copy=True)


def pair(first: Make, other: Make, number: Any = 2) -> Operands:
    return lambda device: (first(device), other(device), number)


def neighbours(device: Any) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """Two tensors that share some elements; what is written in place overlaps what is read."""
    base = ramp(7)(device)
    return base[1:], base[:-1], 2


def bits(device: Any) -> tuple[torch.Tensor, torch.Tensor, Any]:
    """Two tensors of one memory, in two dtypes."""
    base = ramp(6)(device)
    return base, base.view(torch.int32), 2


def within(first: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A tensor of the same shape at the beginning of the same memory."""
    return torch.empty(0, dtype=dtype, device=first.device).set_(first.untyped_storage(), 0, first.shape)


SMALL = ramp(2, 3)
OPERANDS: dict[str, Operands] = {
    "float32": pair(SMALL, SMALL),
    "float64": pair(ramp(2, 3, dtype=torch.float64), ramp(2, 3, dtype=torch.float64)),
    "int64": pair(ramp(2, 3, dtype=torch.int64), ramp(2, 3, dtype=torch.int64)),
    "uint8": pair(ramp(2, 3, dtype=torch.uint8), ramp(2, 3, dtype=torch.uint8)),
    "without elements": pair(ramp(0, 3), ramp(0, 3)),
    "without elements, one of a dimension": pair(ramp(0, 1), ramp(0, 1)),
    "a number of no elements": lambda d: (ramp(0, 1)(d), torch.tensor(0.5), 2),
    "without dimensions": pair(ramp(), ramp()),
    "two dtypes": pair(SMALL, ramp(2, 3, dtype=torch.float64)),
    "two kinds": pair(ramp(2, 3, dtype=torch.int64), SMALL),
    "broadcast": pair(SMALL, ramp(3)),
    "broadcast first": pair(ramp(3), SMALL),
    "shapes that do not fit": pair(SMALL, ramp(2, 2)),
    "transposed": pair(lambda d: ramp(3, 2)(d).t(), lambda d: ramp(3, 2)(d).t()),
    "other transposed": pair(SMALL, lambda d: ramp(3, 2)(d).t()),
    "channels last": pair(*[lambda d: ramp(2, 3, 2, 2)(d).to(memory_format=torch.channels_last)] * 2),
    "channels last of one": pair(*[lambda d: ramp(2, 1, 2, 2)(d).to(memory_format=torch.channels_last)] * 2),
    "one of a dimension": pair(ramp(2, 1, 2, 2), ramp(2, 1, 2, 2)),
    "a number on the CPU": lambda d: (SMALL(d), torch.tensor(0.5), 2),
    "floating number": pair(SMALL, SMALL, 0.5),
    "floating number of integers": pair(ramp(2, 3, dtype=torch.int64), ramp(2, 3, dtype=torch.int64), 0.5),
    "negative number of integers": pair(ramp(2, 3, dtype=torch.int64), ramp(2, 3, dtype=torch.int64), -1),
    "bool number": pair(SMALL, SMALL, True),
    "complex number": pair(SMALL, SMALL, 2j),
    "neighbours": neighbours,
    "two dtypes of one memory": bits,
    "expanded": pair(lambda d: ramp(1, 3)(d).expand(2, 3), SMALL),
}
OUTPUTS: dict[str, Callable[[torch.Tensor, Any], torch.Tensor]] = {
    "its own": lambda first, device: torch.full_like(first, 7),
    "of bool": lambda first, device: torch.zeros(first.shape, dtype=torch.bool, device=device),
    "of double": lambda first, device: torch.zeros(first.shape, dtype=torch.float64, device=device),
    "without elements": lambda first, device: torch.zeros(0, dtype=first.dtype, device=device),
    "the first": lambda first, device: first,
    "its bytes": lambda first, device: within(first, torch.uint8),
    "every other": lambda first, device: torch.zeros((*first.shape, 2), dtype=first.dtype, device=device)[..., 0],
}


def called(overload: str, operands: Operands, device: Any, output: str = "") -> object:
    """Dtypes, strides and values of the result and of the first operand; or the kind of error."""
    packet, _, name = overload.partition(".")
    function = getattr(getattr(torch.ops.aten, packet), name or "default")
    first, other, number = operands(device)
    tensors = iter((first, *[other] * 3))
    arguments, keywords = [], {}
    for argument in function._schema.arguments:
        is_tensor = isinstance(argument.type, torch.TensorType)
        if argument.kwarg_only and is_tensor:
            keywords[argument.name] = OUTPUTS[output](first, device)
        elif argument.kwarg_only:
            keywords[argument.name] = number
        else:
            arguments.append(next(tensors) if is_tensor else number)
    try:
        result = function(*arguments, **keywords)
    except Exception as error:  # whatever a kernel raises: its kind is compared
        return type(error)
    return [(t.dtype, t.stride(), t.cpu()) for t in (result, first)]


def differences(overload: str, operands: Operands, droplet: Any, output: str = "") -> str:
    """Empty where the device does the same as the CPU, or takes a dtype that no kernel of the CPU does."""
    expected, own = (called(overload, operands, device, output) for device in ("cpu", droplet))
    if expected is NotImplementedError:  # no kernel of the CPU to compare with
        return ""
    if isinstance(expected, list) and isinstance(own, list):
        if any(e[:2] != o[:2] for e, o in zip(expected, own, strict=True)):
            return f"{[e[:2] for e in expected]} on the CPU, {[o[:2] for o in own]} here"
        values = [[one[2] for one in found] for found in (own, expected)]
        try:
            torch.testing.assert_close(*values, equal_nan=True, rtol=1e-5, atol=1e-5)
        except AssertionError as error:
            return str(error)
        return ""
    return "" if expected is own else f"{expected} on the CPU, {own} here"


def served(overload: str | None) -> bool:
    return overload is not None and has_kernel(overload)


UNLIKE = {("threshold_backward", "neighbours"): "the CPU does not look for overlaps here"} | {
    (meta, name): "a device takes one such number, and this call has two"
    for meta in ("addcdiv", "addcmul", "lerp_Tensor")
    for name in ("a number on the CPU", "a number of no elements")
}
"""Calls that a device may answer otherwise than the CPU."""


@pytest.mark.parametrize("meta", GROUPS)
def test_as_on_the_cpu(meta: str, droplet: Any) -> None:
    group = GROUPS[meta]
    found = {
        (form, name): text
        for form in ("functional", "inplace")
        if served(group.get(form))
        for name, operands in OPERANDS.items()
        if (meta, name) not in UNLIKE and (text := differences(group[form], operands, droplet))
    } | {
        (name, output): text
        for name, operands in OPERANDS.items()
        for output in OUTPUTS
        if served(group["out"])
        and (meta, name) not in UNLIKE
        and (text := differences(group["out"], operands, droplet, output))
    }
    assert found == {}
