"""The arguments of a C function as operands, which lose their C types (runtime/contract/operand.h)."""

from __future__ import annotations

from diopigen.emit.c_text import declarator
from diopigen.header.signature import c_function
from diopigen.ir.model import COLLECTIVE, Function, Parameter

_TENSOR = {"in": "in", "out": "out", "inout": "inout", "partial_out": "inout"}


def is_operator(function: Function) -> bool:
    """Operators, not the services of the runtime nor what a library says of itself."""
    return function.family not in ("runtime", COLLECTIVE) and function.context and function.returns == "status"


def operand(param: Parameter) -> str:
    """The call that adds an argument to the operands."""
    name = param.name
    if param.type == "tensor":
        return f'{_TENSOR[param.direction]}("{name}", {name})'
    if param.type == "tensors":
        return f'{_TENSOR[param.direction]}("{name}", {name}, {param.count})'
    if param.type == "new_tensor":
        return f'allocated("{name}", {name})'
    if param.type == "new_tensors":
        return f'allocated("{name}", {name}, {param.count})'
    direction = "" if param.direction == "in" else ", contract::Direction::kInout"
    return f'value("{name}", {name}{direction})'


def definition_parameters(function: Function) -> list[str]:
    """Parameters as the definition has them: tensors are replaced for a call, so that they are not constant."""
    own = {param.name for param in function.params}
    texts = []
    for number, param in enumerate(c_function(function).params):
        c_type = param.type
        if c_type.startswith("const diopi") and c_type.endswith("TensorHandle_t"):
            c_type = c_type.removeprefix("const ")
        name = param.name if number == 0 or param.name in own else function.params[number - 1].name
        texts.append(declarator(c_type, name))
    return texts
