"""Calls made up in Python alone, for tests of oracles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from diopigen.conformance.cases.values import draw, seed_of
from diopigen.conformance.compare.order import Stored, arranged, selected_from
from diopigen.conformance.dtypes import decode, encode
from diopigen.conformance.model import Case, Fault, Number, Operand
from diopigen.conformance.oracles import Allocated, Answer, Call, Expected, Property
from diopigen.ir.model import Function, Interface


def call_of(interface: Interface, case: Case, arguments: dict[str, Any] | None = None) -> Call:
    """The call of a case as its oracle sees it; `arguments` replaces the drawn values of tensors."""
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
    values.update(arguments or {})
    return Call(function, values, dtypes, shapes)


def _array(function: Function, name: str, value: Operand, source: np.random.Generator) -> Any:
    return np.array(decode(draw(value.values, value.shape, value.dtype, source), value.dtype))


class Results:
    """The results of another library for a case, by output: in the order that the spec leaves open, and as the other
    outputs of a property. `stored` makes elements in memory form of a result."""

    def __init__(
        self, case: Case, call: Call, answer: Answer, found: Mapping[str, Any], stored: Callable[[Any, str], Any]
    ) -> None:
        self.call = call
        self.found: dict[str, Stored] = {}
        for name, expected in answer.items():
            param = call.function.param(name)
            if param is None or param.type not in ("tensor", "new_tensor") or found.get(name) is None:
                continue
            dtype = expected.dtype if isinstance(expected, Allocated) else call.dtypes[name]
            self.found[name] = Stored(stored(found[name], dtype), dtype)
        inputs = {
            name: Stored(np.asarray(encode(np.asarray(call[name]), call.dtype(name))), call.dtype(name))
            for name in selected_from(call.function)
        }
        self.arranged = arranged(case, call.function, self.found, answer, inputs)

    def fault(self, name: str, elements: Any, dtype: str, expected: Expected) -> Fault | None:
        """Describes the error of an output, in memory form; accepts any order that the spec permits."""
        return self.arranged.fault(name, Stored(elements, dtype), expected, self.call.function.tolerance)

    def complaint(self, expected: Property, elements: Any, dtype: str) -> str | None:
        """Describes the violation of a property by an output."""
        others = (self.found[name] for name in expected.others if name in self.found)
        return expected.check(decode(elements, dtype), *(decode(one.elements, one.dtype) for one in others))
