"""Nodes of a graph as operations of a fused kernel: the function of the spec that each one has, or a reduction.

What a node computes comes from the spec's kernel expressions. Reductions over the last dimensions, softmax and the like
are made of sums, extremes and such expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx
from torch.fx import Node

from .fused_forms import FORMS
from .fused_prelude import INTEGERS, STORAGES
from .fused_source import bodies, reductions
from .graph_nodes import is_lazy, product
from .symbolic import Symbolic, minimum
from .table import Binding, bindings

Numbers = Callable[[Any], Any]

FEWEST_ROWS = 4
"""So that threads share the work of a kernel with much of it; a row is never divided."""
FEW_ELEMENTS = 1 << 15


_FOLLOWS = "it has a number that follows from sizes"


class NotFused(Exception):
    """A node cannot be part of a chain; the text says why."""


@dataclass(frozen=True)
class Element:
    """A node as an operation of a chain: operands are nodes, or numbers. `whole` and `reduced` say, of a node that
    reduces, the shape that it reads and how many of its last dimensions it reduces; `form` is what it is made of."""

    function: str | None
    plain: tuple[tuple[str, Any], ...]
    operands: tuple[Node | float, ...]
    converted: tuple[bool, ...]
    """True if an operand is rounded to `computed` first."""
    computed: torch.dtype
    dtype: torch.dtype
    shape: tuple[int, ...]
    form: str = ""
    whole: tuple[int, ...] = ()
    reduced: int = 0

    @property
    def gives_row(self) -> bool:
        """Returns whether it gives one value for a row."""
        return bool(self.form) and FORMS[self.form].gives_row


def element_of(
    node: Node, overload: str, arguments: Mapping[str, Any], number: Numbers, device: torch.device | None
) -> Element:
    """A node as an operation. Raises `NotFused`."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise NotFused("it has no tensor, or several, as its result")
    tensors = [value, *(each.meta.get("val") for each in node.all_input_nodes)]
    for one in tensors:
        if isinstance(one, torch.Tensor) and (one.device != device or one.dtype not in STORAGES):
            raise NotFused(f"it has a tensor of {one.dtype} on {one.device}")
        if isinstance(one, torch.Tensor) and is_lazy(one):
            raise NotFused("it has a tensor that is negated lazily")
    shape = tuple(number(size) for size in value.shape)
    if 0 in shape:
        raise NotFused("it has no elements")
    if form := reductions().get(overload):
        return _reduction(value, form, arguments, number, shape)
    if overload in ("_to_copy", "clone"):
        if arguments["self"].meta["val"].device != value.device:
            raise NotFused("it copies between devices")
        return Element(None, (), (arguments["self"],), (False,), value.dtype, value.dtype, shape)
    served = bindings().get(overload, ())
    if not served:
        raise NotFused("no function of the interface serves it")
    for binding in served:
        given = arguments[binding.number] if binding.number else None
        if isinstance(given, Node) and isinstance(given.meta["val"], torch.Tensor):
            continue
        if binding.function in bodies():
            return _element(value, binding, arguments, number, shape)
    raise NotFused("its function has no kernel expression")


def _element(
    value: torch.Tensor, binding: Binding, arguments: Mapping[str, Any], number: Numbers, shape: tuple[int, ...]
) -> Element:
    body = bodies()[binding.function]
    plain: list[tuple[str, Any]] = []
    operands: list[Node | float] = []
    rules: list[str] = []
    for name, parameter in zip(body.parameters, binding.parameters, strict=True):
        if parameter[0] == "constant":
            plain.append((name, parameter[1]))
        elif parameter[0] == "value":
            given = arguments[parameter[1]]
            given = number(given) if given is not None else parameter[3]
            if isinstance(given, (list, tuple, Node)):
                raise NotFused("it has a list, or a tensor, for a number")
            if isinstance(given, Symbolic):
                raise NotFused(_FOLLOWS)
            plain.append((name, given))
        elif parameter[0] == "tensor":
            given = arguments[parameter[1]]
            if given is None:
                raise NotFused("it lacks an operand")
            is_tensor = isinstance(given, Node) and isinstance(given.meta["val"], torch.Tensor)
            given = given if is_tensor else number(given)
            if isinstance(given, Symbolic):
                raise NotFused(_FOLLOWS)
            operands.append(given)
            rules.append(parameter[2])
        elif parameter[0] != "result":
            raise NotFused("it has an operand that is missing, or a list")
    if tuple(body.operands) and len(operands) != len(body.operands):
        raise NotFused("its operands are not those of the kernel")
    computed = _computed(value, binding, operands, plain)
    _require_kind(binding.function, computed, plain, operands)
    converted = []
    for operand, rule in zip(operands, rules, strict=True):
        own = operand.meta["val"].dtype if isinstance(operand, Node) else computed
        converted.append(bool(rule) and own not in (computed, torch.bool))
    return Element(binding.function, tuple(plain), tuple(operands), tuple(converted), computed, value.dtype, shape)


def _computed(
    value: torch.Tensor, binding: Binding, operands: Sequence[Node | float], plain: Sequence[tuple[str, Any]]
) -> torch.dtype:
    """The dtype that the operands promote to."""
    if value.dtype != torch.bool:
        return value.dtype
    read: list[Any] = [one.meta["val"] if isinstance(one, Node) else one for one in operands]
    if binding.number:
        read += [one for _, one in plain if isinstance(one, (bool, int, float))]
    found = read[0]
    if len(read) == 1:
        return found.dtype if isinstance(found, torch.Tensor) else torch.float32
    if len(read) != 2:
        raise NotFused("the planner does not know what its operands promote to")
    dtype = torch.result_type(*read)
    if dtype not in STORAGES:
        raise NotFused(f"its operands promote to {dtype}")
    return dtype


def _require_kind(
    function: str, dtype: torch.dtype, plain: Sequence[tuple[str, Any]], operands: Sequence[Node | float]
) -> None:
    """That the kernel computes in the dtype, with these numbers. Raises `NotFused`."""
    body = bodies()[function]
    if dtype == torch.bool:
        return
    if dtype not in INTEGERS:
        if "floating" not in body.kinds:
            raise NotFused(f"its kernel does not compute {dtype}")
        return
    if "integral" not in body.kinds:
        raise NotFused(f"its kernel does not compute {dtype}")
    limits = torch.iinfo(dtype)
    numbers = [one for _, one in plain if isinstance(one, (int, float))]
    numbers += [one for one in operands if not isinstance(one, Node)]
    if not all(isinstance(one, int) and limits.min <= one <= limits.max for one in (*numbers, product(numbers))):
        raise NotFused(f"it has a number that {dtype} has not")
    if body.nonzero:
        divisors = [one for name, one in plain if name in body.nonzero]
        divisors += [one for name, one in zip(body.operands, operands, strict=False) if name in body.nonzero]
        if any(isinstance(one, Node) or one == 0 for one in divisors):
            raise NotFused("its divisor may be 0")


def _reduction(
    value: torch.Tensor, form: str, arguments: Mapping[str, Any], number: Numbers, shape: tuple[int, ...]
) -> Element:
    """A reduction over the last dimensions. Raises `NotFused`."""
    operands = tuple(arguments[name] for name in FORMS[form].operands)
    read = operands[0].meta["val"]
    whole = tuple(number(size) for size in read.shape)
    dims = arguments.get("dim")
    given = [number(one) for one in dims] if isinstance(dims, (list, tuple)) else [] if dims is None else [number(dims)]
    found = sorted(one % len(whole) for one in given) if whole else []
    reduced = len(found) or len(whole)
    if (found and found != list(range(len(whole) - reduced, len(whole)))) or not whole:
        raise NotFused("it does not reduce the last dimensions")
    columns = product(whole[len(whole) - reduced :])
    if columns < 2:
        raise NotFused("it reduces single elements")
    if minimum(product(whole) - FEW_ELEMENTS, FEWEST_ROWS - product(whole) // columns) > 0:
        raise NotFused("it has too few rows for several threads")
    plain: list[tuple[str, Any]] = []
    if FORMS[form].is_corrected:
        correction = arguments.get("correction")
        correction = 1 if correction is None else number(correction)
        if isinstance(correction, Symbolic):
            raise NotFused(_FOLLOWS)
        plain.append(("correction", correction))
    computed = _accumulated(read.dtype, value.dtype, FORMS[form].computed)
    return Element(None, tuple(plain), operands, (False,) * len(operands), computed, value.dtype, shape, form, whole,
                   reduced)  # fmt: skip


def _accumulated(read: torch.dtype, result: torch.dtype, computed: str) -> torch.dtype:
    """The dtype that a reduction is computed in: float32 for float16 and bfloat16, int64 for sums of integers."""
    if computed == "operand":
        return read
    if computed == "bool":
        return torch.bool
    if computed == "sum" and not result.is_floating_point:
        if result != torch.int64:
            raise NotFused(f"it is a sum of {result}")
        return torch.int64
    if not result.is_floating_point or (not read.is_floating_point and computed != "sum"):
        raise NotFused(f"it makes {result} of {read}")
    if torch.promote_types(read, result) != result:
        raise NotFused(f"it makes {result} of {read}")
    return torch.float64 if torch.float64 in (read, result) else torch.float32
