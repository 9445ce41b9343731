"""Steps that run a fused kernel: which nodes they have, their buffers, and the numbers of their loops."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from . import fusion
from .fused_chain import Operations, copies_of, operations_of
from .fused_kernel import FEWEST_SINGLE, MOST_BUFFERS, numbers_of, source_of
from .fused_rows import columns_of
from .fused_source import GRAIN, Chain
from .fusion import Group, GroupList, Loop, Unit
from .fusion_elements import Element, NotFused, element_of
from .fusion_report import Note
from .graph_nodes import (
    DataDependent,
    named_arguments,
    overload_name,
    product,
    storage_key,
)
from .graph_nodes import source_of as line_of
from .layout_roles import META
from .steps import Steps
from .symbolic import maximum
from .symbols import Symbols

log = logging.getLogger(__name__)
_failures = itertools.count()
"""Of kernels that the device does not compile: the first is shown, `DIOPI_COMPILE_LOG=fusion` shows all."""


@dataclass(frozen=True)
class Kernel:
    """Arguments of the launch of a group."""

    operations: Operations
    chain: Chain
    loop: Loop

    @property
    def items(self) -> Any:
        """Elements of one dimension, or rows."""
        return self.loop.sizes[0] if self._is_flat else product(self.loop.sizes[:-1])

    @property
    def grain(self) -> Any:
        """Items that are worth a thread."""
        return GRAIN if self._is_flat else maximum(1, GRAIN // maximum(1, self.loop.sizes[-1]))

    @property
    def numbers(self) -> list[Any]:
        """The sizes of the loop and the strides of each buffer."""
        return [*self.loop.sizes, *(stride for own in self.loop.strides for stride in own)]

    @property
    def _is_flat(self) -> bool:
        return len(self.loop.sizes) == 1 and not self.chain.has_rows


class FusedSteps(Steps):
    """Finds the kernels of a graph, and appends their steps."""

    def __init__(self, symbols: Symbols, kept: set[int]) -> None:
        super().__init__(symbols, kept)
        self.elements: dict[torch.fx.Node, Element] = {}
        self.reasons: dict[torch.fx.Node, str] = {}
        self.notes: list[Note] = []
        self.kernels: dict[int, Kernel] = {}
        self.nodes_left: set[torch.fx.Node] = set()
        self.copies: dict[torch.fx.Node, list[tuple[torch.fx.Node, torch.fx.Node]]] = {}

    def units(self, nodes: Sequence[torch.fx.Node], device: torch.device | None) -> list[Unit]:
        """The nodes in order, chains of them as groups. Nodes of the graph that are not among them need nothing."""
        self.nodes_left = set(nodes)
        self.copies = copies_of(nodes)
        for node in nodes:
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            try:
                arguments = named_arguments(node, node.target)
                self.elements[node] = element_of(node, overload_name(node.target), arguments, self.plain, device)
            except (NotFused, DataDependent) as reason:
                self.reasons[node] = str(reason)
        while True:
            found = fusion.schedule(nodes, self.elements, self.reasons)
            groups = [unit for unit in found.units if isinstance(unit, Group)]
            if not self._leave_out(groups):
                return self._listed(nodes, groups, found.singles)

    def _leave_out(self, groups: Sequence[Group]) -> bool:
        """Prepares kernels. Where one cannot reduce, its reductions are no elements any more; whether there were."""
        changed = False
        for group in groups:
            try:
                self.kernels[id(group)] = self._kernel(group)
            except NotFused as reason:
                for node in group.nodes:
                    if self.elements[node].reduced:
                        del self.elements[node]
                        self.reasons[node] = str(reason)
                        changed = True
        return changed

    def _listed(self, nodes: Sequence[torch.fx.Node], groups: Sequence[Group], singles: Sequence[Group]) -> list[Unit]:
        """The units, with groups that differ in sizes and buffers alone as one where none waits for another."""
        alone = [group for group in singles if not group.reduced]
        for group in alone:
            self.kernels[id(group)] = self._kernel(group)
        units = fusion.ordered(nodes, [*groups, *alone])
        alike: dict[tuple[int, Chain], list[Group]] = {}
        for unit, level in zip(units, fusion.levels(nodes, units), strict=True):
            if isinstance(unit, Group):
                alike.setdefault((level, self.kernels[id(unit)].chain), []).append(unit)
        is_single = {id(group) for group in alone}
        taken: list[Group | GroupList] = []
        for (_, chain), own in alike.items():
            if id(own[0]) in is_single and len(own) < FEWEST_SINGLE:
                continue
            most = max(1, MOST_BUFFERS // len(chain.inner))
            for first in range(0, len(own), most):
                part = own[first : first + most]
                taken.append(GroupList(part) if len(part) > 1 else part[0])
        done = set()
        for unit in taken:
            for node in unit.nodes:
                self.reasons.pop(node, None)
            done |= set(self.copied_by(unit))
        return fusion.ordered([node for node in nodes if node not in done], taken)

    def copied_by(self, unit: Group | GroupList) -> list[torch.fx.Node]:
        """The copies to inputs that the kernel of a unit makes."""
        groups = unit.groups if isinstance(unit, GroupList) else [unit]
        targets = [target for group in groups for target in self.kernels[id(group)].operations.targets]
        return [target[1] for target in targets if target is not None]

    def _kernel(self, group: Group) -> Kernel:
        """Raises `NotFused`."""
        found = operations_of(group, self.elements, self.copies, self.nodes_left)
        written = [
            (node if target is None else target[0], form)
            for (node, form), target in zip(found.stored, found.targets, strict=True)
        ]
        buffers = [self._strides(node.meta["val"], form, group) for node, form in (*found.inputs, *written)]
        first = len(found.inputs)
        if group.reduced:
            loop = fusion.rows_of(group.shape, group.reduced, buffers, first)
            columns = columns_of(found.operations, found.outputs, loop.sizes[-1])
        else:
            loop, columns = fusion.loop_of(group.shape, buffers, first), 0
        dtypes = tuple(node.meta["val"].dtype for node, _ in found.inputs)
        chain = Chain(
            tuple(found.operations),
            dtypes,
            tuple(found.outputs),
            loop.inner,
            len(loop.sizes),
            columns,
            any(found.targets),
        )
        return Kernel(found, chain, loop)

    def _strides(self, value: torch.Tensor, form: str, group: Group) -> list[int]:
        """Strides of a tensor as if it had the shape of the group."""
        if form == "whole":
            return self.broadcast_strides(value, group.shape)
        lead = len(group.shape) - group.reduced
        shape = group.shape[:lead] if form == "dropped" else fusion.kept_shape(group.shape, group.reduced)
        return self.broadcast_strides(value, shape)[:lead] + [0] * group.reduced

    def add_fused(self, unit: Group | GroupList) -> bool:
        """A step that runs the kernel of a unit; false where the device does not compile it."""
        groups = unit.groups if isinstance(unit, GroupList) else [unit]
        kernels = [self.kernels[id(group)] for group in groups]
        source, name = source_of(kernels[0].chain, is_list=isinstance(unit, GroupList))
        if failure := torch.ops.diopi.check_kernel(source, name):
            if next(_failures) == 0:
                log.warning("operators that a kernel would fuse run one by one: %s", failure)
            self.notes.append(Note(tuple(unit.nodes), why=f"not compiled: {failure}", is_failure=True))
            return False
        slots: list[int] = []
        buffers: list[dict[str, Any]] = []
        writes: list[int] = []
        for kernel in kernels:
            found = kernel.operations
            for node, _ in found.inputs:
                slots.append(self.values[node])
                buffers.append({"slot": slots[-1], "bytes": self.extent(node.meta["val"]), "written": False})
            for (node, _), target in zip(found.stored, found.targets, strict=True):
                value = node.meta["val"] if target is None else target[0].meta["val"]
                if target is None:
                    size = self.number(value.untyped_storage().nbytes())
                    key = storage_key(value)
                    self.values[node] = self.add_result(value, size, key in self.kept, key)
                    slots.append(self.values[node])
                else:
                    slots.append(self.values[target[0]])
                    writes.append(slots[-1])
                buffers.append({"slot": slots[-1], "bytes": self.extent(value), "written": True})
        if isinstance(unit, GroupList):
            numbers, items, grain = numbers_of([(one.items, one.grain, one.numbers) for one in kernels])
        else:
            numbers, items, grain = kernels[0].numbers, kernels[0].items, kernels[0].grain
        step = {
            "node": name,
            "nodes": [node.name for node in unit.nodes],
            "source": "; ".join(dict.fromkeys(text for text in map(line_of, unit.nodes) if text)),
            "arguments": [],
            "results": [],
            "kernel": {
                "name": name,
                "source": source,
                "buffers": buffers,
                "numbers": numbers,
                "items": items,
                "grain": grain,
                "writes": writes,
            },
        }
        if converts := {node.name: node.meta[META] for node in unit.nodes if META in node.meta}:
            step["converts"] = converts
        self.notes.append(Note(tuple(unit.nodes), kernel=name))
        self.add_step(step, slots, None)
        return True
