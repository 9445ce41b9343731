"""From ATen calls to rows of a model table: the function of the spec, and its arguments as a recipe.

Which function serves an overload, and what it calls its arguments, is in the spec (`aten`). Here is what that cannot
say: overloads that a device has no kernel for, and numbers in the index of tensors. Every row is resolved by the suite
itself, and the shapes and dtypes of its outputs must be those that were traced.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from diopigen.conformance.cases.choices import Choice, primary_dtypes, primary_parameter
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Operand
from diopigen.contract.arguments import Tensor, Undefined
from diopigen.contract.evaluate import Arguments
from diopigen.emit.torch.binding import matched
from diopigen.emit.torch.schema import schema_of
from diopigen.ir.aten import FOR_ALL_DEVICES, ROUNDING_MODES
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.ir.recipe import Drawn, Literal, TensorRecipe, drawn_of
from diopigen.ir.types import TENSORS
from diopigen.spec.expression import Binary, Call, Name, walk

_AS = {
    **{general: special for special, general in FOR_ALL_DEVICES.items()},
    "ones_like": "fill_.Scalar",
    "zeros_like": "fill_.Scalar",
    "zeros": "fill_.Scalar",
    "new_zeros": "fill_.Scalar",
    "full": "fill_.Scalar",
    "full_like": "fill_.Scalar",
    "scalar_tensor": "fill_.Scalar",
    "zero_": "fill_.Scalar",
    "_unsafe_index.Tensor": "index.Tensor",
    "_unsafe_index_put": "index_put",
}
"""Overloads that a device serves by the kernel of another one: convolutions as PrivateUse1 sees them, copies, fills."""

_FUNCTIONS = {"_to_copy": "diopiCastDtype", "clone": "diopiCopyInp", "copy_": "diopiCopyInp"}
"""Overloads that no entry of the spec names, because their function has no counterpart of one meaning in ATen."""

_REDUCTIONS = ("ReductionNone", "ReductionMean", "ReductionSum")


@dataclass(frozen=True)
class Seen:
    """A tensor of a call; `values` where they are known to matter."""

    shape: tuple[int, ...]
    dtype: str
    values: Drawn | Literal | None = None


@dataclass(frozen=True)
class AtenCall:
    """A call: `arguments` holds every argument of the schema by name, defaults filled in."""

    phase: str
    overload: str
    arguments: dict[str, Any] = field(hash=False)
    results: tuple[Any, ...]
    why: str = ""
    """Why its shapes are smaller than the model's, where who noted the call has cut them."""


@dataclass(frozen=True)
class Row:
    """A row of a table; `arguments` are recipes, tensors as `TensorRecipe`."""

    phase: str
    function: str
    dtype: str
    aten: str
    arguments: Mapping[str, Any]
    why: str = ""
    """Why a shape is smaller than the model's; empty where none is."""


class MappingError(Exception):
    """No function serves the call, or none takes its arguments; the text says why."""


class Mapper:
    """Maps calls to rows by the spec."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.by_overload: dict[str, list[Function]] = {}
        for function in interface.functions:
            for overload in function.aten:
                self.by_overload.setdefault(overload.name, []).append(function)

    def known(self, overload: str) -> bool:
        """Returns whether a function may serve the overload."""
        return overload in _FUNCTIONS or _AS.get(overload, overload) in self.by_overload

    def row(self, call: AtenCall) -> Row:
        """The row of a call. Raises `MappingError`."""
        overload, arguments = _as_numbers(call)
        if "function" in arguments:
            functions = [f for f in self.interface.functions if f.short_name == arguments["function"]]
        elif overload in _FUNCTIONS:
            functions = [f for f in self.interface.functions if f.name == _FUNCTIONS[overload]]
        elif overload == "convolution" and arguments["transposed"]:
            functions = self.by_overload["conv_transpose2d.input"]
        elif overload == "convolution_backward" and arguments["transposed"]:
            functions = [f for f in self.interface.functions if f.name == "diopiConvTranspose2dBackward"]
        else:
            functions = self.by_overload.get(_AS.get(overload, overload), [])
        reasons = []
        for function in functions:
            try:
                return self._bound(function, call, overload, arguments)
            except MappingError as reason:
                reasons.append(str(reason))
        raise MappingError("; ".join(reasons) or "no function of the spec names the overload")

    def _bound(self, function: Function, call: AtenCall, overload: str, arguments: Mapping[str, Any]) -> Row:
        passed = _arguments(self.interface, function, overload, arguments, call.results)
        primary = primary_parameter(function)
        first = passed.get(primary.name) if primary is not None else None
        first = first[0] if isinstance(first, list) else first
        dtype = (
            first.dtype
            if isinstance(first, Seen)
            else next((value.dtype for value in [*passed.values(), *call.results] if isinstance(value, Seen)), "none")
        )
        possible = primary_dtypes(function)
        if possible and dtype not in possible:
            dtype = possible[0]  # what is passed has no say in it: the results are indices
        why = call.why or _reduced(function, passed)
        recipe = {name: _recipe(function, name, value, dtype, passed) for name, value in passed.items()}
        self._verify(function, recipe, passed, call, dtype)
        if why and not call.why:
            recipe = {name: _cut(value) for name, value in recipe.items()}
        return Row(call.phase, function.short_name, dtype, call.overload, recipe, why)

    def _verify(
        self, function: Function, recipe: dict[str, Any], passed: Mapping[str, Any], call: AtenCall, dtype: str
    ) -> None:
        """Resolves the row; outputs whose shape or dtype the spec leaves open, or gives otherwise, are written down."""
        written = [p for p in function.params if p.is_written and p.type in TENSORS and not p.is_read]
        for param, result in zip(written, call.results, strict=False):
            if param.type == "tensor" and isinstance(result, Seen) and param.name not in recipe:
                recipe[param.name] = TensorRecipe(result.shape, result.dtype)
        resolver = Resolver(self.interface, function)
        try:
            resolved = resolver.resolve(recipe, Choice(dtype))
            others = {  # a table of rotary angles is float32, or as here of the primary dtype
                name: replace(recipe[name], dtype=value.dtype)
                for name, value in passed.items()
                if isinstance(value, Seen) and getattr(resolved.get(name), "dtype", value.dtype) != value.dtype
            }
            if others:
                recipe.update(others)
                resolved = resolver.resolve(recipe, Choice(dtype))
        except RecipeError as reason:
            raise MappingError(f"{function.name}: {reason}") from None
        for name, value in passed.items():
            operand = resolved.get(name)
            if isinstance(value, Seen) and isinstance(operand, Operand):
                assert (operand.shape, operand.dtype) == (value.shape, value.dtype), (call, name, operand)
        for param in written:
            if recipe.get(param.name) is None:
                continue
            short = {name: value for name, value in recipe.items() if name != param.name}
            try:
                follows = resolver.resolve(short, Choice(dtype))
            except RecipeError:
                continue
            if follows.get(param.name) == resolved[param.name]:
                del recipe[param.name]


_LARGEST = 1 << 26
"""Elements of a tensor up to which an elementwise call keeps its shape."""
_ROWS = 4096


def _reduced(function: Function, passed: Mapping[str, Any]) -> str:
    """Why the shapes of an elementwise call are cut: each element is computed alone, and the oracle needs eight bytes
    for each of several operands."""
    sizes = [value.shape for value in passed.values() if isinstance(value, Seen)]
    largest = max(sizes, key=math.prod, default=())
    if function.kernel is None or math.prod(largest) <= _LARGEST:
        return ""
    return f"{largest[0]} rows in the model; element by element they are alike, and in float64 they fill the memory"


def _cut(value: Any) -> Any:
    """The tensor with fewer rows."""
    if isinstance(value, TensorRecipe) and len(value.shape) > 1 and math.prod(value.shape) > _LARGEST:
        return replace(value, shape=(_ROWS, *value.shape[1:]))
    return value


def _as_numbers(call: AtenCall) -> tuple[str, Mapping[str, Any]]:
    """The overload for numbers, where a tensor's index holds one."""
    name, _, kind = call.overload.partition(".")
    other = call.arguments.get("other")
    if kind == "Tensor" and isinstance(other, (int, float)):
        return f"{name}.Scalar", call.arguments
    if kind == "Tensor_mode" and isinstance(other, (int, float)):
        return f"{name}.Scalar_mode", call.arguments
    return call.overload, call.arguments


_FILLS = {"ones_like": 1, "zeros_like": 0, "zeros": 0, "new_zeros": 0, "zero_": 0}


def _arguments(
    interface: Interface, function: Function, overload: str, arguments: Mapping[str, Any], results: tuple[Any, ...]
) -> dict[str, Any]:
    """The values of a function's parameters, by the names of the schema."""
    base = overload.partition(".")[0]
    if _AS.get(overload) == "fill_.Scalar":
        number = _FILLS.get(base, arguments.get("fill_value", arguments.get("s")))
        return {"input": results[0], "value": number}
    if overload == "clone":
        return {"src": arguments["self"], "dest": results[0]}
    if overload == "copy_":
        return {"src": arguments["src"], "dest": arguments["self"]}
    if overload == "_to_copy":
        return {"out": results[0], "input": arguments["self"]}
    if "function" in arguments:
        return {name: value for name, value in arguments.items() if name != "function"}
    schema = schema_of(interface, overload)
    names = {} if schema is None else {name: one.name for name, one in matched(function, schema).items()}
    mask = arguments.get("output_mask")
    found: dict[str, Any] = {}
    if mask is not None:
        expected = dict(zip([p.name for p in function.params if p.is_written], mask, strict=False))
        found.update({name: None for name, keep in expected.items() if not keep})
    for param in function.params:
        name = names.get(param.name, param.name)
        if param.direction == "out" or name not in arguments:
            continue
        value = arguments[name]
        if param.type == "diopiReduction_t":
            value = _REDUCTIONS[value]
        elif param.type == "diopiRoundMode_t":
            value = next(name for name, word in ROUNDING_MODES.items() if word == value)
        elif value is None and not param.nullable:
            continue
        elif param.type == "tensor" and not isinstance(value, (Seen, type(None))):
            raise MappingError(f"{function.name} takes no number for '{param.name}'")
        elif param.name == "bias_sizes" and value == [0]:
            continue  # how autograd says that there is no bias
        elif param.type == "sizes" and not isinstance(value, list):
            value = [value]
        found[param.name] = value
    return _shortened(function, found)


def _shortened(function: Function, found: dict[str, Any]) -> dict[str, Any]:
    """Without what the spec gives by default, and with two entries where ATen lets one stand for both."""
    retained: dict[str, Any] = {}
    for name, value in found.items():
        param = function.param(name)
        assert param is not None
        if param.type == "sizes" and isinstance(value, list) and len(value) == 1 and name in _PAIRS:
            value = value * 2
        if param.type == "sizes" and value == [] and name == "stride" and "kernel_size" in found:
            value = found["kernel_size"] * (2 // len(found["kernel_size"]))
        default = param.default
        if default is not None and not isinstance(value, Seen) and _plain(default.value) == value and name != "value":
            continue
        retained[name] = value
    return retained


_PAIRS = frozenset({"stride", "padding", "dilation", "kernel_size", "output_padding"})


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _recipe(function: Function, name: str, value: Any, dtype: str, passed: Mapping[str, Any]) -> Any:
    if isinstance(value, Seen):
        return _tensor(function, name, value, dtype, passed)
    if isinstance(value, list):
        param = function.param(name)
        assert param is not None
        if param.type in TENSORS:
            return tuple(None if item is None else _tensor(function, name, item, dtype, passed) for item in value)
        return tuple(value)
    return value


def _tensor(function: Function, name: str, value: Seen, dtype: str, passed: Mapping[str, Any]) -> TensorRecipe:
    param = function.param(name)
    typical = param.typical if param is not None else None
    limit = _limit(function, name, passed)
    values: Any = Drawn("normal")
    if value.values is not None:
        values = value.values
    elif limit is not None:
        values = Drawn("integers", (0, limit))
    elif value.dtype == "bool":
        values = Drawn("bools")
    elif typical is not None:
        values = drawn_of(typical.expression)
    return TensorRecipe(value.shape, None if value.dtype == dtype else value.dtype, values)


def _limit(function: Function, name: str, passed: Mapping[str, Any]) -> int | None:
    """The number below which the constraints keep the elements of an index tensor; None for what is no index."""
    seen = passed[name][0] if isinstance(passed[name], list) else passed[name]
    if not isinstance(seen, (Seen, type(None))) or (isinstance(seen, Seen) and seen.dtype not in _INDICES):
        return None
    arguments = Arguments(function, {param.name: _described(param, passed) for param in function.params})
    for part in (part for one in function.constraints if one.require for part in walk(one.require.expression)):
        if isinstance(part, Binary) and part.operator == "<" and part.left == Name(name):
            with suppress(Undefined):
                return int(arguments.value(part.right))
        if isinstance(part, Call) and part.function == "indices_fit" and part.arguments[1] == Name(name):
            dimension = next(index for index, item in enumerate(passed[name]) if item is not None)
            assert isinstance(part.arguments[0], Name)
            return int(passed[part.arguments[0].name].shape[dimension])
    return None


_INDICES = frozenset({"int32", "int64"})


def _described(param: Parameter, passed: Mapping[str, Any]) -> Any:
    """An argument as predicates see it, without its elements."""
    value = passed.get(param.name, param.default.value if param.default is not None else None)
    if isinstance(value, list):
        return tuple(Tensor(one.shape, one.dtype) if isinstance(one, Seen) else one for one in value)
    return Tensor(value.shape, value.dtype) if isinstance(value, Seen) else value
