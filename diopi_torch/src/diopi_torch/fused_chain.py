"""From a group of nodes to the operations of its kernel."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import torch
import torch.fx
from torch.fx import Node

from .fused_forms import FORMS, Value
from .fused_source import Operation
from .fusion import Group, form_of
from .fusion_elements import Element


@dataclass
class Operations:
    """The operations of a group, its inputs and the nodes that it stores, each with its form in the group, and the
    operations that compute these. What is stored goes to memory of its own, or to an input of the graph: `targets`
    has that, and the node whose work it is, which nothing needs to do any more."""

    operations: list[Operation] = field(default_factory=list)
    inputs: list[tuple[Node, str]] = field(default_factory=list)
    stored: list[tuple[Node, str]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    targets: list[tuple[Node, Node] | None] = field(default_factory=list)

    def add(self, operation: Operation) -> Value:
        """Appends it; its value."""
        self.operations.append(operation)
        return "value", len(self.operations) - 1

    def read(self, node: Node, form: str) -> Value:
        """An input."""
        if (node, form) not in self.inputs:
            self.inputs.append((node, form))
        return "input", self.inputs.index((node, form))


def operations_of(
    group: Group,
    elements: Mapping[Node, Element],
    copies: Mapping[Node, Sequence[tuple[Node, Node]]],
    readers: Collection[Node],
) -> Operations:
    """The operations of a group. `copies` has, for what is copied to inputs of the graph, these and the nodes that do
    so; `readers` are the nodes that need what they name."""
    found = Operations()
    computed: dict[Node, int] = {}
    members = set(group.nodes)
    for node in group.nodes:
        element = elements[node]
        form = form_of(element, group.shape, group.reduced)
        reads = "whole" if element.reduced else form
        operands: list[Value] = []
        for each, is_rounded in zip(element.operands, element.converted, strict=True):
            if not isinstance(each, Node):
                operands.append(("number", each))
                continue
            operand = ("value", computed[each]) if each in members else found.read(each, reads)
            if is_rounded:
                is_row = reads != "whole"
                operand = found.add(Operation(None, (), (operand,), element.computed, element.computed, is_row=is_row))
            operands.append(operand)
        if element.form:
            value = FORMS[element.form].made(RowBuilder(found, element), operands)
        else:
            value = found.add(
                Operation(
                    element.function,
                    element.plain,
                    tuple(operands),
                    element.dtype,
                    element.computed,
                    is_row=reads != "whole",
                )
            )
        computed[node] = value[1]
    for node in group.nodes:
        form = form_of(elements[node], group.shape, group.reduced)
        taken = [] if group.reduced else [one for one in copies.get(node, ()) if _is_own(*one, members, readers)]
        done = {copy for _, copy in taken}
        others = [user for user in node.users if user in readers and user not in members and user not in done]
        for target in [*taken, *([None] if others else [])]:
            found.stored.append((node, form))
            found.outputs.append(computed[node])
            found.targets.append(target)
    return found


def _is_own(target: Node, copy: Node, members: Collection[Node], readers: Collection[Node]) -> bool:
    """Returns whether nothing but the group reads an input that it writes."""
    return all(user in members or user is copy or user not in readers for user in target.users)


def copies_of(nodes: Sequence[Node]) -> dict[Node, list[tuple[Node, Node]]]:
    """The copies to inputs that a graph ends with, by what is copied: the input, and the node."""
    found: dict[Node, list[tuple[Node, Node]]] = {}
    seen: set[Node] = set()
    for node in reversed(nodes):
        if node.op in ("output", "placeholder"):
            continue
        if node.target is not torch.ops.aten.copy_.default:
            break
        target, value = node.args[0], node.args[1]
        if not isinstance(target, Node) or not isinstance(value, Node) or target.op != "placeholder" or target in seen:
            continue
        seen.add(target)
        one, other = target.meta["val"], value.meta["val"]
        shares = any(stride == 0 for stride in one.stride())
        if (
            not node.users
            and not shares
            and (one.dtype, one.shape, one.device) == (other.dtype, other.shape, other.device)
        ):
            found.setdefault(value, []).append((target, node))
    return found


class RowBuilder:
    """The operations of an element that reduces. Values between them are not rounded to its dtype; those that may be
    larger than its result are float64, as in the functions."""

    def __init__(self, found: Operations, element: Element) -> None:
        self.found = found
        self.element = element
        self.own = element.dtype
        self.wide = torch.float64 if element.computed == torch.float32 else element.computed

    def converted(self, operand: Value, dtype: torch.dtype) -> Value:
        """A value in another dtype."""
        return self.found.add(Operation(None, (), (operand,), dtype, dtype))

    def call(
        self, function: str, operands: tuple[Value, ...], dtype: torch.dtype | None = None, is_row: bool = False
    ) -> Value:
        """A function of the interface, in the dtype that the element is computed in."""
        return self._call(function, operands, self.element.computed, dtype, is_row)

    def call_wide(
        self, function: str, operands: tuple[Value, ...], dtype: torch.dtype | None = None, is_row: bool = False
    ) -> Value:
        """The same in float64."""
        return self._call(function, operands, self.wide, dtype, is_row)

    def _call(
        self, function: str, operands: tuple[Value, ...], computed: torch.dtype, dtype: torch.dtype | None, is_row: bool
    ) -> Value:
        plain = (("alpha", 1), ("rounding_mode", None))
        return self.found.add(Operation(function, plain, operands, dtype or computed, computed, is_row=is_row))

    def reduce(self, form: str, operand: Value, dtype: torch.dtype | None = None) -> Value:
        """All columns to one value."""
        computed = self.element.computed
        return self.found.add(Operation(None, self.element.plain, (operand,), dtype or computed, computed, form, True))

    def reduce_wide(self, form: str, operand: Value, dtype: torch.dtype | None = None) -> Value:
        """The same of values in float64."""
        plain = self.element.plain
        return self.found.add(Operation(None, plain, (operand,), dtype or self.wide, self.wide, form, True))
