"""A library of custom operators for PyTorch: `torch.ops.lab.*`, with ATen's schemas and kernels, and injected faults.

The import defines an operator for each name in `DIOPIGEN_LAB_OPERATORS`. Those in `DIOPIGEN_LAB_FAULTS` get the kernel
of a fault on the CPU in the place of ATen's; their meta functions are ATen's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

from lab.operators.faults import NAMESPACE, OPERATORS, SELECTED, matching

LIBRARY = torch.library.Library(NAMESPACE, "DEF")


def _right(operator: str) -> Any:
    base, _, overload = operator.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def _forwarding(operator: Any) -> Callable[..., Any]:
    """ATen's kernel as a function, which a custom operator needs: an overload is none."""

    def forward(*arguments: Any, **keywords: Any) -> Any:
        return operator(*arguments, **keywords)

    return forward


def _define(operator: str) -> None:
    right = _right(operator)
    LIBRARY.define(str(right._schema).partition("::")[2])
    LIBRARY.impl(operator, _forwarding(right), "CompositeExplicitAutograd")


for _name in filter(None, os.environ.get(OPERATORS, "").split(",")):
    _define(_name)
for _fault in matching(tuple(filter(None, os.environ.get(SELECTED, "").split(",")))):
    LIBRARY.impl(_fault.operator, _fault.kernel(), "CPU")
