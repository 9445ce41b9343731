"""Nodes as patterns see them: one name for an operator, however the model writes it (`x.pow(2)`, `x * x`,
`aten.pow`)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch.fx.experimental.symbolic_shapes import statically_known_true

from .functional import is_readable


@dataclass(frozen=True)
class Operation:
    """An operator with its operands, in the order that its name stands for."""

    name: str
    operands: tuple[Any, ...]


def value_of(node: Any) -> Any:
    """Metadata of a node's value."""
    if not isinstance(node, torch.fx.Node):
        return node
    return node.meta["example_value"] if "example_value" in node.meta else node.meta.get("val")


def is_tensor(node: Any) -> bool:
    return isinstance(node, torch.fx.Node) and isinstance(value_of(node), torch.Tensor)


def same(first: Any, second: Any) -> bool:
    """Returns whether sizes are equal whatever the symbols are."""
    return bool(statically_known_true(first == second))


def same_shape(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))


_OTHER_NAMES = {
    "multiply": "mul",
    "truediv": "div",
    "true_divide": "div",
    "divide": "div",
    "subtract": "sub",
    "negative": "neg",
    "bmm": "matmul",
    "concat": "cat",
    "concatenate": "cat",
    "_softmax": "softmax",
    "clone": "contiguous",
    "_unsafe_view": "view",
}
_CASTS = {"to", "_to_copy", "type_as", "type", "float", "half", "bfloat16", "double"}
_FUNCTIONS = (operator, torch, torch.nn.functional, torch._C._nn)


def name_of(node: torch.fx.Node) -> str:
    """The operator's name, the same for all its forms; empty for what is no operator of PyTorch's."""
    name = _name_of(node)
    return _OTHER_NAMES.get(name, name)


def _name_of(node: torch.fx.Node) -> str:
    target = node.target
    if node.op == "call_method":
        return str(target)
    if node.op != "call_function":
        return ""
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        name = target._schema.name if isinstance(target, torch._ops.OpOverload) else target._qualified_op_name
        return name.removeprefix("aten::") if name.startswith("aten::") else ""
    if target is getattr:
        return "getattr"
    name = getattr(target, "__name__", "")
    return name if any(getattr(one, name, None) is target for one in _FUNCTIONS) else ""


def _argument(node: torch.fx.Node, position: int, name: str, default: Any = None) -> Any:
    return node.args[position] if len(node.args) > position else node.kwargs.get(name, default)


def operation(node: Any, as_value: bool = False) -> Operation | None:
    """The operator of a node; None for what patterns cannot read, and outside the part that is read
    (`functional.py`). `as_value` reads what gradients do not pass, too."""
    if not isinstance(node, torch.fx.Node) or node.op not in ("call_function", "call_method"):
        return None
    if not is_readable(node, as_value):
        return None
    name = name_of(node)
    if name in _CASTS:
        return _cast(node)
    if not name or not node.args:
        return None
    read = _READERS.get(name)
    return read(node) if read is not None else _plain(node, name)


def _plain(node: torch.fx.Node, name: str) -> Operation | None:
    """Operators without arguments other than operands."""
    allowed = {"input", "other", "exponent", "alpha", "memory_format"}
    if not {*node.kwargs} <= allowed and name != "div":
        return None
    if node.kwargs.get("alpha", 1) != 1 or node.kwargs.get("rounding_mode") is not None or "out" in node.kwargs:
        return None
    operands = [*node.args, *(node.kwargs[key] for key in ("other", "exponent") if key in node.kwargs)]
    if name in ("add", "sub") and len(operands) == 3:  # alpha by position
        return None
    return Operation(name, tuple(operands[:1] if name == "contiguous" else operands))


def _cast(node: torch.fx.Node) -> Operation | None:
    """A conversion of the dtype alone."""
    if not node.args or not is_tensor(node) or not is_tensor(node.args[0]):
        return None
    before, after = value_of(node.args[0]), value_of(node)
    if before.device != after.device or not before.dtype.is_floating_point or not after.dtype.is_floating_point:
        return None
    return Operation("cast", (node.args[0],))


def _dimension(node: torch.fx.Node, dimension: Any) -> int | None:
    """Counted from the end."""
    value = value_of(node)
    if not isinstance(dimension, int) or not isinstance(value, torch.Tensor):
        return None
    return dimension - value.dim() if dimension >= 0 else dimension


def _mean(node: torch.fx.Node) -> Operation | None:
    dimensions = _argument(node, 1, "dim")
    listed = list(dimensions) if isinstance(dimensions, (list, tuple)) else [dimensions]
    found = sorted(one for each in listed if (one := _dimension(node.args[0], each)) is not None)
    if not found or found != list(range(-len(found), 0)) or not _argument(node, 2, "keepdim", False):
        return None
    return Operation("mean", (node.args[0], len(found), node.kwargs.get("dtype")))


def _softmax(node: torch.fx.Node) -> Operation | None:
    if _dimension(node.args[0], _argument(node, 1, "dim")) != -1:
        return None
    return Operation("softmax", (node.args[0],))


def _cat(node: torch.fx.Node) -> Operation | None:
    parts = node.args[0]
    dimension = _dimension(node, _argument(node, 1, "dim", node.kwargs.get("axis", 0)))
    return Operation("cat", (tuple(parts), dimension)) if isinstance(parts, (list, tuple)) else None


def _transposed(node: torch.fx.Node) -> Operation | None:
    first, second = (_dimension(node, _argument(node, k, f"dim{k - 1}")) for k in (1, 2))
    if first is None or second is None:
        return None
    return Operation("transposed", (node.args[0], *sorted((first, second))))


def _attribute(node: torch.fx.Node) -> Operation | None:
    return _matrices(node) if node.args[1] == "mT" else None


def _matrices(node: torch.fx.Node) -> Operation:
    """`mT`, an attribute until torch 2.14 and an operator since."""
    return Operation("transposed", (node.args[0], -2, -1))


def _permuted(node: torch.fx.Node) -> Operation | None:
    order = _argument(node, 1, "dims")
    order = list(order) if isinstance(order, (list, tuple)) else list(node.args[1:])
    if not all(isinstance(one, int) for one in order):
        return None
    order = [one % len(order) for one in order]
    moved = [k - len(order) for k, one in enumerate(order) if k != one]
    return Operation("transposed", (node.args[0], *moved)) if len(moved) == 2 else None


def _filled(node: torch.fx.Node) -> Operation | None:
    number = _argument(node, 2, "value")
    return Operation("masked_fill", (node.args[0], _argument(node, 1, "mask"), number))


def _where(node: torch.fx.Node) -> Operation | None:
    if len(node.args) != 3:
        return None
    first, second, third = node.args
    return Operation("where", (second, first, third) if node.op == "call_method" else (first, second, third))


def _dropout(node: torch.fx.Node) -> Operation | None:
    rate, trains = _argument(node, 1, "p", 0.5), _argument(node, 2, "training", True)
    return (
        Operation("contiguous", (node.args[0],)) if rate == 0 or not trains else Operation("dropout", (node.args[0],))
    )


def _narrowed(node: torch.fx.Node) -> Operation | None:
    """A part of the last dimension: the operand, the first index and the one behind the last."""
    if not is_tensor(node):
        return None
    source, index = node.args[0], node.args[1]
    if isinstance(source, torch.fx.Node) and not is_tensor(source):
        parts = name_of(source)
        whole = source.args[0] if source.args else None
        if parts not in ("chunk", "split", "split_with_sizes", "tensor_split") or not isinstance(index, int):
            return None
        if not is_tensor(whole) or _dimension(whole, _argument(source, 2, "dim", 0)) != -1:
            return None
        sizes = [part.shape[-1] for part in value_of(source)]
        first = sum(sizes[:index])
        return Operation("narrow", (whole, first, first + sizes[index]))
    indices = list(index) if isinstance(index, tuple) else [index]
    if not indices or not isinstance(indices[-1], slice) or not is_tensor(source):
        return None
    rest = indices[:-1]
    if Ellipsis not in rest and len(indices) != value_of(source).dim():
        return None
    if any(one is not Ellipsis and one != slice(None) for one in rest) or rest.count(Ellipsis) > 1:
        return None
    return _slice(source, indices[-1].start, indices[-1].stop, indices[-1].step)


def _sliced(node: torch.fx.Node) -> Operation | None:
    if _dimension(node, _argument(node, 1, "dim", 0)) != -1:
        return None
    return _slice(node.args[0], _argument(node, 2, "start"), _argument(node, 3, "end"), _argument(node, 4, "step", 1))


def _slice(source: torch.fx.Node, first: Any, end: Any, step: Any) -> Operation | None:
    size = value_of(source).shape[-1]
    first, end = (value_of(one) for one in (first, end))
    if step not in (None, 1) or not isinstance(size, int):
        return None
    if not all(one is None or isinstance(one, int) for one in (first, end)):
        return None
    start, stop, _ = slice(first, end).indices(size)
    return Operation("narrow", (source, start, stop))


def _reshaped(node: torch.fx.Node) -> Operation | None:
    return Operation("reshape", (node.args[0],))


def _unsqueezed(node: torch.fx.Node) -> Operation | None:
    return Operation("unsqueeze", (node.args[0], _dimension(node, _argument(node, 1, "dim"))))


def _repeated(node: torch.fx.Node) -> Operation | None:
    counts = list(node.args[1]) if isinstance(node.args[1], (list, tuple)) else list(node.args[1:])
    return Operation("repeat", (node.args[0], tuple(counts)))


def _expanded(node: torch.fx.Node) -> Operation | None:
    return Operation("expand", (node.args[0],))


_READERS = {
    "mean": _mean,
    "softmax": _softmax,
    "cat": _cat,
    "transpose": _transposed,
    "swapaxes": _transposed,
    "permute": _permuted,
    "getattr": _attribute,
    "mT": _matrices,
    "masked_fill": _filled,
    "where": _where,
    "dropout": _dropout,
    "getitem": _narrowed,
    "slice": _sliced,
    "reshape": _reshaped,
    "unsqueeze": _unsqueezed,
    "repeat": _repeated,
    "expand": _expanded,
}


def number_of(operand: Any) -> float | None:
    """A number that the model has as such."""
    return float(operand) if isinstance(operand, (int, float)) and not isinstance(operand, bool) else None
