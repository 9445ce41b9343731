"""Nodes of a graph: their names, arguments and tensors, and the lines of the model that they come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch.fx

from .symbolic import Symbolic, as_real, maximum

ACCUMULATED = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32}
_HALVES = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


class Unplanned(Exception):
    """The graph has something that no plan can have; the text says what."""


class Declined(Exception):
    """A function cannot be called for a node; the text is the reason."""


class DataDependent(Exception):
    """A size is known at run time only."""


def storage_key(value: torch.Tensor) -> int:
    """Identity of a tensor's memory; None for layouts other than strided."""
    return int(value.untyped_storage()._cdata) if value.layout == torch.strided else -id(value)


def overload_name(target: torch._ops.OpOverload) -> str:
    """`mul.Tensor`; operators of other libraries keep their namespace."""
    name = target._schema.name
    name = name.removeprefix("aten::")
    return f"{name}.{target._schema.overload_name}" if target._schema.overload_name else name


def results_of(graph: torch.fx.Graph) -> list[Any] | tuple[Any, ...]:
    """Values that a graph returns: nodes, numbers and None."""
    (results,) = graph.output_node().args
    assert isinstance(results, (list, tuple)), "graphs of ATen overloads return several results"
    return results


def tensors_of(value: Any) -> Iterable[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors_of(one)


def is_lazy(value: torch.Tensor) -> bool:
    """Returns whether the elements are those of the memory, conjugated or negated."""
    return bool(value.is_conj() or value.is_neg())


def has_lazy_inputs(node: torch.fx.Node) -> bool:
    """Returns whether a tensor that a node reads is conjugated or negated lazily."""
    return any(is_lazy(value) for each in node.all_input_nodes for value in tensors_of(each.meta.get("val")))


def mapped(value: Any, change: Callable[[torch.Tensor], int]) -> Any:
    """`change` of each tensor of a value, which is one or has several."""
    if isinstance(value, (list, tuple)):
        return [mapped(one, change) for one in value]
    return change(value) if isinstance(value, torch.Tensor) else None


def refilled(value: Any, slots: Any) -> Any:
    return mapped(value, lambda _: next(slots))


def slots_in(value: Any, plain: bool = False) -> Iterable[int]:
    """The slots that arguments, or `plain` results, name."""
    if isinstance(value, dict):
        if "slot" in value:
            yield value["slot"]
    elif isinstance(value, list):
        for one in value:
            yield from slots_in(one, plain)
    elif plain and isinstance(value, int):
        yield value


def named_arguments(node: torch.fx.Node, target: torch._ops.OpOverload) -> dict[str, Any]:
    """All arguments by name, defaults included."""
    arguments = {}
    for number, argument in enumerate(target._schema.arguments):
        if number < len(node.args):
            value = node.args[number]
        elif argument.name in node.kwargs:
            value = node.kwargs[argument.name]
        else:
            value = argument.default_value if argument.has_default_value() else None
        if argument.N is not None and isinstance(value, int):
            value = [value] * argument.N
        arguments[argument.name] = value
    return arguments


def written_argument(schema: Any, returned: Any) -> str | None:
    """The argument that a result is, of overloads that write to one."""
    if returned.alias_info is None or not returned.alias_info.is_write:
        return None
    for argument in schema.arguments:
        if argument.alias_info is not None and argument.alias_info.before_set == returned.alias_info.before_set:
            return str(argument.name)
    return None


def converted_by_rule(helper: str, dtype: torch.dtype) -> torch.dtype:
    """Applies a dtype rule of the interface to a dtype."""
    if helper == "accumulate":
        return torch.int64 if dtype in ACCUMULATED else dtype
    if helper == "to_float":
        return dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()
    return _HALVES.get(dtype, dtype)


def is_beyond(value: Any, dtype: torch.dtype) -> bool:
    """Tells whether a number is out of the range of an integral dtype, which operators and releases of torch treat in
    several ways."""
    if dtype == torch.bool or dtype.is_floating_point or dtype.is_complex or not isinstance(value, (int, float)):
        return False
    limits = torch.iinfo(dtype)
    return not limits.min <= value <= limits.max


def plain_operand(value: Any, type_name: str, length: int | None) -> Any:
    if isinstance(value, torch.fx.Node):
        raise Declined("a tensor where the function takes a number")
    if value is None:
        return None
    if type_name == "sizes":
        sizes = list(value) if isinstance(value, (list, tuple)) else [value]
        return sizes * length if length is not None and length > 1 and len(sizes) == 1 else sizes
    if type_name in ("int64", "int32", "diopiReduction_t"):
        return value if isinstance(value, Symbolic) and value.kind == "integer" else int(value)
    if type_name in ("double", "float"):
        return as_real(value)
    if type_name == "bool":
        return bool(value)
    return value


def product(sizes: Iterable[Any]) -> Any:
    result: Any = 1
    for size in sizes:
        result *= size
    return result


def dense_strides(sizes: Sequence[Any]) -> list[Any]:
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(sizes):
        strides.append(step)
        step *= maximum(size, 1)
    return strides[::-1]


_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)\n\s*(.*)')


def source_of(node: torch.fx.Node) -> str:
    """The line of the model that a node comes from, and the module that it is in; empty where neither is known."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    modules = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack") or {}
    parts = []
    if frames:
        path, line, function, code = frames[-1]
        parts.append(f"{path}:{line}, in {function}: {code}")
    if modules:
        path, kind = list(modules.values())[-1]
        name = re.sub(r"^L\['self'\]\.?|\.?_modules|\['?|'?\]", lambda match: "." if match[0][0] == "[" else "", path)
        parts.append(f"module {name.strip('.') or path} ({kind if isinstance(kind, str) else kind.__name__})")
    return "; ".join(parts)
