"""Chains of elementwise operators that become one kernel.

A node joins the chains of its operands where it has their shape, and where no path leaves a chain and comes back to it.
What a chain computes comes from the spec's kernel expressions; dtypes are float32, float16, bfloat16 and bool.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from torch_droplet.fused_source import STORAGES, Chain, Operation, bodies
from torch_droplet.table import Binding, bindings

FEWEST = 2
"""Operators that are worth a kernel of their own."""
MOST_OPERATIONS = 64
MOST_BUFFERS = 24

Node = torch.fx.Node


def is_enabled() -> bool:
    """Whether chains are fused: `DIOPI_COMPILE_FUSION=0` turns that off, and so does a device without a compiler."""
    return os.environ.get("DIOPI_COMPILE_FUSION", "1") != "0" and bool(torch.ops.diopi.has_kernel_compiler())


@dataclass(frozen=True)
class Element:
    """A node as an operation of a chain: operands are nodes, or numbers."""

    function: str | None
    plain: tuple[tuple[str, Any], ...]
    operands: tuple[Node | float, ...]
    converted: tuple[bool, ...]
    """Whether an operand is rounded to `computed` first."""
    computed: torch.dtype
    dtype: torch.dtype
    shape: tuple[int, ...]


@dataclass
class Group:
    """Nodes that one kernel computes, in the order of the graph."""

    nodes: list[Node]
    shape: tuple[int, ...]


@dataclass
class Fusion:
    """The units of a graph in an order that they can run in, and why nodes are in none of the groups."""

    units: list[Node | Group]
    elements: dict[Node, Element]
    reasons: dict[Node, str] = field(default_factory=dict)


class NotFused(Exception):
    """A node cannot be part of a chain; the text says why."""


def element_of(
    node: Node, overload: str, arguments: Mapping[str, Any], number: Callable[[Any], Any], device: torch.device | None
) -> Element:
    """A node as an operation. Raises `NotFused`."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        raise NotFused("it has no tensor, or several, as its result")
    tensors = [value, *(each.meta.get("val") for each in node.all_input_nodes)]
    for one in tensors:
        if isinstance(one, torch.Tensor) and (one.device != device or one.dtype not in STORAGES):
            raise NotFused(f"it has a tensor of {one.dtype} on {one.device}")
    shape = tuple(number(size) for size in value.shape)
    if 0 in shape:
        raise NotFused("it has no elements")
    if overload == "_to_copy":
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
    value: torch.Tensor,
    binding: Binding,
    arguments: Mapping[str, Any],
    number: Callable[[Any], Any],
    shape: tuple[int, ...],
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
            plain.append((name, given))
        elif parameter[0] == "tensor":
            given = arguments[parameter[1]]
            if given is None:
                raise NotFused("it lacks an operand")
            is_tensor = isinstance(given, Node) and isinstance(given.meta["val"], torch.Tensor)
            operands.append(given if is_tensor else float(number(given)))
            rules.append(parameter[2])
        elif parameter[0] != "result":
            raise NotFused("it has an operand that is missing, or a list")
    if tuple(body.operands) and len(operands) != len(body.operands):
        raise NotFused("its operands are not those of the kernel")
    computed = _computed(value, binding, operands, plain)
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


def schedule(nodes: Sequence[Node], elements: dict[Node, Element], reasons: dict[Node, str]) -> Fusion:
    """Groups the nodes that have elements, and orders everything such that operands come first."""
    position = {node: k for k, node in enumerate(nodes)}
    above, below = _reachability(nodes, position)
    members: dict[int, int] = {}
    owner: dict[Node, int] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    for node in nodes:
        element = elements.get(node)
        if element is None:
            continue
        mine = 1 << position[node]
        number = position[node]
        members[number], owner[node], shapes[number] = mine, number, element.shape
        for each in element.operands:
            other = owner.get(each) if isinstance(each, Node) else None
            number = owner[node]
            if other is None or other == number or shapes[other] != element.shape:
                continue
            union = members[other] | members[number]
            if not _may_join(union, above, below, nodes, elements):
                continue
            for index in _indices(members[number]):
                owner[nodes[index]] = other
            members[other] = union
            del members[number]
    groups: dict[int, Group] = {}
    for number, bits in members.items():
        inside = [nodes[index] for index in _indices(bits)]
        if sum(elements[node].function is not None for node in inside) >= FEWEST:
            groups[number] = Group(inside, shapes[number])
        else:
            for node in inside:
                reasons.setdefault(node, "no neighbour has its shape, or a path between them leaves the chain")
    inside = {node: group for group in groups.values() for node in group.nodes}
    return Fusion(_ordered(nodes, inside), elements, reasons)


def _indices(bits: int) -> list[int]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def _edges(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """What must run before a node: its operands; what writes to memory stays behind everything before it, and before
    everything behind it; random operators stay in their order."""
    before: dict[Node, list[Node]] = {}
    last_write: Node | None = None
    last_effect: Node | None = None
    earlier: list[Node] = []
    for node in nodes:
        own = list(node.all_input_nodes)
        target = node.target
        if last_write is not None and last_write is not node:
            own.append(last_write)
        if isinstance(target, torch._ops.OpOverload):
            is_random = torch.Tag.nondeterministic_seeded in target.tags
            if target._schema.is_mutable:
                own += earlier
                last_write = node
            if (is_random or target._schema.is_mutable) and last_effect is not None:
                own.append(last_effect)
            if is_random or target._schema.is_mutable:
                last_effect = node
        if node.op == "output":
            own += earlier
        before[node] = own
        earlier.append(node)
    return before


def _reachability(nodes: Sequence[Node], position: Mapping[Node, int]) -> tuple[list[int], list[int]]:
    """For each node, the set of those that must run before it, and of those that must run after it, as bits."""
    before = _edges(nodes)
    above = [0] * len(nodes)
    below = [0] * len(nodes)
    for k, node in enumerate(nodes):
        for each in before[node]:
            above[k] |= above[position[each]] | 1 << position[each]
    for k in reversed(range(len(nodes))):
        for each in before[nodes[k]]:
            below[position[each]] |= below[k] | 1 << k
    return above, below


def _may_join(
    union: int, above: Sequence[int], below: Sequence[int], nodes: Sequence[Node], elements: Mapping[Node, Element]
) -> bool:
    """Whether no path between two nodes of the set has others on it, and a kernel is not too large."""
    indices = _indices(union)
    if len(indices) > MOST_OPERATIONS:
        return False
    over, under = 0, 0
    for index in indices:
        over |= above[index]
        under |= below[index]
    if over & under & ~union:
        return False
    inputs = {
        each
        for index in indices
        for each in elements[nodes[index]].operands
        if isinstance(each, Node) and each not in {nodes[k] for k in indices}
    }
    return len(inputs) + len(indices) <= MOST_BUFFERS * 2 and len(inputs) <= MOST_BUFFERS


def _ordered(nodes: Sequence[Node], inside: Mapping[Node, Group]) -> list[Node | Group]:
    """Units in the order of the graph as far as operands come first."""
    before = _edges(nodes)
    units: list[Node | Group] = []
    state: dict[int, bool] = {}

    def visit(start: Node) -> None:
        pending = [start]
        while pending:
            node = pending[-1]
            unit = inside.get(node, node)
            if state.get(id(unit)):
                pending.pop()
                continue
            own = unit.nodes if isinstance(unit, Group) else [node]
            waiting = [
                each
                for one in own
                for each in before[one]
                if inside.get(each, each) is not unit and not state.get(id(inside.get(each, each)))
            ]
            if waiting:
                pending += waiting
                continue
            state[id(unit)] = True
            units.append(unit)
            pending.pop()

    for node in nodes:
        visit(node)
    return units


def chain_of(
    group: Group, elements: Mapping[Node, Element], kept: Callable[[Node], bool]
) -> tuple[list[Operation], list[Node], list[Node], list[int]]:
    """The operations of a group, its inputs, the nodes that it stores, and the operations that compute these."""
    inputs: list[Node] = []
    operations: list[Operation] = []
    computed: dict[Node, int] = {}
    members = set(group.nodes)
    for node in group.nodes:
        element = elements[node]
        operands: list[tuple[str, Any]] = []
        for each, is_rounded in zip(element.operands, element.converted, strict=True):
            if not isinstance(each, Node):
                operands.append(("number", each))
                continue
            if each in members:
                operand = ("value", computed[each])
            else:
                if each not in inputs:
                    inputs.append(each)
                operand = ("input", inputs.index(each))
            if is_rounded:
                operations.append(Operation(None, (), (operand,), element.computed))
                operand = ("value", len(operations) - 1)
            operands.append(operand)
        operations.append(Operation(element.function, element.plain, tuple(operands), element.dtype))
        computed[node] = len(operations) - 1
    stored = [node for node in group.nodes if kept(node) or any(user not in members for user in node.users)]
    return operations, inputs, stored, [computed[node] for node in stored]


@dataclass(frozen=True)
class Loop:
    """The loop of a kernel over its buffers: sizes, and the strides of each buffer, outermost dimension first."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    @property
    def inner(self) -> tuple[int, ...]:
        """For each buffer 1 for adjacent elements, 0 for the same one, 2 for others."""
        return tuple(own[-1] if own[-1] in (0, 1) else 2 for own in self.strides)


def loop_of(shape: Sequence[int], strides: Sequence[Sequence[int]], first_output: int) -> Loop:
    """As few dimensions as there can be: those of one element are dropped, and neighbours joined where all buffers
    allow. The innermost one is where the first output has its smallest stride."""
    dimensions = [k for k, size in enumerate(shape) if size != 1]
    dimensions.sort(key=lambda k: -strides[first_output][k])
    sizes: list[int] = []
    rows: list[list[int]] = []
    for k in dimensions:
        own = [buffer[k] for buffer in strides]
        if sizes and all(outer == mine * shape[k] for outer, mine in zip(rows[-1], own, strict=True)):
            sizes[-1] *= shape[k]
            rows[-1] = own
        else:
            sizes.append(shape[k])
            rows.append(own)
    if not sizes:
        sizes, rows = [1], [[1] * len(strides)]
    return Loop(tuple(sizes), tuple(tuple(row[b] for row in rows) for b in range(len(strides))))


__all__ = ["Chain", "Element", "Fusion", "Group", "NotFused", "chain_of", "element_of", "loop_of", "schedule"]
