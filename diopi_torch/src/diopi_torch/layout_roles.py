"""Layouts that the function behind a node requires of its tensors, as the vendor's library reports them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.fx
from torch.fx import Node

from .graph_calls import RULES
from .graph_nodes import named_arguments, overload_name
from .table import bindings, has_function, layouts

META = "diopi_layout"
"""Key in `Node.meta` of a conversion: its target layout."""
Role = tuple[str, Mapping[str, str], tuple[str, ...]]
"""A function, its parameters by argument of the overload, and those of its results in order."""

_IMAGE = {"input": "input", "weight": "weight"}
_NORM = {"input": "input"}


def _convolution(node: Node, arguments: Mapping[str, Any], suffix: str = "") -> str:
    kind = "diopiConvTranspose" if arguments["transposed"] else "diopiConvolution"
    return f"{kind}{arguments['input'].meta['val'].dim() - 2}d{suffix}"


_ROLES: Mapping[str, Callable[[Node, Mapping[str, Any]], Role]] = {
    "convolution": lambda node, arguments: (_convolution(node, arguments), _IMAGE, ("out",)),
    "convolution_backward": lambda node, arguments: (
        _convolution(node, arguments, "Backward"),
        {**_IMAGE, "grad_output": "grad_output"},
        ("grad_input", "grad_weight", "grad_bias"),
    ),
    "_native_batch_norm_legit_functional": lambda *_: ("diopiBatchNorm", _NORM, ("out",)),
    "_native_batch_norm_legit_no_training": lambda *_: ("diopiBatchNorm", _NORM, ("out",)),
    "native_batch_norm_backward": lambda *_: (
        "diopiBatchNormBackward",
        {**_NORM, "grad_out": "grad_output"},
        ("grad_input",),
    ),
    "native_group_norm": lambda *_: ("diopiGroupNorm", _NORM, ("out",)),
    "native_group_norm_backward": lambda *_: (
        "diopiGroupNormBackward",
        {**_NORM, "grad_out": "grad_output"},
        ("grad_input",),
    ),
}
"""Overloads of images with a rule of their own (`graph_calls.py`); bindings say it of the others."""


def is_served(node: Node) -> bool:
    """Returns whether a function of the interface computes a node, so that strides of operands and results do not
    matter."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return False
    if target is torch.ops.aten.copy_.default:
        return True
    if target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags:
        return False
    name = overload_name(target)
    return name in RULES or any(has_function(binding.function) for binding in bindings().get(name, ()))


def demanded(node: Node) -> dict[str, str]:
    """The layouts that a node's function demands, by operand (`input`) and result (`result 0`)."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload) or not layouts():
        return {}
    arguments = named_arguments(node, target)
    found = {}
    for name, parameter, function in _tensors(node, overload_name(target), arguments):
        value = _value(node, arguments, name)
        if isinstance(value, torch.Tensor) and (layout := layouts()[function].get((parameter, value.dim()))):
            found[name] = layout
    return found


def demanded_values(node: Node) -> Iterator[tuple[torch.Tensor, str]]:
    """The tensors that have to have a layout."""
    for name, layout in demanded(node).items():
        target = node.target
        assert isinstance(target, torch._ops.OpOverload)
        yield _value(node, named_arguments(node, target), name), layout


def operand_format(user: Node, node: Node) -> str:
    """The layout in which a node has to have an operand; empty for any."""
    target = user.target
    if user.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return ""
    own = demanded(user)
    for name, value in named_arguments(user, target).items():
        if value is node and name in own:
            return own[name]
    return ""


def result_format(node: Node) -> str:
    """The layout in which a value is written; empty for any."""
    if isinstance(node.target, torch._ops.OpOverload):
        return demanded(node).get("result 0", "")
    maker, number = node.args
    assert isinstance(maker, Node)
    return demanded(maker).get(f"result {number}", "")


def _value(node: Node, arguments: Mapping[str, Any], name: str) -> Any:
    if not name.startswith("result "):
        operand = arguments[name]
        return operand.meta.get("val") if isinstance(operand, Node) else None
    value = node.meta.get("val")
    number = int(name.removeprefix("result "))
    return value[number] if isinstance(value, (list, tuple)) else value


def _tensors(node: Node, name: str, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str | int, str]]:
    """Operands and results of a node, each with its parameter, by name or position, and the function."""
    if name in _ROLES:
        function, operands, results = _ROLES[name](node, arguments)
        if function in layouts():
            yield from ((argument, parameter, function) for argument, parameter in operands.items())
            yield from ((f"result {k}", parameter, function) for k, parameter in enumerate(results))
        return
    for binding in bindings().get(name, ()):
        if binding.function in layouts():
            for position, parameter in enumerate(binding.parameters):
                if parameter[0] == "tensor":
                    yield parameter[1], position, binding.function
                elif parameter[0] == "result":
                    yield f"result {parameter[1]}", position, binding.function
            return
