"""A Python program that makes one call through `diopigen.calling`: outputs follow from the rules of the spec."""

from __future__ import annotations

import math
from collections.abc import Sequence
from keyword import iskeyword

from diopigen.emit.conformance.python_text import CallText, Code, Literal, assignment, one_line
from diopigen.emit.docs.facts import Sample, SampleNumber, SampleTensor, SampleValue
from diopigen.emit.prose import shape_text
from diopigen.ir.model import DtypeRule, Function, Parameter, ShapeList

_HEAD = """\
import numpy as np

from diopigen.calling import Library

# libdiopirt.so is searched for in the folder of the library and below.
library = Library("build/libdiopi_impl.so")
"""
_BY_ITSELF = frozenset({"context", "generator", "generators", "new_tensor", "new_tensors"})
"""Types of parameters that a caller in Python does not pass: `Library.call` makes them."""


def python_example(function: Function, sample: Sample) -> str | None:
    """The program, or None for calls that it cannot make: those of sparse tensors and of the host itself."""
    if any(param.sparse or param.type in ("stream", "opaque", "borrowed_tensor") for param in function.params):
        return None
    arguments: dict[str, Literal] = {}
    for param in function.params:
        value = sample.get(param.name)
        if value is None:
            has_other = param.default is not None and param.default.value is not None
            if param.type not in _BY_ITSELF and (has_other or param.direction == "out"):
                arguments[param.name] = None
        elif _follows(param):
            continue
        elif param.type not in _BY_ITSELF and (param.direction != "out" or isinstance(value, (SampleTensor, tuple))):
            arguments[param.name] = _value(param, value)
    # A parameter that is called like a keyword of Python.
    odd = {name: arguments.pop(name) for name in tuple(arguments) if iskeyword(name)}
    spread = [Code(f"**{one_line(odd)}")] if odd else []
    call = CallText("library.call", [function.name, *spread], arguments)
    shown = 'for name, value in results.items():\n    print(name, value, sep="\\n")\n'
    return f"{_HEAD}{assignment('results', call)}{shown}"


def _follows(param: Parameter) -> bool:
    """Returns whether an output may be left out: its dtype and its shape follow from others."""
    if param.direction != "out" or param.type != "tensor" or not isinstance(param.dtype, DtypeRule):
        return False
    if isinstance(param.shape, ShapeList):
        return all(dimension.kind == "formula" for dimension in param.shape.dimensions)
    return bool(shape_text(param))


def _value(param: Parameter, value: SampleValue) -> Literal:
    if isinstance(value, SampleTensor):
        return _tensor(param, value)
    if isinstance(value, SampleNumber):
        return bool(value.value) if value.dtype == "bool" else value.value
    if isinstance(value, tuple):
        return [_value(param, item) for item in value]
    return value


def _tensor(param: Parameter, tensor: SampleTensor) -> Literal:
    """The array of an operand; for an output only its shape and dtype matter."""
    dtype: Literal = tensor.dtype
    if param.direction == "out":
        return CallText("np.empty", [list(tensor.shape)], {"dtype": dtype})
    if tensor.pattern is not None:
        low, high = tensor.pattern
        count = math.prod(tensor.shape)
        numbers = f"({low!r} + np.arange({count}) * 37 % 101 / 101 * {high - low!r})"
        return Code(f'{numbers}.reshape({list(tensor.shape)}).astype("{tensor.dtype}")')
    if not math.prod(tensor.shape):
        return CallText("np.empty", [list(tensor.shape)], {"dtype": dtype})
    return CallText("np.array", [_nested(tensor.values, tensor.shape)], {"dtype": dtype})


def _nested(values: Sequence[int | float | complex], shape: Sequence[int]) -> Literal:
    """Row-major elements as nested lists of the shape."""
    if not shape:
        return _item(values[0])
    size = math.prod(shape[1:])
    return [_nested(values[size * k : size * (k + 1)], shape[1:]) for k in range(shape[0])]


def _item(value: int | float | complex) -> Literal:
    return Code(repr(value)) if isinstance(value, complex) else value
