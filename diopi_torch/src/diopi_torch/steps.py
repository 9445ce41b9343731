"""The steps of a plan: calls with their operands, and what the dispatcher needs to run them instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.fx

from .graph_nodes import (
    ACCUMULATED,
    DataDependent,
    Declined,
    Unplanned,
    converted_by_rule,
    is_beyond,
    named_arguments,
    overload_name,
    plain_operand,
    slots_in,
    source_of,
)
from .layout_roles import META, demanded
from .slots import Slots
from .symbolic import Symbolic
from .symbols import SIZES
from .table import Binding, dtype_name

_MEMORY_FORMATS = {
    torch.contiguous_format: 0,
    torch.preserve_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
}
NUMBERS = (bool, int, float, *SIZES)


class Steps(Slots):
    """Appends steps over slots, and converts the operands of functions to what they accept."""

    def step(self, node: torch.fx.Node, target: torch._ops.OpOverload) -> dict[str, Any]:
        """A step with what the dispatcher needs, which also runs the node where a function declines it."""
        arguments = named_arguments(node, target)
        step = {
            "node": node.name,
            "source": source_of(node),
            "overload": overload_name(target),
            "arguments": [self._argument(arguments[argument.name]) for argument in target._schema.arguments],
        }
        if META in node.meta:
            step["converts"] = {node.name: node.meta[META]}
        elif layouts := demanded(node):
            step["layouts"] = layouts
        return step

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

    def plain(self, argument: Any) -> Any:
        """A number, a list of numbers, a text, or None; a tensor node stays as it is."""
        if isinstance(argument, torch.fx.Node):
            return argument if isinstance(argument.meta.get("val"), torch.Tensor) else self.number(argument)
        if isinstance(argument, (list, tuple)):
            return [self.plain(one) for one in argument]
        return self.number(argument)

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
        if value is None or isinstance(value, (str, *NUMBERS)):
            try:
                return self.number(value)
            except DataDependent as size:
                raise Unplanned(f"a number that depends on data: {size}") from None
        if isinstance(value, Symbolic):
            return value
        raise Unplanned(f"an argument of the type {type(value).__name__}")

    def _cast(self, value: torch.Tensor, slot: int, dtype: torch.dtype) -> int:
        """A step that converts an operand."""
        target = torch.ops.aten._to_copy.default
        result = self.scratch(self.numbers(value.shape), dtype)
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
        own = self.seen_as(slot)
        lead = len(sizes) - len(own.sizes)
        pairs = zip(own.sizes, own.strides, sizes[lead:], strict=True)
        strides = [0] * lead + [0 if size != expected else stride for size, stride, expected in pairs]
        return self.inside(slot, replace(own, sizes=list(sizes), strides=strides))

    def operand(
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
            _, _, rule, dtypes, expands = parameter
            return self._tensor_operand(argument, rule, dtypes, expands, results, promoted)
        _, _, type_name, standard, length = parameter
        value = self.plain(argument)
        if type_name == "scalar" and results and is_beyond(value, results[0].dtype):
            raise Declined(f"a number beyond {dtype_name(results[0].dtype)}")
        return plain_operand(standard if value is None else value, type_name, length)

    def _operand_value(self, argument: Any) -> Any:
        return argument.meta["val"] if isinstance(argument, torch.fx.Node) else argument

    def _tensor_operand(
        self, argument: Any, rule: str, dtypes: Sequence[str], expands: bool, results: Sequence[torch.Tensor],
        promoted: torch.dtype | None,
    ) -> int:  # fmt: skip
        if not isinstance(argument, torch.fx.Node) or not isinstance(argument.meta["val"], torch.Tensor):
            raise Declined("a number where the function reads a tensor")
        value = argument.meta["val"]
        slot: int = self.values[argument]
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
        sizes = self.numbers(results[0].shape)
        if expands and self.numbers(value.shape) != sizes:
            slot = self._expanded(slot, sizes)
        return slot

    def promoted_dtype(
        self, binding: Binding, arguments: Mapping[str, Any], results: Sequence[torch.Tensor]
    ) -> torch.dtype:
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

    def check_result(
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
