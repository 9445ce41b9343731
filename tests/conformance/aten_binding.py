"""Calls of ATen from calls of the interface: overloads that the spec names, arguments matched by name and kind.

Names and kinds are those of the schemas of the installed torch; nothing here comes from the generator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from diopigen.conformance.dtypes import bfloat16_bits, encode
from diopigen.conformance.oracles import Call
from diopigen.ir.model import Parameter

REPLACED: Mapping[str, str] = {
    "convolution_overrideable": "convolution",
    "convolution_backward_overrideable": "convolution_backward",
    "constant_pad_nd": "pad",
}
"""Overloads that devices register, and what computes the same on the CPU; `pad` has the other modes as well."""

_KINDS: Mapping[str, frozenset[str]] = {
    "Tensor": frozenset({"tensor"}),
    "List[Tensor]": frozenset({"tensors"}),
    "number": frozenset({"scalar", "double", "float", "int64"}),
    "int": frozenset({"int64", "int32", "int", "diopiReduction_t"}),
    "float": frozenset({"double", "float", "scalar"}),
    "bool": frozenset({"bool"}),
    "List[int]": frozenset({"sizes", "int64"}),
    "str": frozenset({"string", "diopiRoundMode_t"}),
}
_ENUMS: Mapping[str, Any] = {
    "ReductionNone": 0, "ReductionMean": 1, "ReductionSum": 2,
    "RoundModeNone": None, "RoundModeTrunc": "trunc", "RoundModeFloor": "floor",
}  # fmt: skip
_UNUSED: Mapping[str, frozenset[str]] = {
    "EmbeddingBackward": frozenset({"sparse"}),
    "RMSNormBackward": frozenset({"eps"}),
}
"""Parameters that do not change the result."""
_NOT_MATCHED = frozenset(
    {"dtype", "layout", "device", "pin_memory", "memory_format", "output_mask", "input_dtype", "return_inverse"}
    | {"N", "C", "HxW"}
)
"""Arguments of ATen that are never a parameter; N, C and HxW are sizes of the input."""


HALVES: Mapping[str, str] = {"float16": "float32", "bfloat16": "float32"}
"""Dtype of halves where torch rounds to them in intermediate steps."""


class BindingError(Exception):
    """No overload takes the arguments."""


def to_torch(values: Any, dtype: str) -> torch.Tensor:
    """A tensor of the dtype."""
    if dtype == "bfloat16":
        return torch.from_numpy(np.array(values, dtype=np.float32)).to(torch.bfloat16)
    return torch.from_numpy(np.array(values))


def stored(tensor: torch.Tensor, dtype: str) -> Any:
    """A tensor as elements in memory."""
    tensor = tensor.resolve_conj().to(getattr(torch, dtype)).contiguous()
    if dtype == "bfloat16":
        return bfloat16_bits(tensor.float().numpy()).reshape(tuple(tensor.shape))
    return encode(tensor.numpy(), dtype).reshape(tuple(tensor.shape))


@dataclass(frozen=True)
class Bound:
    """A call of ATen: the overload, what it takes, and the parameters that its results belong to, in order. `mutated`
    are arguments that it overwrites, by parameter."""

    overload: Any
    arguments: list[Any]
    keywords: dict[str, Any]
    results: list[str]
    mutated: dict[str, Any]
    names: dict[str, str]
    """Arguments of torch's schema by the parameters that are read."""

    def run(self) -> dict[str, Any]:
        """The results by parameter: tensors, lists of them, or a bool."""
        found = self.overload(*self.arguments, **self.keywords)
        if isinstance(found, list):
            found = (found,)
        several = found if isinstance(found, tuple) else () if found is None else (found,)
        return {**self.mutated, **dict(zip(self.results, several, strict=False))}


def bind(call: Call, *, widened: Mapping[str, str] | None = None) -> Bound:
    """The first overload of the spec that has a place for every argument; tensors of a dtype in `widened` are converted
    to the one that it gives. Raises `BindingError`."""
    reasons = []
    for overload, constants in _overloads(call):
        try:
            return _Binder(overload, call, widened or {}, constants).bound()
        except BindingError as reason:
            reasons.append(f"{overload.name()}: {reason}")
    raise BindingError("; ".join(reasons) or "the spec names no overload that torch has")


def _overloads(call: Call) -> Iterator[tuple[Any, frozenset[str]]]:
    """The overloads that the installed torch has, with the parameters that they fix, to what the call has: functional
    ones and those in place, then those with `out`."""
    found = []
    is_foreach = call.function.operator.startswith("Foreach")
    for one in call.function.aten:
        base, _, name = one.name.partition(".")
        constants = {} if base in REPLACED else one.constants
        is_other = any(call.values.get(param) != constant.value for param, constant in constants.items())
        if is_other or (base.startswith("_foreach") and not is_foreach):
            continue
        packet = getattr(torch.ops.aten, REPLACED.get(base, base), None)
        overload = getattr(packet, "default" if base in REPLACED else name or "default", None)
        if overload is not None:
            found.append((overload, frozenset(constants)))
    yield from sorted(found, key=lambda one: any(argument.is_out for argument in one[0]._schema.arguments))


def _kind(argument: Any) -> str:
    """The type of an argument in the words of the schema, without what makes it optional."""
    text = str(argument.type)
    for word in (
        "Optional[Tensor]",
        "Optional[number]",
        "Optional[int]",
        "Optional[float]",
        "Optional[bool]",
        "Optional[str]",
    ):
        text = text.replace(word, word[9:-1])
    return text[9:-1] if text.startswith("Optional[") else text


class _Binder:
    def __init__(self, overload: Any, call: Call, widened: Mapping[str, str], constants: frozenset[str]) -> None:
        self.overload, self.call, self.widened = overload, call, widened
        self.arguments = [argument for argument in overload._schema.arguments if not argument.is_out]
        self.outs = [argument for argument in overload._schema.arguments if argument.is_out]
        self.written = [p for p in call.function.params if p.is_written and p.type != "generator"]
        self.outputs = [p for p in self.written if p.type in ("new_tensor", "new_tensors") or p.name in call.values]
        counts = {p.count for p in call.function.params}
        self.unused = {"keepdim", *_UNUSED.get(call.function.operator, ()), *counts, *constants}
        self.constants = constants

    def bound(self) -> Bound:
        """The call. Raises `BindingError` where an argument has no place on either side."""
        taken = self._matched()
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        mutated: dict[str, Any] = {}
        for argument in self.arguments:
            param = taken.get(argument.name)
            value = self._derived(argument) if param is None else self._value(param, argument)
            if argument.kwarg_only:
                keywords[argument.name] = value
            else:
                positional.append(value)
            if argument.alias_info is not None and argument.alias_info.is_write and param is not None:
                mutated[param.name] = value
        for index, argument in enumerate(self.outs):
            if index >= len(self.outputs):
                raise BindingError(f"no output for {argument.name}")
            keywords[argument.name] = self._empty(self.outputs[index])
        # With a return for each output of the function, those that the call has no use for are counted as well.
        named = self.written if len(self.overload._schema.returns) == len(self.written) else self.outputs
        names = {param.name: argument for argument, param in taken.items() if param.is_read}
        return Bound(self.overload, positional, keywords, [param.name for param in named], mutated, names)

    def _matched(self) -> dict[str, Parameter]:
        """Parameters by argument: those of the same name, then the rest of the same kind in order."""
        params = self.call.function.params
        waiting = [
            p for p in params
            if (p.is_read or p.direction == "in") and p.type != "generator" and p.name not in self.constants
        ]  # fmt: skip
        taken: dict[str, Parameter] = {}
        for by_name in (True, False):
            for argument in self.arguments:
                if argument.name in taken or argument.name in _NOT_MATCHED:
                    continue
                kinds = _KINDS.get(_kind(argument), frozenset())
                suited = [p for p in waiting if p.type in kinds]
                if by_name:
                    suited = [p for p in suited if p.name == argument.name]
                else:
                    suited = [p for p in suited if p.name not in self.unused]
                if suited:
                    taken[argument.name] = suited[0]
                    waiting.remove(suited[0])
        left = [p.name for p in waiting if p.name not in self.unused and self.call.values.get(p.name) is not None]
        if left:
            raise BindingError(f"no place for {', '.join(left)}")
        overwritten = [a for a in self.arguments if a.name not in taken and a.alias_info is not None]
        for argument, param in zip(overwritten, self.outputs, strict=False):
            taken[argument.name] = param  # an output that ATen overwrites
        return taken

    def _dtype(self, name: str) -> Any:
        return self._widest(self.call.dtype(name))

    def _widest(self, dtype: str) -> Any:
        return getattr(torch, self.widened.get(dtype, dtype))

    def _empty(self, param: Parameter) -> Any:
        return torch.empty(self.call.shapes.get(param.name) or (), dtype=self._dtype(param.name))

    def _tensor(self, values: Any, dtype: str) -> Any:
        return to_torch(values, dtype).to(self._widest(dtype))

    def _value(self, param: Parameter, argument: Any) -> Any:
        value, kind = self.call.values.get(param.name), _kind(argument)
        if isinstance(value, np.ndarray):
            target = next((self.call.dtypes.get(p.name) for p in self.outputs), None)
            casts = any(one.name == "dtype" for one in self.arguments) and value.dtype.kind in "iu"
            if casts and isinstance(target, str) and target in self.widened:
                # Integers are cast to the half before they are reduced, and only then widened.
                return to_torch(value, self.call.dtype(param.name)).to(getattr(torch, target)).to(self._widest(target))
            return self._tensor(value, self.call.dtype(param.name))
        if isinstance(value, list):
            pairs = zip(value, self.call.dtypes[param.name], strict=True)
            return [None if item is None else self._tensor(item, dtype) for item, dtype in pairs]
        if value is None:
            return argument.default_value if argument.has_default_value() else None
        if isinstance(value, str):
            return _ENUMS.get(value, value)
        if kind == "List[int]":
            return [int(value)] if isinstance(value, int) else [int(item) for item in value]
        return value

    def _derived(self, argument: Any) -> Any:
        """Expected results in the interface's form: its outputs, and their dtypes and shapes."""
        name, call = argument.name, self.call
        first = next((p for p in call.function.params if p.is_read and p.type == "tensor"), None)
        shape: tuple[int, ...] = call.shapes.get(first.name, ()) if first is not None else ()
        target = next((p.name for p in self.outputs if isinstance(call.dtypes.get(p.name), str)), None)
        if name == "output_mask":
            return [call.values.get(param.name) is not None for param in self.outputs]
        if name == "return_inverse":
            return any(param.name == "indices" for param in self.outputs)
        if name in ("dtype", "input_dtype"):
            return self._dtype(target) if target is not None else None
        if name == "keepdim" and target is not None:
            return len(call.shapes[target]) == len(shape)
        if name == "output_padding":
            return [0] * (len(shape) - 2)
        if name in ("transposed", "half_to_float"):
            return False
        if name == "N":
            return shape[0]
        if name == "C":
            return shape[1]
        if name == "HxW":
            return int(np.prod(shape[2:]))
        if argument.has_default_value():
            return argument.default_value
        raise BindingError(f"nothing for {name}")
