"""Calls made up in Python alone, for tests of oracles."""

from __future__ import annotations

from typing import Any

import numpy as np

from diopigen.conformance.cases.values import draw, seed_of
from diopigen.conformance.dtypes import decode
from diopigen.conformance.model import Case, Number, Operand
from diopigen.conformance.oracles import Call
from diopigen.ir.model import Function, Interface


def call_of(interface: Interface, case: Case, given: dict[str, Any] | None = None) -> Call:
    """The call of a case as its oracle sees it; `given` replaces the drawn values of tensors."""
    function = interface.function(case.function)
    assert function is not None
    lists = {param.name for param in function.params if param.type == "tensors"}
    source = np.random.Generator(np.random.PCG64(seed_of(case.id, 0)))
    values: dict[str, Any] = {}
    dtypes: dict[str, Any] = {}
    shapes: dict[str, Any] = {}
    for name, value in case.arguments.items():
        if isinstance(value, Operand):
            values[name] = _array(function, name, value, source)
            dtypes[name], shapes[name] = value.dtype, value.shape
        elif isinstance(value, Number):
            values[name], dtypes[name] = value.value, value.dtype
        elif isinstance(value, tuple) and name in lists:
            items = [item if isinstance(item, Operand) else None for item in value]
            values[name] = [None if item is None else _array(function, name, item, source) for item in items]
            dtypes[name] = [None if item is None else item.dtype for item in items]
            shapes[name] = [None if item is None else item.shape for item in items]
        else:
            values[name] = value
    values.update(given or {})
    return Call(function, values, dtypes, shapes)


def _array(function: Function, name: str, value: Operand, source: np.random.Generator) -> Any:
    return np.array(decode(draw(value.values, value.shape, value.dtype, source), value.dtype))
