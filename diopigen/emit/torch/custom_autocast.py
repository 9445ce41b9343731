"""Operands of an operator of the namespace `diopi` that `torch.autocast` casts to one dtype."""

from __future__ import annotations

from dataclasses import dataclass

from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.torch.arguments import rule_of
from diopigen.emit.torch.custom import Custom
from diopigen.ir.model import DtypeList, Parameter

_HALVES = frozenset({"float16", "bfloat16"})
_FLOATING = frozenset({*_HALVES, "float32", "float64"})


@dataclass(frozen=True, slots=True)
class Operands:
    """Positions of arguments that have one dtype by the spec. `is_half`: it has 16 bits."""

    positions: tuple[int, ...]
    is_half: bool


def _first(custom: Custom, param: Parameter) -> Parameter:
    """The parameter whose list of dtypes another one follows."""
    rule = rule_of(param)
    while rule is not None and rule[0] == "same" and rule[1]:
        other = custom.function.param(rule[1][0])
        if other is None:
            break
        param, rule = other, rule_of(other)
    return param


def operands_of_one_dtype(custom: Custom) -> list[Operands]:
    """The groups of operands; none where the operator writes tensors of the caller, which keep their dtypes."""
    if any(one.param.is_written for one in custom.arguments if one.param.type in ("tensor", "tensors")):
        return []
    groups: dict[str, list[int]] = {}
    dtypes: dict[str, frozenset[str]] = {}
    for position, one in enumerate(custom.arguments):
        if one.param.type != "tensor":
            continue
        first = _first(custom, one.param)
        if isinstance(first.dtype, DtypeList) and _FLOATING & set(first.dtype.dtypes):
            groups.setdefault(first.name, []).append(position)
            dtypes[first.name] = frozenset(first.dtype.dtypes)
    return [
        Operands(tuple(positions), dtypes[name] <= _HALVES)
        for name, positions in groups.items()
        if len(positions) > 1 or dtypes[name] <= _HALVES
    ]


def promotion_lines(customs: list[Custom]) -> list[str]:
    """The lines that register kernels for torch.autocast."""
    text = []
    for custom in customs:
        groups = operands_of_one_dtype(custom)
        for group in groups:
            positions = " ".join(map(str, group.positions))
            items = [f'"{custom.name}"', f'"{positions}"', "true" if group.is_half else "false"]
            text += call_lines("add_promotion", items, ";", COLUMNS - 4).split("\n")
        if groups:
            text.append(f'promote_operands(library, "{custom.name}");')
    return text
