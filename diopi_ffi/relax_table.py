"""Selects the call of the interface for a call of Relax: the entries of the spec, with the values of the call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diopigen.conformance.cases.choices import Choice
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Operand
from diopigen.emit.tvm.entries import argument, counted, entries, read
from diopigen.emit.tvm_ffi.arguments import is_destination
from diopigen.ir.model import Function, Interface, Parameter
from diopigen.ir.recipe import Drawn, TensorRecipe
from diopigen.ir.relax_model import RelaxOperator
from diopigen.spec.expression import Call, Expression, Name, Text

_INTEGERS = ("int64", "int32", "uint64", "int", "size_t")
_REALS = ("double", "float")


class UnsupportedCallError(Exception):
    """A call has no counterpart in the interface, or the library has it not; the text says why."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A call of a packed function: the tensors, lists, numbers and texts that it reads by position, and the shapes and
    dtypes of destinations that the call of Relax has no result for. `returned` are operands that are results too."""

    function: str
    arguments: Sequence[Any]
    scratch: Sequence[tuple[Sequence[int], str]] = ()
    returned: Sequence[Any] = ()


class Table:
    """The entries of an interface."""

    def __init__(self, interface: Interface) -> None:
        self.views = frozenset(f"relax.{name}" for name in interface.relax.views)
        self.fused = interface.relax.fused
        self._interface = interface
        self._entries = {f"relax.{name}": found for name, found in entries(interface).items()}
        self._enums = {value.name: value.value for enum in interface.enums for value in enum.values}
        self._resolvers: dict[str, Resolver] = {}

    def entries(self, operator: str) -> tuple[RelaxOperator, ...]:
        """The entries of an operator of Relax, such as `relax.add`, in the order in which they are tried."""
        return self._entries.get(operator, ())

    def function(self, name: str) -> Function:
        found = self._interface.function(name)
        assert found is not None, "the rules of the spec have checked it"
        return found

    def planned(self, entry: RelaxOperator, call: Any) -> Planned:
        """The call of an entry's function. Raises `UnsupportedCallError` where the entry does not fit."""
        _require(entry, call)
        function = self.function(entry.function)
        values = {name: evaluated(function, name, value, call) for name, value in entry.arguments.items()}
        returned = [call.args[int(name[1:])] for name in entry.returned]
        return self.call(function, values, results_of(call)[: len(results_of(call)) - len(returned)], returned)

    def call(
        self, function: Function, values: Mapping[str, Any], results: Sequence[Any], returned: Sequence[Any] = ()
    ) -> Planned:
        """A call with values by parameter; the others have their defaults. `results` are the types that are wanted."""
        lists, arguments = counted(function), {}
        for param in read(function):
            value = values.get(param.name)
            if param.name in lists:
                value = len(fields_of(values[lists[param.name]]))
            elif value is None and param.default is not None:
                value = param.default.value
            if isinstance(value, str) and param.type != "string":
                value = self._enums[value]
            arguments[param.name] = value
        destinations = [param for param in function.params if is_destination(param)]
        if len(results) > len(destinations):
            raise UnsupportedCallError(f"{function.name} has fewer results")
        scratch = self._scratch(function, arguments, destinations[len(results) :])
        return Planned(function.name, list(arguments.values()), scratch, returned)

    def _scratch(
        self, function: Function, arguments: Mapping[str, Any], destinations: Sequence[Parameter]
    ) -> list[tuple[list[int], str]]:
        """Shapes and dtypes of destinations by the rules of the spec."""
        if not destinations:
            return []
        from tvm import relax

        resolver = self._resolvers.setdefault(function.name, Resolver(self._interface, function))
        recipe: dict[str, Any] = {}
        for name, value in arguments.items():
            if isinstance(value, relax.Expr):
                recipe[name] = TensorRecipe(tuple(shape_of(value)), str(value.ty.dtype), Drawn("zeros"))
            else:
                recipe[name] = tuple(value) if isinstance(value, list) else value
        dtype = next(one.dtype for one in recipe.values() if isinstance(one, TensorRecipe))
        try:
            resolved = resolver.resolve(recipe, Choice(dtype or "float32", special={}), checked=False)
        except RecipeError as error:
            raise UnsupportedCallError(f"{function.name}: {error}") from None
        found = [resolved.get(param.name) for param in destinations]
        if not all(isinstance(one, Operand) for one in found):
            raise UnsupportedCallError(f"{function.name} has results that the spec has no shape for")
        return [(list(one.shape), one.dtype) for one in found if isinstance(one, Operand)]


def fields_of(value: Any) -> list[Any]:
    """The members of a tuple of Relax."""
    from tvm import relax

    if isinstance(value, relax.Tuple):
        return list(value.fields)
    return [relax.TupleGetItem(value, k) for k in range(len(value.ty.fields))]


def shape_of(value: Any) -> list[int]:
    """The shape of a tensor of Relax. Raises `UnsupportedCallError` where it is not known."""
    from tvm import relax, tirx

    shape = value.ty.shape if isinstance(value.ty, relax.TensorType) else None
    sizes = getattr(shape, "values", None)
    if sizes is None or not all(isinstance(size, tirx.IntImm) for size in sizes):
        raise UnsupportedCallError("a shape is not known before it runs")
    return [int(size) for size in sizes]


def results_of(call: Any) -> list[Any]:
    """The types of a call's results."""
    from tvm import relax

    return list(call.ty.fields) if isinstance(call.ty, relax.TupleType) else [call.ty]


def fits(attribute: Any, allowed: Sequence[Any]) -> bool:
    """Returns whether an attribute has a value of a list; one that is a list itself, or each of its elements."""
    if hasattr(attribute, "__len__") and not isinstance(attribute, str):
        plain = tuple(_plain(item) for item in attribute)
        return plain in allowed or all(item in allowed for item in plain)
    return _plain(attribute) in allowed


def _require(entry: RelaxOperator, call: Any) -> None:
    for name, allowed in entry.where.items():
        value = getattr(call.attrs, name)
        if not fits(value, allowed):
            raise UnsupportedCallError(f"{name} is {value}")
    for name, rank in entry.ranks.items():
        found = len(shape_of(call.args[int(name[1:])]))
        if found != rank:
            raise UnsupportedCallError(f"{name} has {found} dimensions, {entry.function} takes {rank}")


def evaluated(function: Function, name: str, value: Any, call: Any) -> Any:
    """The value of an argument: an expression of Relax, or what its parameter takes."""
    if not isinstance(value, str):
        return value
    param = function.param(name)
    assert param is not None, "the rules of the spec have checked it"
    expression: Expression = argument(value)
    if isinstance(expression, Text):
        return expression.value
    if isinstance(expression, Name):
        operand = _operand(expression.name, call)
        return operand if operand is not None else _converted(getattr(call.attrs, expression.name), param.type)
    assert isinstance(expression, Call) and isinstance(expression.arguments[0], Name), "so argument() has parsed it"
    inner = expression.arguments[0].name
    operand = _operand(inner, call)
    return _FORMS[expression.function](operand if operand is not None else getattr(call.attrs, inner), call)


def _operand(name: str, call: Any) -> Any:
    return call.args[int(name[1:])] if name[0] == "x" and name[1:].isdecimal() else None


def _plain(value: Any) -> Any:
    """An attribute as a value of Python."""
    value = getattr(value, "value", value)
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def _converted(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "sizes":
        return _integers(value if hasattr(value, "__len__") else [value])
    if kind == "bool":
        return bool(value)
    if kind in _INTEGERS:
        return int(_plain(value))
    return float(_plain(value)) if kind in _REALS else _plain(value)


def _integers(values: Any) -> list[int]:
    return [int(_plain(value)) for value in values]


def _symmetric(padding: Any, call: Any) -> list[int]:
    sizes = _integers(padding)
    half = len(sizes) // 2
    if sizes[:half] != sizes[half:]:
        raise UnsupportedCallError("the padding differs between the sides")
    return sizes[:half]


def _axes(axes: Any, call: Any) -> list[int]:
    rank = len(shape_of(call.args[0]))
    return list(range(rank)) if axes is None else [axis % rank for axis in _integers(axes)]


def _trailing(axes: Any, call: Any) -> list[int]:
    shape = shape_of(call.args[0])
    found = sorted(_axes(axes, call))
    if found != list(range(len(shape) - len(found), len(shape))):
        raise UnsupportedCallError("the normalized dimensions are not the last ones")
    return shape[len(shape) - len(found) :]


def _permutation(axes: Any, call: Any) -> list[int]:
    return list(range(len(shape_of(call.args[0]))))[::-1] if axes is None else _axes(axes, call)


def _number(operand: Any, call: Any) -> Any:
    found = _plain(getattr(operand, "value", operand))
    if not isinstance(found, (int, float)):
        raise UnsupportedCallError("a number is not known before it runs")
    return found


_FORMS: Mapping[str, Callable[[Any, Any], Any]] = {
    "symmetric": _symmetric,
    "axes": _axes,
    "trailing": _trailing,
    "permutation": _permutation,
    "number": _number,
}
