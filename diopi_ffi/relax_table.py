"""Which function of the interface computes an operator of Relax.

Operators that ATen and Relax name alike, with tensors alone for arguments, follow from the overloads of the spec. The
table has the others: what their attributes become.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from diopigen.emit.tvm_ffi.arguments import TENSORS, is_destination, passed, returned
from diopigen.ir.model import Function, Interface

INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Planned:
    """A call of a packed function: the tensors, numbers and texts that it reads, by position. `scratch` are the shapes
    and dtypes of results that are not used, behind the one that counts."""

    function: str
    arguments: Sequence[Any]
    scratch: Sequence[tuple[Sequence[int], str]] = field(default=())


class Unsuited(Exception):
    """The attributes of a call have no counterpart in the interface; the text says which."""


def _integers(values: Any) -> list[int]:
    return [int(value) for value in values]


def _symmetric(padding: Sequence[int]) -> list[int]:
    """The padding of one side, where both have the same."""
    half = len(padding) // 2
    if list(padding[:half]) != list(padding[half:]):
        raise Unsuited("the padding differs between the sides")
    return list(padding[:half])


def _layout(attrs: Any, *names: str) -> None:
    for name in names:
        layout = str(getattr(attrs, name))
        if layout not in ("NCHW", "OIHW", ""):
            raise Unsuited(f"{name} is {layout}")


def _convolution(call: Any) -> Planned:
    attrs = call.attrs
    _layout(attrs, "data_layout", "kernel_layout", "out_layout")
    image, weight = call.args
    padding = _symmetric(_integers(attrs.padding))
    rest = [_integers(attrs.strides), padding, _integers(attrs.dilation), int(attrs.groups)]
    return Planned("diopiConvolution2d", [image, weight, None, *rest])


def _max_pool(call: Any) -> Planned:
    attrs = call.attrs
    _layout(attrs, "layout", "out_layout")
    sizes = [_integers(attrs.pool_size), _integers(attrs.strides), _symmetric(_integers(attrs.padding))]
    return Planned("diopiMaxPool2d", [call.args[0], *sizes, _integers(attrs.dilation), bool(attrs.ceil_mode)])


def _avg_pool(call: Any) -> Planned:
    attrs = call.attrs
    _layout(attrs, "layout", "out_layout")
    if set(_integers(attrs.dilation)) != {1}:
        raise Unsuited("the window is dilated")
    sizes = [_integers(attrs.pool_size), _integers(attrs.strides), _symmetric(_integers(attrs.padding))]
    flags = [bool(attrs.ceil_mode), bool(attrs.count_include_pad), None]
    return Planned("diopiAvgPool2d", [call.args[0], *sizes, *flags])


def _adaptive_pool(call: Any) -> Planned:
    _layout(call.attrs, "layout", "out_layout")
    return Planned("diopiAdaptiveAvgPool2d", [call.args[0], _integers(call.attrs.output_size)])


def _batch_norm(call: Any) -> Planned:
    attrs = call.attrs
    if bool(attrs.training) or int(attrs.axis) != 1:
        raise Unsuited("it trains, or its channels are not dimension 1")
    image, *parameters = call.args
    channels = _integers(parameters[0].ty.shape.values)
    scratch = [(channels, "float32"), (channels, "float32")]
    numbers = [False, float(attrs.momentum), float(attrs.epsilon)]
    return Planned("diopiBatchNorm", [image, *parameters, *numbers], scratch)


def _layer_norm(call: Any) -> Planned:
    shape = _integers(call.args[0].ty.shape.values)
    axes = sorted(axis % len(shape) for axis in _integers(call.attrs.axes))
    if axes != list(range(len(shape) - len(axes), len(shape))):
        raise Unsuited("the normalized dimensions are not the last ones")
    statistics = shape[: -len(axes)] + [1] * len(axes), "float32"
    arguments = [*call.args, shape[-len(axes) :], float(call.attrs.epsilon)]
    return Planned("diopiLayerNorm", arguments, [statistics, statistics])


def _permute(call: Any) -> Planned:
    rank = len(call.args[0].ty.shape.values)
    axes = call.attrs.axes
    return Planned("diopiPermute", [call.args[0], list(range(rank))[::-1] if axes is None else _integers(axes)])


def _take(call: Any) -> Planned:
    if call.attrs.axis is None or len(call.args[1].ty.shape.values) != 1:
        raise Unsuited("the indices are not a list along one dimension")
    return Planned("diopiIndexSelect", [call.args[0], int(call.attrs.axis), call.args[1]])


def _mean(call: Any) -> Planned:
    axes = call.attrs.axis
    rank = len(call.args[0].ty.shape.values)
    return Planned("diopiMean", [call.args[0], list(range(rank)) if axes is None else _integers(axes)])


def _sum(call: Any) -> Planned:
    axes = call.attrs.axis
    rank = len(call.args[0].ty.shape.values)
    return Planned("diopiSum", [call.args[0], list(range(rank)) if axes is None else _integers(axes)])


BY_HAND: Mapping[str, Callable[[Any], Planned]] = {
    "relax.astype": lambda call: Planned("diopiCastDtype", [call.args[0]]),
    "relax.broadcast_to": lambda call: Planned("diopiExpand", [call.args[0]]),
    "relax.mean": _mean,
    "relax.nn.adaptive_avg_pool2d": _adaptive_pool,
    "relax.nn.avg_pool2d": _avg_pool,
    "relax.nn.batch_norm": _batch_norm,
    "relax.nn.conv2d": _convolution,
    "relax.nn.gelu": lambda call: Planned("diopiGelu", [call.args[0], "none"]),
    "relax.nn.gelu_tanh": lambda call: Planned("diopiGelu", [call.args[0], "tanh"]),
    "relax.nn.layer_norm": _layer_norm,
    "relax.nn.log_softmax": lambda call: Planned("diopiLogSoftmax", [call.args[0], int(call.attrs.axis)]),
    "relax.nn.max_pool2d": _max_pool,
    "relax.nn.softmax": lambda call: Planned("diopiSoftmax", [call.args[0], int(call.attrs.axis)]),
    "relax.permute_dims": _permute,
    "relax.matmul": lambda call: Planned("diopiMatmul", list(call.args)),
    "relax.sum": _sum,
    "relax.take": _take,
}
"""Operators whose attributes become arguments."""

NAMES = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "floor_divide": "floor_divide",
    "power": "pow",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "negative": "neg",
}
"""What ATen calls operators that Relax calls otherwise."""


def by_aten_name(interface: Interface, operator: str) -> tuple[Function, list[Any]] | None:
    """The function for an operator of Relax that has only tensors for arguments, by its name in ATen: `relu` for
    `relax.nn.relu`. With it the values of its other parameters, which all have defaults; None stands for a tensor."""
    name = operator.rpartition(".")[2]
    name = NAMES.get(name, name)
    for function in interface.functions:
        overloads = {overload.name.partition(".")[0] for overload in function.aten if not overload.constants}
        if name not in overloads or function.variant != "base" or returned(function):
            continue
        arguments = [param for param in passed(function) if not is_destination(param)]
        tensors = [param for param in arguments if param.type == "tensor" and param.direction == "in"]
        others = [param for param in arguments if param not in tensors]
        written = [param for param in function.params if is_destination(param)]
        if len(written) == 1 and all(param.default is not None and param.type not in TENSORS for param in others):
            defaults = [None if p in tensors else p.default.value if p.default is not None else None for p in arguments]
            return function, defaults
    return None
