"""Nodes whose values follow from the graph alone: computed once, when a plan is made.

Positions, masks and numbers as tensors are such nodes. Functional graphs never write to them; a tensor that the graph
returns is made in each run.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.fx

from torch_droplet.graph_nodes import (
    DataDependent,
    Unplanned,
    named_arguments,
    overload_name,
    storage_key,
    tensors_of,
)

LARGEST = 1 << 20
"""Bytes of a tensor that is worth keeping."""
_LIKE = {"zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1, "full_like": None, "new_full": None}
"""What they fill a tensor with; the operand gives dtype and device alone."""
_KEPT_OUT = ("empty", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "empty_like", "_to_copy")


def folded(planner: Any) -> dict[torch.fx.Node, torch.Tensor]:
    """The values of such nodes, by node; what looks at a given input is not among them, and costs nothing."""
    found: dict[torch.fx.Node, torch.Tensor] = {}
    given: set[int] = set()
    for node in planner.nodes:
        if node.op == "placeholder" and node.name in planner.given:
            found[node] = planner.given[node.name]
            given.add(storage_key(node.meta["val"]))
        elif _may_fold(planner, node, found, given):
            try:
                found[node] = _value(planner, node, found)
            except (DataDependent, Unplanned):
                continue
    return {node: value for node, value in found.items() if storage_key(node.meta["val"]) not in given}


def _may_fold(planner: Any, node: torch.fx.Node, found: dict[torch.fx.Node, torch.Tensor], given: set[int]) -> bool:
    target, value = node.target, node.meta.get("val")
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return False
    if target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags:
        return False
    name = overload_name(target)
    if name.split(".")[0] in _KEPT_OUT and not node.all_input_nodes:
        return False
    if not isinstance(value, torch.Tensor) or value.device != planner.device or value.layout != torch.strided:
        return False
    if storage_key(value) in planner.kept:
        return False
    try:
        is_view = storage_key(value) in given
        if planner.number(value.untyped_storage().nbytes()) > LARGEST and not is_view:
            return False
    except DataDependent:
        return False
    tensors = [each for each in node.all_input_nodes if list(tensors_of(each.meta.get("val")))]
    return name in _LIKE or all(each in found for each in tensors)


def _value(planner: Any, node: torch.fx.Node, found: dict[torch.fx.Node, torch.Tensor]) -> torch.Tensor:
    target = node.target
    assert isinstance(target, torch._ops.OpOverload)
    name, value = overload_name(target), node.meta["val"]
    if name in _LIKE:
        sizes = [planner.number(size) for size in value.shape]
        strides = [planner.number(stride) for stride in value.stride()]
        number = _LIKE[name]
        if number is None:
            number = planner.number(named_arguments(node, target)["fill_value"])
        return torch.empty_strided(sizes, strides, dtype=value.dtype, device=value.device).fill_(number)

    def real(argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node):
            return found[argument] if argument in found else planner.number(argument)
        return planner.number(argument)

    args = torch.fx.node.map_aggregate(node.args, real)
    kwargs = torch.fx.node.map_aggregate(node.kwargs, real)
    with torch.no_grad():
        made: torch.Tensor = target(*args, **kwargs)
    strides = [planner.number(stride) for stride in value.stride()]
    if list(made.stride()) == strides:
        return made
    return torch.empty_strided(made.shape, strides, dtype=made.dtype, device=made.device).copy_(made)
