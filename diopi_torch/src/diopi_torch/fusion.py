"""Chains of operators that become one kernel.

A node joins the chains of its operands where it has their shape, or where it reduces their last dimensions or follows
from what is reduced, and where no path leaves a chain and comes back to it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
import torch.fx
from torch.fx import Node

from .fusion_elements import Element, NotFused
from .graph_nodes import product

FEWEST = 2
"""Operators that are worth a kernel of their own."""
MOST_OPERATIONS = 64
MOST_BUFFERS = 24

Shape = tuple[int, ...]


def is_enabled() -> bool:
    """Returns whether chains are fused: `DIOPI_COMPILE_FUSION=0` turns that off, and so does a device without a
    compiler."""
    return os.environ.get("DIOPI_COMPILE_FUSION", "1") != "0" and bool(torch.ops.diopi.has_kernel_compiler())


@dataclass
class Group:
    """Nodes that one kernel computes, in the order of the graph. Its rows are the last `reduced` dimensions of `shape`;
    0 where it reduces nothing."""

    nodes: list[Node]
    shape: Shape
    reduced: int = 0


@dataclass
class GroupList:
    """Groups that one launch computes."""

    groups: list[Group]

    @property
    def nodes(self) -> list[Node]:
        """Of all groups."""
        return [node for group in self.groups for node in group.nodes]


Unit: TypeAlias = "Node | Group | GroupList"


@dataclass
class Fusion:
    """The units of a graph in an order that they can run in, chains of one operator, and why nodes are in no group."""

    units: list[Unit]
    singles: list[Group]
    reasons: dict[Node, str] = field(default_factory=dict)


def kept_shape(shape: Shape, reduced: int) -> Shape:
    """The shape of values of a row, with the dimensions that are reduced."""
    return shape[: len(shape) - reduced] + (1,) * reduced


def form_of(element: Element, shape: Shape, reduced: int) -> str:
    """Extent of a result in a group: `whole`, or one value for a row with (`kept`) or without (`dropped`) the
    dimensions that are reduced. Empty where it does not."""
    if not reduced:
        return "whole" if element.shape == shape else ""
    if element.reduced and (element.whole, element.reduced) != (shape, reduced):
        return ""
    if element.shape == shape and not element.gives_row:
        return "whole"
    if element.reduced and not element.gives_row:
        return ""
    if element.shape == kept_shape(shape, reduced):
        return "kept"
    return "dropped" if element.shape == shape[: len(shape) - reduced] else ""


class _Grouping:
    """Sets of nodes while they grow. What must run before and after a node, as bits, counts each set as one."""

    def __init__(self, nodes: Sequence[Node], elements: Mapping[Node, Element]) -> None:
        self.nodes = nodes
        self.elements = elements
        self.position = {node: k for k, node in enumerate(nodes)}
        self.above, self.below = _reachability(nodes, self.position)
        self.members: dict[int, int] = {}
        self.owner: dict[Node, int] = {}
        self.shapes: dict[int, tuple[Shape, int]] = {}

    def add(self, node: Node) -> None:
        """A set for a node, which then joins those of its operands."""
        element = self.elements[node]
        number = self.position[node]
        self.members[number], self.owner[node] = 1 << number, number
        self.shapes[number] = (element.whole or element.shape, element.reduced)
        # Reductions of one tensor read it once.
        self.join(node, [user for each in self._operands(node) if element.reduced for user in each.users])

    def join(self, node: Node, others: Sequence[Node] = ()) -> None:
        """Joins a node's set with those of its operands, and of others."""
        for each in (*self._operands(node), *others):
            other = self.owner.get(each)
            if other is not None and other != self.owner[node]:
                self._join(other, self.owner[node])

    def _operands(self, node: Node) -> list[Node]:
        return [each for each in self.elements[node].operands if isinstance(each, Node)]

    def _join(self, one: int, other: int) -> None:
        union = self.members[one] | self.members[other]
        shape = self._common(self.shapes[one], self.shapes[other])
        if shape is None or not self._is_sound(union, *shape):
            return
        over, under = 0, 0
        for index in _indices(union):
            over |= self.above[index]
            under |= self.below[index]
        over, under = over & ~union, under & ~union
        if over & under:
            return
        for index in _indices(union):
            self.owner[self.nodes[index]] = one
            self.above[index], self.below[index] = over, under
        for index in _indices(under):
            self.above[index] |= over | union
        for index in _indices(over):
            self.below[index] |= under | union
        self.members[one], self.shapes[one] = union, shape
        del self.members[other]

    def _common(self, one: tuple[Shape, int], other: tuple[Shape, int]) -> tuple[Shape, int] | None:
        """The shape of two sets together."""
        if bool(one[1]) == bool(other[1]):
            return one if one == other else None
        (shape, reduced), (single, _) = (one, other) if one[1] else (other, one)
        fits = single in (shape, kept_shape(shape, reduced), shape[: len(shape) - reduced])
        return (shape, reduced) if fits else None

    def _is_sound(self, union: int, shape: Shape, reduced: int) -> bool:
        """Returns whether a kernel is not too large, and whether each value is read as it is computed: for a column, or
        for a row."""
        indices = _indices(union)
        if len(indices) > MOST_OPERATIONS:
            return False
        inside = {self.nodes[index] for index in indices}
        forms = {node: form_of(self.elements[node], shape, reduced) for node in inside}
        if not all(forms.values()):
            return False
        inputs = set()
        rows = product(shape[: len(shape) - reduced])
        for node in inside:
            element = self.elements[node]
            for each in element.operands:
                if not isinstance(each, Node):
                    continue
                if each not in inside:
                    inputs.add(each)
                elif forms[node] == "whole" or element.reduced:
                    if forms[each] == "dropped" and rows != 1:
                        return False
                elif forms[each] == "whole":
                    return False
        return len(inputs) + len(indices) <= MOST_BUFFERS * 2 and len(inputs) <= MOST_BUFFERS


def schedule(nodes: Sequence[Node], elements: Mapping[Node, Element], reasons: dict[Node, str]) -> Fusion:
    """Groups the nodes that have elements, and orders everything such that operands come first."""
    grouping = _Grouping(nodes, elements)
    for node in nodes:
        if node in elements:
            grouping.add(node)
    for node in nodes:  # what came later may have made a set one of rows, which values of rows fit into
        if node in elements:
            grouping.join(node)
    groups: list[Group] = []
    singles: list[Group] = []
    for number, bits in grouping.members.items():
        inside = [nodes[index] for index in _indices(bits)]
        group = Group(inside, *grouping.shapes[number])
        if sum(elements[node].function is not None or elements[node].reduced > 0 for node in inside) >= FEWEST:
            groups.append(group)
            continue
        singles.append(group)
        for node in inside:
            reasons.setdefault(node, "no neighbour has its shape, or a path between them leaves the chain")
    return Fusion(ordered(nodes, groups), singles, reasons)


def levels(nodes: Sequence[Node], units: Sequence[Unit]) -> list[int]:
    """For each unit how many others must run before it, one after another; units of one level need none of each
    other."""
    before = _edges(nodes)
    found: dict[Node, int] = {}
    result = []
    for unit in units:
        own = [unit] if isinstance(unit, Node) else unit.nodes
        inside = set(own)
        level = max((found[each] + 1 for node in own for each in before[node] if each not in inside), default=0)
        found |= dict.fromkeys(own, level)
        result.append(level)
    return result


def _indices(bits: int) -> list[int]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def _edges(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """Nodes that must run before a node: its operands; what writes to memory stays behind everything before it, and
    before everything behind it; random operators stay in their order."""
    before: dict[Node, list[Node]] = {}
    last_write: Node | None = None
    last_effect: Node | None = None
    earlier: list[Node] = []
    known = set(nodes)
    for node in nodes:
        own = [each for each in node.all_input_nodes if each in known]
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


def ordered(nodes: Sequence[Node], groups: Sequence[Group | GroupList]) -> list[Unit]:
    """Groups and the other nodes in the order of the graph as far as operands come first."""
    inside = {node: group for group in groups for node in group.nodes}
    before = _edges(nodes)
    units: list[Unit] = []
    state: dict[int, bool] = {}

    def visit(start: Node) -> None:
        pending = [start]
        while pending:
            node = pending[-1]
            unit = inside.get(node, node)
            if state.get(id(unit)):
                pending.pop()
                continue
            own = [node] if isinstance(unit, Node) else unit.nodes
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


def rows_of(shape: Sequence[int], reduced: int, strides: Sequence[Sequence[int]], first_output: int) -> Loop:
    """The loop of a kernel that reduces the last dimensions, which are one for all buffers. Raises `NotFused`."""
    lead = len(shape) - reduced
    inner = [k for k in range(lead, len(shape)) if shape[k] != 1]
    for outer, k in itertools.pairwise(inner):
        if any(own[outer] != own[k] * shape[k] for own in strides):
            raise NotFused("the dimensions that it reduces do not lie one behind the other")
    columns = [own[inner[-1]] for own in strides]
    rows = loop_of(shape[:lead], [own[:lead] for own in strides], first_output)
    width = product(shape[lead:])
    if rows.sizes == (1,):
        return Loop((width,), tuple((stride,) for stride in columns))
    own = tuple((*outer, stride) for outer, stride in zip(rows.strides, columns, strict=True))
    return Loop((*rows.sizes, width), own)
