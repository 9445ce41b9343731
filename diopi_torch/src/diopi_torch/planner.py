"""From a graph of ATen overloads to a plan: slots for its tensors, and steps that the library runs without Python.

Sizes that are symbols stay so: numbers of the plan are expressions, which the library evaluates for each call, and what
the planner decided by a size is a condition of the plan (`symbolic.py`). Views have no step. What a step writes is in
the arena, unless the graph returns it. An overload that the table serves calls its function; every other one goes
through the dispatcher, with the reason.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from . import fusion
from .folding import folded, needed, of_sizes
from .fused_steps import FusedSteps
from .fusion_report import Note
from .graph_calls import RULES, Caller
from .graph_nodes import (
    DataDependent,
    Declined,
    Unplanned,
    has_lazy_inputs,
    is_lazy,
    mapped,
    named_arguments,
    overload_name,
    refilled,
    results_of,
    storage_key,
    tensors_of,
    written_argument,
)
from .steps import NUMBERS
from .symbolic import Symbolic
from .symbols import Symbols, sources_of
from .table import Binding, bindings, has_function

VERSION = 2


@dataclass
class Plan:
    """A planned graph. `outputs` has for each output what it is: a `tensor` or a `number` of the run with its position,
    and the kind of the number; or a `value`."""

    document: dict[str, Any]
    constants: list[torch.Tensor]
    outputs: list[tuple[str, Any, str]]
    hints: list[int] = field(default_factory=list)
    """The values of the symbols that it was made with."""
    notes: list[Note] = field(default_factory=list)
    """Fused groups, and the reasons why other nodes were not fused."""

    def text(self) -> str:
        """The document as the library reads it."""
        return json.dumps(self.document)

    def resolved(self) -> dict[str, Any]:
        """The document for the sizes that it was made with, as a vendor's graph compiler takes it."""
        found: dict[str, Any] = json.loads(torch.ops.diopi.resolve_graph(self.text(), self.hints))
        return found


def _kept(graph: torch.fx.Graph) -> set[int]:
    """Storages that leave the graph."""
    output = graph.output_node()
    return {storage_key(value) for node in output.all_input_nodes for value in tensors_of(node.meta.get("val"))}


class Planner(FusedSteps):
    """Plans one graph."""

    def __init__(
        self, module: torch.fx.GraphModule, symbols: Symbols, fuses: bool, given: Mapping[str, torch.Tensor],
        constants: list[torch.Tensor] | None = None,
    ) -> None:  # fmt: skip
        self.module = module
        self.given = given
        """Inputs, by name, that are the same in all runs."""
        self.fuses = fuses and fusion.is_enabled()
        self.folds = fuses
        self.folded: dict[torch.fx.Node, torch.Tensor] = {}
        self.first: Planner | None = None
        """Computes what follows from sizes alone, once for each tuple of them."""
        super().__init__(symbols, _kept(module.graph))
        self.constants = [] if constants is None else constants
        self.nodes = list(module.graph.nodes)
        self.inputs = 0
        self.device = self._device()
        self.returned: list[int] = []
        self.returned_numbers: list[Symbolic] = []
        self.planned_outputs: list[tuple[str, Any, str]] = []

    # What the graph is about.

    def _device(self) -> torch.device | None:
        for node in self.nodes:
            for value in tensors_of(node.meta.get("val")):
                if value.device.type == torch._C._get_privateuse1_backend_name():
                    return value.device
        return None

    # Nodes.

    def plan(self) -> Plan:
        """The whole graph. Raises `Unplanned`."""
        self.plan_steps()
        return self._finished(self.planned_outputs)

    def plan_steps(self) -> None:
        """Slots and steps of the whole graph."""
        if self.folds:
            self.folded = folded(self)
        for node in self.folded:
            self._node(node)
        done = {*self.folded, *(self._plan_first() if self.folds and self.symbols.sources else ())}
        rest = needed([node for node in self.nodes if node not in done])
        for unit in self.units(rest, self.device) if self.fuses else rest:
            if isinstance(unit, torch.fx.Node):
                self._node(unit)
            elif not self.add_fused(unit):
                for node in (*unit.nodes, *self.copied_by(unit)):
                    self._node(node)

    def _plan_first(self) -> list[torch.fx.Node]:
        """Plans the nodes that follow from sizes alone, which are the result; the others find theirs as constants."""
        found = of_sizes(self)
        if found is None:
            return []
        constants = len(self.constants)
        first = Planner(found.module, self.symbols, self.fuses, found.given, self.constants)
        first.folds = False
        try:
            first.plan_steps()
        except Unplanned:
            del self.constants[constants:]
            return []
        self.first = first
        for position, node in enumerate(found.used):
            self.values[node] = self.add_slot({"kind": "constant", "result": position}, node.meta["val"])
            self.own(node.meta["val"], self.values[node])
        return found.nodes

    def _node(self, node: torch.fx.Node) -> None:
        if node.op == "placeholder":
            self._placeholder(node)
        elif node.op == "get_attr":
            self._constant(node)
        elif node in self.folded:
            if any(user not in self.folded for user in node.users):
                self.values[node] = self.add_constant(self.folded[node])
                self.own(node.meta["val"], self.values[node])
        elif node.op == "call_function":
            self._function(node)
        elif node.op == "output":
            self.planned_outputs = self._outputs(node)
        else:
            raise Unplanned(f"a node of the kind {node.op}")

    def _placeholder(self, node: torch.fx.Node) -> None:
        value = node.meta.get("val")
        if node.name in self.given and node.users and all(user in self.folded for user in node.users):
            return  # nothing else reads it
        if node.name in self.given:
            self.values[node] = self.add_constant(self.given[node.name])
            self.own(value, self.values[node])
        elif isinstance(value, torch.Tensor):
            try:
                layout = self.layout(value)
            except (DataDependent, Unplanned):
                layout = {}
            slot = self.add_slot({"kind": "input", "index": self.inputs, **layout}, value)
            self.values[node] = slot
            self.inputs += 1
            self.own(value, slot)
        elif isinstance(value, NUMBERS) or value is None:
            try:
                self.values[node] = self.number(value)
            except DataDependent as size:
                raise Unplanned(f"a number that depends on data: {size}") from None
        else:
            raise Unplanned(f"an input of the type {type(value).__name__}")

    def _constant(self, node: torch.fx.Node) -> None:
        value = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            raise Unplanned(f"an attribute of the type {type(value).__name__}")
        self.values[node] = self.add_constant(value)
        self.own(node.meta.get("val", value), self.values[node])

    def _function(self, node: torch.fx.Node) -> None:
        value = node.meta.get("val")
        if node.target is operator.getitem:
            whole, index = node.args
            assert isinstance(whole, torch.fx.Node)
            found = self.values[whole]
            self.values[node] = self.number(value) if isinstance(value, NUMBERS) else found[index]
            return
        if isinstance(value, NUMBERS):
            try:
                self.values[node] = self.number(value)
            except DataDependent as size:
                raise Unplanned(f"a number that depends on data: {size}") from None
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            raise Unplanned(f"a call of {node.target}")
        try:
            if self._is_view(node, node.target):
                self.values[node] = mapped(value, self.view)
                return
            self._call(node, node.target)
        except DataDependent:
            self._dispatch(node, node.target, "sizes depend on data")

    def _is_view(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> bool:
        """Returns whether all results look at memory that is there already."""
        found = list(tensors_of(node.meta.get("val")))
        if target._schema.is_mutable or not found:
            return False
        if any(is_lazy(value) for value in found) or has_lazy_inputs(node):
            return False
        return all(storage_key(value) in self.storages for value in found)

    # Calls.

    def _call(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> None:
        reason = "no function of the interface serves it"
        if has_lazy_inputs(node):
            self._dispatch(node, target, "a tensor that is conjugated or negated lazily")
            return
        name = overload_name(target)
        ways = [functools.partial(self._direct, binding=binding) for binding in bindings().get(name, ())]
        for way in [self._by_rule] if name in RULES else ways:
            before = len(self.slots), len(self.steps), len(self.constants), dict(self.storages)
            try:
                way(node, target)
                return
            except Declined as declined:
                reason = str(declined)
                del self.slots[before[0] :], self._layouts[before[0] :], self.steps[before[1] :]
                del self.constants[before[2] :]
                self.storages = before[3]
        self._dispatch(node, target, reason)

    def _by_rule(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> None:
        """The calls of an overload with a rule of its own. Raises `Declined`."""
        RULES[overload_name(target)](Caller(self, node, named_arguments(node, target)))

    def hand_call(
        self, node: torch.fx.Node, function: str, operands: list[Any], used: Sequence[int], results: list[Any],
        writes: int | None,
    ) -> None:  # fmt: skip
        """A step that a rule makes. `writes` is an input of the graph that it changes."""
        returned = node.meta["val"]
        values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        assert isinstance(node.target, torch._ops.OpOverload)  # rules are those of overloads
        step = self.step(node, node.target)
        step["function"] = function
        step["operands"] = operands
        step["results"] = [
            slot if isinstance(value, torch.Tensor) else None for slot, value in zip(results, values, strict=True)
        ]
        if writes is not None:
            step["writes"] = writes
        else:
            self.values[node] = results if isinstance(returned, (list, tuple)) else results[0]
        self.add_step(step, used, None)

    def _direct(self, node: torch.fx.Node, target: torch._ops.OpOverload, binding: Binding) -> None:
        """A step that calls a function. Raises `Declined`."""
        arguments = named_arguments(node, target)
        if binding.number and not isinstance(self.plain(arguments[binding.number]), (bool, int, float, Symbolic)):
            raise Declined("no function of the interface serves it")
        if not has_function(binding.function):
            raise Declined(f"{binding.function}: the chip has no such operator")
        results = list(tensors_of(node.meta["val"]))
        for value in (*results, *(v for each in node.all_input_nodes for v in tensors_of(each.meta.get("val")))):
            if value.device != self.device:
                raise Declined(f"a tensor on {value.device}")
            if value.is_complex() or value.is_neg() or value.layout != torch.strided:
                raise Declined("complex numbers, or a layout other than strided")
        promoted = self.promoted_dtype(binding, arguments, results) if binding.is_iterator else None
        for parameter in binding.parameters:
            if parameter[0] == "result":
                self.check_result(results[parameter[1]], parameter[2], arguments, promoted)
        operands: list[Any] = []
        for parameter in binding.parameters:
            if parameter[0] != "result":
                operands.append(self.operand(parameter, arguments, results, promoted))
        slots = [self.result(value) for value in results]
        remaining = iter(operands)
        step = self.step(node, target)
        step["function"] = binding.function
        step["operands"] = [slots[one[1]] if one[0] == "result" else next(remaining) for one in binding.parameters]
        step["results"] = slots
        self.values[node] = refilled(node.meta["val"], iter(slots))
        self.add_step(step, [], binding)

    def _dispatch(self, node: torch.fx.Node, target: torch._ops.OpOverload, reason: str) -> None:
        """A step through the dispatcher."""
        step = self.step(node, target)
        step["reason"] = reason
        schema = target._schema
        arguments = named_arguments(node, target)
        results: list[Any] = []
        values = node.meta.get("val")
        listed = list(values) if isinstance(values, (tuple, list)) and len(schema.returns) > 1 else [values]
        found: list[Any] = []
        for returned, value in zip(schema.returns, listed, strict=False):
            written = written_argument(schema, returned)
            if written is not None:
                found.append(self.values[arguments[written]] if isinstance(arguments[written], torch.fx.Node) else None)
                results.append(None)
                continue
            slots = mapped(value, self._dispatched) if value is not None else None
            found.append(slots)
            results.append(slots if slots is None or isinstance(slots, int) else list(slots))
        step["results"] = results
        self.values[node] = found[0] if len(schema.returns) == 1 else found
        self.add_step(step, [], None)

    def _dispatched(self, value: torch.Tensor) -> int:
        try:
            layout = self.layout(value)
        except (DataDependent, Unplanned):
            layout = {}
        slot = self.add_slot({"kind": "result", **layout}, value)
        if layout:
            self.own(value, slot)
        return slot

    def _outputs(self, node: torch.fx.Node) -> list[tuple[str, Any, str]]:
        return [self._output(value) for value in results_of(node.graph)]

    def _output(self, value: Any) -> tuple[str, Any, str]:
        if isinstance(value, torch.fx.Node) and isinstance(value.meta.get("val"), torch.Tensor):
            self.returned.append(self.values[value])
            return "tensor", len(self.returned) - 1, ""
        number = self.number(value) if value is not None else None
        if isinstance(number, Symbolic):
            self.returned_numbers.append(number)
            return "number", len(self.returned_numbers) - 1, number.kind
        return "value", number, ""

    def _finished(self, outputs: list[tuple[str, Any, str]]) -> Plan:
        first = None if self.first is None else self.first.document()
        symbols = self.symbols.document()
        if first is not None:
            # It is given the values of all symbols, and its conditions are those of the whole.
            first["symbols"] = [{"name": each["name"], "number": k} for k, each in enumerate(symbols)]
            first["conditions"] = []
        document = {**self.document(), "symbols": symbols, "first": first}
        notes = [*self.notes, *(Note((node,), why=why) for node, why in self.reasons.items())]
        return Plan(document, self.constants, outputs, self.symbols.hints(), notes)

    def document(self) -> dict[str, Any]:
        """The plan as the library reads it."""
        storages = {id(slot["storage"]): slot["storage"] for slot in self.slots if slot["kind"] == "arena"}
        positions = {key: k for k, key in enumerate(storages)}
        slots = []
        for slot in self.slots:
            if slot["kind"] == "arena":
                slot = {**slot, "storage": positions[id(slot["storage"])]}
            elif "result" in slot:  # the tensors of the first plan come after the others
                slot = {"kind": "constant", "index": len(self.constants) + slot["result"]}
            slots.append(slot)
        encoder = self.symbols.encoder()
        parts = {
            "slots": slots,
            "steps": self.steps,
            "storages": [storage.lifetime.document() for storage in storages.values()],
            "numbers": self.returned_numbers,
        }
        return {
            "version": VERSION,
            "device": self.device.index if self.device is not None else 0,
            "inputs": self.inputs,
            **{key: encoder.encoded(each) for key, each in parts.items()},
            "outputs": self.returned,
            "conditions": encoder.conditions(),
            "expressions": encoder.expressions,
        }


def plan(
    module: torch.fx.GraphModule,
    values: Mapping[Any, Any],
    fuses: bool = True,
    given: Mapping[str, torch.Tensor] | None = None,
    is_open: bool = True,
    guards: Sequence[Any] = (),
    names: Mapping[Any, str] | None = None,
) -> Plan:
    """The plan of a graph. `values` has those of its symbols at hand; a plan that `is_open` is for other sizes as well.
    With `fuses`, chains of elementwise operators are one kernel where the device compiles kernels. Inputs that are
    `given` by name are constants. Raises `Unplanned`, and `Untranslated` for an open plan that needs an expression that
    plans do not have. `guards` are more conditions on symbols, which `names` names for users."""
    given = given or {}
    symbols = Symbols(sources_of(module.graph, given), values, is_open, names or {})
    symbols.require(guards)
    return Planner(module, symbols, fuses, given).plan()
