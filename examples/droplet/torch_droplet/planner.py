"""From a graph of ATen overloads to a plan: slots for its tensors, and steps that the library runs without Python.

A plan is made for one tuple of sizes. Views have no step. What a step writes is in the arena, unless the graph returns
it. An overload that the table serves calls its function; every other one goes through the dispatcher, with the reason.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from torch_droplet import fusion
from torch_droplet.arena import Lifetime, assign
from torch_droplet.folding import folded
from torch_droplet.fused_source import GRAIN, Chain
from torch_droplet.fused_source import source_of as kernel_source
from torch_droplet.fusion_report import Note
from torch_droplet.graph_calls import RULES, Caller
from torch_droplet.graph_nodes import (
    ACCUMULATED,
    DataDependent,
    Declined,
    Unplanned,
    converted_by_rule,
    dense_strides,
    mapped,
    named_arguments,
    overload_name,
    plain_operand,
    product,
    refilled,
    slots_in,
    source_of,
    storage_key,
    tensors_of,
    written_argument,
)
from torch_droplet.table import Binding, bindings, dtype_name, has_function

VERSION = 1
_MEMORY_FORMATS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
_NUMBERS = (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass
class Storage:
    """Memory that slots look at: the slot that owns it, or none where it is in the arena."""

    slot: int | None
    start: int
    """The owner's first byte in the storage."""
    lifetime: Lifetime | None = None


@dataclass
class Plan:
    """A planned graph. `outputs` has a position in the results of the run, or a value, for each output."""

    document: dict[str, Any]
    constants: list[torch.Tensor]
    outputs: list[tuple[bool, Any]]
    lifetimes: list[Lifetime] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """What was fused, and why nodes were not."""

    def text(self) -> str:
        """The document as the library reads it."""
        return json.dumps(self.document)


class Planner:
    """Plans one graph for given values of its symbols."""

    def __init__(
        self,
        module: torch.fx.GraphModule,
        symbols: Mapping[Any, int],
        fuses: bool,
        given: Mapping[str, torch.Tensor] | None = None,
    ) -> None:
        self.module = module
        self.given = given or {}
        """Inputs, by name, that are the same in all runs."""
        self.fuses = fuses and fusion.is_enabled()
        self.folds = fuses
        self.folded: dict[torch.fx.Node, torch.Tensor] = {}
        self.symbols = symbols
        self.nodes = list(module.graph.nodes)
        self.slots: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.constants: list[torch.Tensor] = []
        self.storages: dict[int, Storage] = {}
        self.values: dict[torch.fx.Node, Any] = {}
        """The slot of a node that is a tensor, a list for several, or a number."""
        self.inputs = 0
        self.device = self._device()
        self.kept = self._kept()
        self._layouts: list[torch.Tensor | None] = []
        self._made: list[torch.Tensor] = []
        self.returned: list[int] = []
        self.planned_outputs: list[tuple[bool, Any]] = []
        self.elements: dict[torch.fx.Node, fusion.Element] = {}
        self.reasons: dict[torch.fx.Node, str] = {}
        self.notes: list[Note] = []

    # What the graph is about.

    def _device(self) -> torch.device | None:
        for node in self.nodes:
            for value in tensors_of(node.meta.get("val")):
                if value.device.type == torch._C._get_privateuse1_backend_name():
                    return value.device
        return None

    def _kept(self) -> set[int]:
        """Storages that leave the graph."""
        (output,) = [node for node in self.nodes if node.op == "output"]
        return {storage_key(value) for node in output.all_input_nodes for value in tensors_of(node.meta.get("val"))}

    def number(self, value: Any) -> Any:
        """A size, or another number that may follow from symbols."""
        if isinstance(value, torch.fx.Node):
            if value in self.values:
                return self.values[value]
            return self.number(value.meta["val"])
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            expression = value.node.expr.xreplace(dict(self.symbols))
            if expression.free_symbols:
                raise DataDependent(str(expression))
            kind = int if isinstance(value, torch.SymInt) else float if isinstance(value, torch.SymFloat) else bool
            return kind(expression)
        return value

    def layout(self, value: torch.Tensor) -> dict[str, Any]:
        """Dtype, sizes and strides for a slot."""
        if value.layout != torch.strided:
            raise Unplanned(f"a tensor with the layout {value.layout}")
        return {
            "dtype": dtype_name(value.dtype),
            "sizes": [self.number(size) for size in value.shape],
            "strides": [self.number(stride) for stride in value.stride()],
        }

    def add_slot(self, slot: dict[str, Any], value: torch.Tensor | None) -> int:
        """A new slot; `value` says what is in it."""
        self.slots.append(slot)
        self._layouts.append(value)
        return len(self.slots) - 1

    # Nodes.

    def plan(self) -> Plan:
        """The whole graph. Raises `Unplanned`."""
        if self.folds:
            self.folded = folded(self)
        for unit in self._units():
            if isinstance(unit, fusion.Group):
                self._fused(unit)
            else:
                self._node(unit)
        return self._finished(self.planned_outputs)

    def _node(self, node: torch.fx.Node) -> None:
        if node.op == "placeholder":
            self._placeholder(node)
        elif node.op == "get_attr":
            self._constant(node)
        elif node in self.folded:
            if any(user not in self.folded for user in node.users):
                self.values[node] = self.add_constant(self.folded[node])
                self._own(node.meta["val"], self.values[node])
        elif node.op == "call_function":
            self._function(node)
        elif node.op == "output":
            self.planned_outputs = self._outputs(node)
        else:
            raise Unplanned(f"a node of the kind {node.op}")

    # Fusion.

    def _units(self) -> Sequence[torch.fx.Node | fusion.Group]:
        """The nodes in order, chains of them as groups where the device compiles kernels."""
        if not self.fuses:
            return self.nodes
        elements: dict[torch.fx.Node, fusion.Element] = {}
        for node in self.nodes:
            if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
                continue
            if node in self.folded:
                continue
            try:
                arguments = named_arguments(node, node.target)
                name = overload_name(node.target)
                elements[node] = fusion.element_of(node, name, arguments, self.plain, self.device)
            except (fusion.NotFused, DataDependent) as reason:
                self.reasons[node] = str(reason)
        self.elements = elements
        return fusion.schedule(self.nodes, elements, self.reasons).units

    def _fused(self, group: fusion.Group) -> None:
        """A step that runs the kernel of a group; its nodes one by one where the device does not compile it."""
        operations, inputs, stored, outputs = fusion.chain_of(group, self.elements, lambda node: False)
        buffers = [self._broadcast_strides(node.meta["val"], group.shape) for node in (*inputs, *stored)]
        loop = fusion.loop_of(group.shape, buffers, len(inputs))
        dtypes = tuple(node.meta["val"].dtype for node in inputs)
        chain = Chain(tuple(operations), dtypes, tuple(outputs), loop.inner, len(loop.sizes))
        source, name = kernel_source(chain)
        if failure := torch.ops.diopi.check_kernel(source, name):
            self.notes.append(Note(tuple(group.nodes), why=f"not compiled: {failure}"))
            for node in group.nodes:
                self._node(node)
            return
        slots = [self.values[node] for node in inputs]
        for node in stored:
            value = node.meta["val"]
            size = self.number(value.untyped_storage().nbytes())
            slot = self.add_result(value, size, storage_key(value) in self.kept, storage_key(value))
            self.values[node] = slot
            slots.append(slot)
        items = loop.sizes[0] if len(loop.sizes) == 1 else product(loop.sizes[:-1])
        step = {
            "node": name,
            "nodes": [node.name for node in group.nodes],
            "source": "; ".join(dict.fromkeys(text for text in map(source_of, group.nodes) if text)),
            "arguments": [],
            "results": [],
            "kernel": {
                "name": name,
                "source": source,
                "buffers": [
                    {"slot": slot, "bytes": self._extent(node.meta["val"]), "written": k >= len(inputs)}
                    for k, (slot, node) in enumerate(zip(slots, (*inputs, *stored), strict=True))
                ],
                "numbers": [*loop.sizes, *(stride for own in loop.strides for stride in own)],
                "items": items,
                "grain": GRAIN if len(loop.sizes) == 1 else max(1, GRAIN // max(1, loop.sizes[-1])),
            },
        }
        self.notes.append(Note(tuple(group.nodes), kernel=name))
        self.add_step(step, slots, None)

    def _broadcast_strides(self, value: torch.Tensor, shape: Sequence[int]) -> list[int]:
        """Strides of a tensor as if it had `shape`."""
        sizes = [self.number(size) for size in value.shape]
        strides = [self.number(stride) for stride in value.stride()]
        lead = len(shape) - len(sizes)
        return [0] * lead + [
            0 if size == 1 and shape[lead + k] != 1 else stride
            for k, (size, stride) in enumerate(zip(sizes, strides, strict=True))
        ]

    def _extent(self, value: torch.Tensor) -> int:
        """Bytes from the first element to behind the last one."""
        pairs = zip(value.shape, value.stride(), strict=True)
        return (1 + sum((self.number(n) - 1) * self.number(s) for n, s in pairs)) * value.element_size()

    def _placeholder(self, node: torch.fx.Node) -> None:
        value = node.meta.get("val")
        if node.name in self.given:
            self.values[node] = self.add_constant(self.given[node.name])
            self._own(value, self.values[node])
        elif isinstance(value, torch.Tensor):
            slot = self.add_slot({"kind": "input", "index": self.inputs}, value)
            self.values[node] = slot
            self.inputs += 1
            self._own(value, slot)
        elif isinstance(value, _NUMBERS) or value is None:
            self.values[node] = self.number(value)
        else:
            raise Unplanned(f"an input of the type {type(value).__name__}")

    def _own(self, value: torch.Tensor, slot: int) -> None:
        try:
            start = self.number(value.storage_offset()) * value.element_size()
        except DataDependent:
            return
        self.storages.setdefault(storage_key(value), Storage(slot, start))

    def _constant(self, node: torch.fx.Node) -> None:
        value = self.module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            raise Unplanned(f"an attribute of the type {type(value).__name__}")
        self.values[node] = self.add_constant(value)
        self._own(node.meta.get("val", value), self.values[node])

    def add_constant(self, value: torch.Tensor) -> int:
        """A slot for a tensor that stays the same in all runs."""
        self.constants.append(value.detach())
        return self.add_slot({"kind": "constant", "index": len(self.constants) - 1}, value)

    def _function(self, node: torch.fx.Node) -> None:
        value = node.meta.get("val")
        if node.target is operator.getitem:
            whole, index = node.args
            found = self.values[whole]  # type: ignore[index]
            self.values[node] = self.number(value) if isinstance(value, _NUMBERS) else found[index]  # type: ignore[index]
            return
        if isinstance(value, _NUMBERS):
            try:
                self.values[node] = self.number(value)
            except DataDependent as size:
                raise Unplanned(f"a number that depends on data: {size}") from None
            return
        if not isinstance(node.target, torch._ops.OpOverload):
            raise Unplanned(f"a call of {node.target}")
        try:
            if self._is_view(node, node.target):
                self.values[node] = mapped(value, self._view)
                return
            self._call(node, node.target)
        except DataDependent:
            self._dispatch(node, node.target, "sizes depend on data")

    def _is_view(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> bool:
        """Whether all results look at memory that is there already."""
        found = list(tensors_of(node.meta.get("val")))
        if target._schema.is_mutable or not found:
            return False
        if any(value.is_conj() or value.is_neg() for value in found):
            return False
        if any(
            value.is_conj() or value.is_neg() for each in node.all_input_nodes for value in tensors_of(each.meta["val"])
        ):
            return False
        return all(storage_key(value) in self.storages for value in found)

    def _view(self, value: torch.Tensor) -> int:
        """A slot over the storage of another one."""
        storage = self.storages[storage_key(value)]
        start = self.number(value.storage_offset()) * value.element_size()
        if storage.slot is None:
            return self.add_slot({"kind": "arena", "storage": storage, "start": start, **self.layout(value)}, value)
        offset, rest = divmod(start - storage.start, value.element_size())
        if rest:
            raise Unplanned("a view between elements")
        return self.add_slot({"kind": "view", "base": storage.slot, "offset": offset, **self.layout(value)}, value)

    def result(self, value: torch.Tensor) -> int:
        """A slot with memory of its own, which a function writes."""
        size = self.number(value.untyped_storage().nbytes())
        dimensions = zip(value.shape, value.stride(), strict=True)
        if any(self.number(stride) == 0 and self.number(length) > 1 for length, stride in dimensions):
            raise Declined("a result with elements that share memory")
        return self.add_result(value, size, storage_key(value) in self.kept, storage_key(value))

    def add_result(self, value: torch.Tensor, size: int, is_kept: bool, key: int) -> int:
        """A slot of `size` bytes, in the arena unless it leaves the graph."""
        if is_kept:
            slot = self.add_slot({"kind": "fresh", **self.layout(value)}, value)
            self.storages[key] = Storage(slot, 0)
            return slot
        self.storages[key] = Storage(None, 0, Lifetime(size, len(self.steps), len(self.steps)))
        return self.add_slot({"kind": "arena", "storage": self.storages[key], "start": 0, **self.layout(value)}, value)

    # Calls.

    def _call(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> None:
        reason = "no function of the interface serves it"
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
        step = self.step(node, node.target)  # type: ignore[arg-type]
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

    def copy_step(self, node: torch.fx.Node, source: int, target: int) -> None:
        """A step that copies a tensor to another of its dtype."""
        step = {
            "node": node.name,
            "source": source_of(node),
            "overload": "copy_",
            "arguments": [{"slot": target}, {"slot": source}, False],
            "function": "diopiCopyInp",
            "operands": [source, target],
            "results": [None],
        }
        self.add_step(step, [source, target], None)

    def fill_step(self, node: torch.fx.Node, target: int, number: float) -> None:
        """A step that sets all elements of a tensor."""
        step = {
            "node": node.name,
            "source": source_of(node),
            "overload": "fill_.Scalar",
            "arguments": [{"slot": target}, number],
            "function": "diopiFill",
            "operands": [target, number],
            "results": [None],
        }
        self.add_step(step, [target], None)

    def scratch(self, sizes: Sequence[int], dtype: torch.dtype) -> int:
        """A dense tensor in the arena that no node has."""
        made = torch.empty_strided(list(sizes), dense_strides(sizes), dtype=dtype, device="meta")
        # The key is the address of a storage: it must stay one of its own.
        self._made.append(made)
        return self.add_result(made, made.untyped_storage().nbytes(), False, storage_key(made))

    def permuted(self, slot: int, dimensions: Sequence[int]) -> int:
        """A slot over the same memory."""
        value = self._layouts[slot]
        assert value is not None
        return self.inside(slot, value.permute(*dimensions))

    def inside(self, slot: int, seen: torch.Tensor) -> int:
        """A slot for a view of what is in another one."""
        own, value = self.slots[slot], self._layouts[slot]
        assert value is not None
        ahead = self.number(seen.storage_offset()) - self.number(value.storage_offset())
        if own["kind"] == "arena":
            start = own["start"] + ahead * seen.element_size()
            return self.add_slot({**own, "start": start, **self.layout(seen)}, seen)
        return self.add_slot({"kind": "view", "base": slot, "offset": ahead, **self.layout(seen)}, seen)

    def _direct(self, node: torch.fx.Node, target: torch._ops.OpOverload, binding: Binding) -> None:
        """A step that calls a function. Raises `Declined`."""
        arguments = named_arguments(node, target)
        if binding.number and not isinstance(self.plain(arguments[binding.number]), (bool, int, float)):
            raise Declined("no function of the interface serves it")
        if not has_function(binding.function):
            raise Declined(f"{binding.function}: the chip has no such operator")
        results = list(tensors_of(node.meta["val"]))
        for value in (*results, *(v for each in node.all_input_nodes for v in tensors_of(each.meta.get("val")))):
            if value.device != self.device:
                raise Declined(f"a tensor on {value.device}")
            if value.is_complex() or value.is_neg() or value.layout != torch.strided:
                raise Declined("complex numbers, or a layout other than strided")
        promoted = self._promoted(binding, arguments, results) if binding.is_iterator else None
        for parameter in binding.parameters:
            if parameter[0] == "result":
                self._check_result(results[parameter[1]], parameter[2], arguments, promoted)
        operands: list[Any] = []
        for parameter in binding.parameters:
            if parameter[0] != "result":
                operands.append(self._operand(parameter, arguments, results, promoted))
        slots = [self.result(value) for value in results]
        remaining = iter(operands)
        step = self.step(node, target)
        step["function"] = binding.function
        step["operands"] = [slots[one[1]] if one[0] == "result" else next(remaining) for one in binding.parameters]
        step["results"] = slots
        self.values[node] = refilled(node.meta["val"], iter(slots))
        self.add_step(step, [], binding)

    def _promoted(self, binding: Binding, arguments: Mapping[str, Any], results: Sequence[torch.Tensor]) -> torch.dtype:
        """The dtype that the operands promote to: that of the result, unless the result is a bool whatever they are."""
        if not all(parameter[2] == ["bool"] for parameter in binding.parameters if parameter[0] == "result"):
            return results[0].dtype
        names = [p[1] for p in binding.parameters if p[0] == "tensor" or (p[0] == "value" and p[2] == "scalar")]
        read = [self._operand_value(arguments[name]) for name in names if arguments[name] is not None]
        if len(read) == 1:
            return read[0].dtype if isinstance(read[0], torch.Tensor) else torch.get_default_dtype()
        if len(read) != 2 or not any(isinstance(one, torch.Tensor) for one in read):
            raise Declined("operands whose common dtype the planner does not know")
        return torch.result_type(*read)

    def _operand_value(self, argument: Any) -> Any:
        return argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument

    def _check_result(
        self, value: torch.Tensor, rule: Any, arguments: Mapping[str, Any], promoted: torch.dtype | None
    ) -> None:
        if rule == "type":
            fits = value.dtype == promoted
        elif rule == "accumulate":
            fits = value.dtype not in ACCUMULATED
        elif isinstance(rule, str):
            helper, _, name = rule.partition(":")
            fits = value.dtype == converted_by_rule(helper, self._operand_value(arguments[name]).dtype)
        else:
            fits = not rule or dtype_name(value.dtype) in rule
        if not fits:
            raise Declined(f"a result of {dtype_name(value.dtype)}")

    def _operand(
        self, parameter: Sequence[Any], arguments: Mapping[str, Any], results: Sequence[torch.Tensor],
        promoted: torch.dtype | None,
    ) -> Any:  # fmt: skip
        kind = parameter[0]
        if kind == "null":
            return None
        if kind == "constant":
            return parameter[1]
        argument = arguments[parameter[1]]
        if kind == "count":
            return len(argument)
        if kind == "tensors":
            return [self._tensor_operand(one, "same:0", parameter[2], False, results, promoted) for one in argument]
        if kind == "tensor":
            if argument is None:
                return None
            return self._tensor_operand(argument, *parameter[2:], results, promoted)
        _, _, type_name, standard, length = parameter
        value = self.plain(argument)
        return plain_operand(standard if value is None else value, type_name, length)

    def plain(self, argument: Any) -> Any:
        """A number, a list of numbers, a text, or None; a tensor node stays as it is."""
        if isinstance(argument, torch.fx.Node):
            return argument if isinstance(argument.meta.get("val"), torch.Tensor) else self.number(argument)
        if isinstance(argument, (list, tuple)):
            return [self.plain(one) for one in argument]
        return self.number(argument)

    def _tensor_operand(
        self, argument: Any, rule: str, dtypes: Sequence[str], expands: bool, results: Sequence[torch.Tensor],
        promoted: torch.dtype | None,
    ) -> int:  # fmt: skip
        if not isinstance(argument, torch.fx.Node) or not isinstance(argument.meta["val"], torch.Tensor):
            raise Declined("a number where the function reads a tensor")
        value = argument.meta["val"]
        slot = self.values[argument]
        expected = value.dtype
        if rule == "type":
            assert promoted is not None
            expected = promoted
        elif rule:
            helper, _, number = rule.partition(":")
            result = results[int(number)].dtype
            expected = value.dtype if helper != "same" and converted_by_rule(helper, value.dtype) == result else result
        if dtypes and dtype_name(expected) not in dtypes:
            raise Declined(f"{dtype_name(expected)} is not accepted")
        if expected != value.dtype:
            slot = self._cast(value, slot, expected)
        sizes = [self.number(size) for size in results[0].shape]
        if expands and [self.number(size) for size in value.shape] != sizes:
            slot = self._expanded(slot, sizes)
        return slot

    def _cast(self, value: torch.Tensor, slot: int, dtype: torch.dtype) -> int:
        """A step that converts an operand."""
        target = torch.ops.aten._to_copy.default
        result = self.scratch([self.number(n) for n in value.shape], dtype)
        step = {
            "node": f"to_{dtype_name(dtype)}",
            "overload": overload_name(target),
            "arguments": [{"slot": slot}, {"dtype": dtype_name(dtype)}, None, None, None, False, None],
            "function": "diopiCastDtype",
            "operands": [result, slot],
            "results": [result],
        }
        self.add_step(step, [result, slot], None)
        return result

    def _expanded(self, slot: int, sizes: Sequence[int]) -> int:
        own = self.slots[slot]
        value = self._layouts[slot]
        assert value is not None
        old = [self.number(n) for n in value.shape]
        strides = [self.number(n) for n in value.stride()]
        lead = len(sizes) - len(old)
        new = [0] * lead + [0 if old[k] != sizes[lead + k] else strides[k] for k in range(len(old))]
        layout = {"dtype": dtype_name(value.dtype), "sizes": list(sizes), "strides": new}
        if own["kind"] == "arena":
            return self.add_slot({**own, **layout}, value)
        return self.add_slot({"kind": "view", "base": slot, "offset": 0, **layout}, value)

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
            self._own(value, slot)
        return slot

    # Steps.

    def step(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> dict[str, Any]:
        """A step with what the dispatcher needs, which also runs the node where a function declines it."""
        arguments = named_arguments(node, target)
        return {
            "node": node.name,
            "source": source_of(node),
            "overload": overload_name(target),
            "arguments": [self._argument(arguments[argument.name]) for argument in target._schema.arguments],
        }

    def _argument(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            if isinstance(value.meta.get("val"), torch.Tensor):
                return {"slot": self.values[value]}
            return self._argument(self.number(value))
        if isinstance(value, (list, tuple)):
            return [self._argument(one) for one in value]
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.memory_format):
            return _MEMORY_FORMATS[value]
        if isinstance(value, torch.layout):
            if value != torch.strided:
                raise Unplanned(f"the layout {value}")
            return 0
        if value is None or isinstance(value, (str, *_NUMBERS)):
            try:
                return self.number(value)
            except DataDependent as size:
                raise Unplanned(f"a number that depends on data: {size}") from None
        raise Unplanned(f"an argument of the type {type(value).__name__}")

    def add_step(self, step: dict[str, Any], operands: Iterable[int], binding: Binding | None) -> None:
        """Appends a step; all that it uses lives until then."""
        used = {*operands, *slots_in(step["arguments"]), *slots_in(step["results"], plain=True)}
        if binding is not None:
            for parameter, operand in zip(binding.parameters, step["operands"], strict=True):
                if parameter[0] in ("tensor", "result") and operand is not None:
                    used.add(operand)
                elif parameter[0] == "tensors":
                    used.update(operand)
        now = len(self.steps)
        for slot in used:
            storage = self.slots[slot].get("storage")
            if storage is not None and storage.lifetime is not None:
                storage.lifetime.last = max(storage.lifetime.last, now)
                storage.lifetime.first = min(storage.lifetime.first, now)
        self.steps.append(step)

    def _outputs(self, node: torch.fx.Node) -> list[tuple[bool, Any]]:
        outputs: list[tuple[bool, Any]] = []
        self.returned: list[int] = []
        (values,) = node.args
        for value in values:  # type: ignore[union-attr]
            if isinstance(value, torch.fx.Node) and isinstance(value.meta.get("val"), torch.Tensor):
                outputs.append((True, len(self.returned)))
                self.returned.append(self.values[value])
            else:
                outputs.append((False, self.number(value) if value is not None else None))
        return outputs

    def _finished(self, outputs: list[tuple[bool, Any]]) -> Plan:
        storages = {id(slot["storage"]): slot["storage"] for slot in self.slots if slot["kind"] == "arena"}
        lifetimes = [storage.lifetime for storage in storages.values()]
        arena = assign(lifetimes)
        slots = []
        for slot in self.slots:
            if slot["kind"] == "arena":
                offset = slot["storage"].lifetime.offset + slot["start"]
                slot = {k: v for k, v in slot.items() if k not in ("storage", "start")} | {"offset": offset}
            slots.append(slot)
        document = {
            "version": VERSION,
            "device": self.device.index if self.device is not None else 0,
            "inputs": self.inputs,
            "arena": arena,
            "slots": slots,
            "steps": self.steps,
            "outputs": self.returned,
        }
        notes = [*self.notes, *(Note((node,), why=why) for node, why in self.reasons.items())]
        return Plan(document, self.constants, outputs, lifetimes, notes)


def plan(
    module: torch.fx.GraphModule,
    symbols: Mapping[Any, int],
    fuses: bool = True,
    given: Mapping[str, torch.Tensor] | None = None,
) -> Plan:
    """The plan of a graph for given values of its symbols; with `fuses`, chains of elementwise operators are one kernel
    where the device compiles kernels. Inputs that are `given` by name are constants. Raises `Unplanned`."""
    return Planner(module, symbols, fuses, given).plan()
