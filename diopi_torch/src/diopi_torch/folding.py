"""Nodes whose values follow from the graph alone, or from sizes alone: computed once, when a plan is made, or when
sizes are met for the first time.

Positions, masks, numbers as tensors and weights in another layout are such nodes. Functional graphs never write to
them; a tensor that the graph returns is made in each run.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from .graph_nodes import (
    DataDependent,
    Unplanned,
    named_arguments,
    overload_name,
    storage_key,
    tensors_of,
)
from .layout_roles import META
from .symbolic import Symbolic

LARGEST = 1 << 20
"""Bytes of a tensor that is worth keeping."""
_LIKE = {"zeros_like": 0, "ones_like": 1, "new_zeros": 0, "new_ones": 1, "full_like": None, "new_full": None}
"""Value that they fill a tensor with; the operand gives dtype and device alone."""
_KEPT_OUT = ("empty", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "empty_like", "_to_copy")


def folded(planner: Any) -> dict[torch.fx.Node, torch.Tensor]:
    """The values of nodes that follow from the graph alone; what looks at a given input is not among them, and costs
    nothing."""
    found: dict[torch.fx.Node, torch.Tensor] = {}
    given: set[int] = set()
    for node in planner.nodes:
        if node.op == "placeholder" and node.name in planner.given:
            found[node] = planner.given[node.name]
            given.add(storage_key(node.meta["val"]))
        elif _may_fold(planner, node, found, given, of_sizes=False):
            try:
                found[node] = _value(planner, node, found)
            except (DataDependent, Unplanned):
                continue
    return {node: value for node, value in found.items() if storage_key(node.meta["val"]) not in given}


def needed(nodes: Sequence[torch.fx.Node]) -> list[torch.fx.Node]:
    """Of nodes in the order of a graph, those that do something or that others of them need: what a folded value was
    computed from is not."""
    found: set[torch.fx.Node] = set()
    for node in reversed(nodes):
        if node.is_impure() or any(user in found for user in node.users):
            found.add(node)
    return [node for node in nodes if node in found]


@dataclass(frozen=True)
class OfSizes:
    """A graph of nodes that follow from sizes alone: those that others need, in the order of its results; all of them;
    and the tensors that it reads, by name."""

    module: torch.fx.GraphModule
    used: list[torch.fx.Node]
    nodes: list[torch.fx.Node]
    given: dict[str, torch.Tensor]


def of_sizes(planner: Any) -> OfSizes | None:
    """Nodes that follow from sizes alone. What looks at a tensor that is there costs nothing, and is no result."""
    there: dict[torch.fx.Node, Any] = dict(planner.folded)
    there |= {node: planner.given[node.name] for node in planner.nodes if node.name in planner.given}
    known = {storage_key(node.meta["val"]) for node in there}
    found: list[torch.fx.Node] = []
    for node in planner.nodes:
        if node not in there and _may_fold(planner, node, {*there, *found}, known, of_sizes=True):
            found.append(node)
    own = [node for node in found if storage_key(node.meta["val"]) not in known]
    inside = set(found)
    used = [node for node in own if any(user not in inside for user in node.users)]
    if not used:
        return None
    graph = torch.fx.Graph()
    copies: dict[torch.fx.Node, torch.fx.Node] = {}

    def copied(node: torch.fx.Node) -> torch.fx.Node:
        if node not in copies and node in inside:
            copies[node] = graph.node_copy(node, copied)
        elif node not in copies:
            copies[node] = graph.placeholder(node.name)
            copies[node].meta = node.meta
        return copies[node]

    graph.output([copied(node) for node in used])
    for node in reversed([each for each in copies.values() if each.op == "placeholder"]):
        next(iter(graph.nodes)).prepend(node)
    given = {copies[node].name: value for node, value in there.items() if node in copies}
    return OfSizes(torch.fx.GraphModule({}, graph), used, own, given)


def _may_fold(
    planner: Any, node: torch.fx.Node, found: Collection[torch.fx.Node], given: set[int], of_sizes: bool
) -> bool:
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
    tensors = [each for each in node.all_input_nodes if list(tensors_of(each.meta.get("val")))]
    if not all(each in found for each in tensors) and (of_sizes or name not in _LIKE):
        return False
    try:
        size = planner.number(value.untyped_storage().nbytes())
        if not of_sizes and (isinstance(size, Symbolic) or _follows(planner, node)):
            return False
        return storage_key(value) in given or META in node.meta or bool(size <= LARGEST)
    except DataDependent:
        return False


def _follows(planner: Any, node: torch.fx.Node) -> bool:
    """Returns whether a number of a node follows from sizes."""
    found: list[bool] = []

    def look(argument: Any) -> Any:
        if isinstance(argument, torch.fx.Node) and list(tensors_of(argument.meta.get("val"))):
            return argument
        found.append(isinstance(planner.number(argument), Symbolic))
        return argument

    torch.fx.node.map_aggregate((node.args, node.kwargs), look)
    return any(found)


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
    return _laid_out(made, [planner.number(stride) for stride in value.stride()])


def _laid_out(made: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The tensor with these strides, copied where they put elements elsewhere: the stride of a dimension with one
    element puts none. Raises `Unplanned` where elements of other values would share memory."""
    triples = list(zip(made.shape, made.stride(), strides, strict=True))
    if made.numel() == 0 or all(own == expected for size, own, expected in triples if size > 1):
        return made.as_strided(made.shape, strides)
    if any(expected == 0 for size, _, expected in triples if size > 1):
        raise Unplanned("a constant whose elements share memory")
    return torch.empty_strided(made.shape, strides, dtype=made.dtype, device=made.device).copy_(made)
