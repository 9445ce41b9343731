"""The arguments and results of packed functions: the order is part of the binding, so that it is written once here.

What the operator reads comes first, in the order of the C function; tensors that it only writes come last, as in
destination-passing style of TVM (`call_dps_packed`). What C writes through other pointers is returned.
"""

from __future__ import annotations

from diopigen.header.signature import c_type
from diopigen.ir.model import Function, Parameter

ALLOCATED = ("new_tensor", "new_tensors")
TENSORS = ("tensor", "tensors")


def is_destination(param: Parameter) -> bool:
    """Returns whether it is a tensor, or a list of tensors, that the caller passes to be written."""
    return param.direction == "out" and param.type in TENSORS


def is_returned(param: Parameter) -> bool:
    """Returns whether it is a result of the packed function: tensors that the operator allocates, and numbers."""
    return param.type in ALLOCATED or (param.is_written and param.type not in (*TENSORS, "generator", "generators"))


def is_choice(param: Parameter) -> bool:
    """Returns whether it is a result that the caller may decline: the packed function takes a bool in its stead."""
    return param.type in ALLOCATED and param.nullable


def passed(function: Function) -> tuple[Parameter, ...]:
    """The parameters of the packed function in order."""
    first = (
        param
        for param in function.params
        if not is_destination(param) and (not is_returned(param) or param.is_read or is_choice(param))
    )
    return (*first, *(param for param in function.params if is_destination(param)))


def returned(function: Function) -> tuple[Parameter, ...]:
    """The results in order: none, one as it is, several as a list."""
    return tuple(param for param in function.params if is_returned(param))


def value_type(param: Parameter) -> str:
    """The C type of a number or an enum, without pointer and `const`."""
    return c_type(param).removeprefix("const ").removesuffix("*").rstrip()
