"""What a library must refuse, with a status and without touching its outputs: constraints, dtypes, null, shapes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from diopigen.conformance.axes import cases as axis_cases
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import ANY_FAILURE, Case, Operand, Value
from diopigen.conformance.resolve import Arguments, Choice, Resolver, lead_dtypes, read_recipe, shape_rule
from diopigen.conformance.values import Unfit
from diopigen.ir.model import DtypeList, DtypeRule, Function, Interface, Parameter
from diopigen.ir.recipe import Argument, TensorRecipe

_STRANGE = ("complex64", "bool", "float64", "int8", "float32", "int64", "uint16")
"""Dtypes to try where a parameter's list does not hold them."""


def cases(
    interface: Interface, function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]
) -> Iterator[Case]:
    """The cases that a library must refuse."""
    yield from _constraints(interface, function, resolver)
    good = _good(function, resolver, recipes)
    if good is None:
        return
    dtype, arguments = good
    maker = _Maker(interface, function, dtype, arguments)
    yield from maker.null_handles()
    yield from maker.wrong_dtypes()
    yield from maker.wrong_shapes()
    yield from maker.enums()


def _constraints(interface: Interface, function: Function, resolver: Resolver) -> Iterator[Case]:
    for constraint in function.constraints:
        if constraint.case is None:
            continue
        recipe = read_recipe(interface, function, constraint.case)
        arguments = _broken(function, resolver, recipe)
        if arguments is not None:
            case_id = f"{function.name}/{constraint.id}/error"
            yield Case(
                case_id, function.name, function.family, _dtype_of(arguments), "error", arguments,
                constraint.error, f"{constraint.id}: {constraint.that}",
            )  # fmt: skip


def _dtype_of(arguments: Arguments) -> str:
    return next((value.dtype for value in arguments.values() if isinstance(value, Operand)), "none")


def _broken(function: Function, resolver: Resolver, recipe: Mapping[str, Argument]) -> Arguments | None:
    """Arguments that break a constraint. Where they leave an output without a shape, it takes that of an input."""
    for dtype in ("float32", *lead_dtypes(function)):
        try:
            return resolver.resolve(recipe, Choice(dtype), checked=False)
        except Unfit:
            continue
    items = [item for value in recipe.values() for item in (value if isinstance(value, tuple) else (value,))]
    first = next((item for item in items if isinstance(item, TensorRecipe)), None)
    if first is None:
        return None
    blank = replace(first, values=0, dtype=None)
    padded = {p.name: blank for p in function.params if p.direction == "out" and p.type == "tensor"}
    try:
        return resolver.resolve({**padded, **recipe}, Choice("float32"), checked=False)
    except Unfit:
        return None


def _good(
    function: Function, resolver: Resolver, recipes: Sequence[Mapping[str, Argument]]
) -> tuple[str, Arguments] | None:
    """Arguments that a library accepts, to be spoilt in one place."""
    plain = next((case for case in axis_cases(function, resolver) if case.axis == "plain"), None)
    for dtype in ("float32", *lead_dtypes(function)):
        for recipe in recipes:
            try:
                arguments = resolver.resolve(recipe, Choice(dtype))
            except Unfit:
                continue
            if all(0 not in v.shape for v in arguments.values() if isinstance(v, Operand)):
                return _dtype_of(arguments), arguments
        if plain is not None:
            return plain.dtype, dict(plain.arguments)
    return None


class _Maker:
    def __init__(self, interface: Interface, function: Function, dtype: str, arguments: Arguments) -> None:
        self.interface = interface
        self.function = function
        self.dtype = dtype
        self.arguments = arguments

    def _case(self, name: str, about: str, changes: Mapping[str, Value]) -> Case:
        function = self.function
        arguments = {**self.arguments, **changes}
        case_id = f"{function.name}/{name}/error"
        return Case(case_id, function.name, function.family, self.dtype, "error", arguments, ANY_FAILURE, about)

    def _operands(self) -> Iterator[tuple[Parameter, Operand]]:
        for param in self.function.params:
            value = self.arguments.get(param.name)
            if param.type == "tensor" and isinstance(value, Operand):
                yield param, value

    def null_handles(self) -> Iterator[Case]:
        """A null tensor where null is not allowed."""
        for param, _ in self._operands():
            if not param.nullable:
                yield self._case(f"null-{param.name}", f"'{param.name}' must not be null", {param.name: None})

    def wrong_dtypes(self) -> Iterator[Case]:
        """A dtype that is not in the list, and one that differs from what a rule asks of an input."""
        for param, value in self._operands():
            if not param.is_read:
                continue
            if isinstance(param.dtype, DtypeList):
                strange = next((d for d in _STRANGE if d not in param.dtype.dtypes and d in STORAGE), None)
            elif isinstance(param.dtype, DtypeRule) and param.dtype.formula.text.startswith("same("):
                strange = "float64" if value.dtype != "float64" else "float32"
            else:
                strange = None
            if strange is not None:
                spoilt = replace(value, dtype=strange, values=0)
                about = f"'{param.name}' must not be {strange}"
                yield self._case(f"dtype-{param.name}", about, {param.name: spoilt})

    def wrong_shapes(self) -> Iterator[Case]:
        """Shapes that do not broadcast, or differ where they must be the same; outputs of another shape."""
        for param, value in self._operands():
            rule = shape_rule(param)
            clash = (*value.shape, 3) if value.shape[-1:] != (3,) else (*value.shape, 2)
            if param.direction == "out" and rule in ("broadcast", "same") and value.shape:
                changes = {param.name: replace(value, shape=clash)}
                yield self._case(f"shape-{param.name}", f"'{param.name}' has another shape than the rule says", changes)
            elif param.is_read and rule in ("same", "broadcastable") and len(value.shape) > 0:
                changes = {param.name: replace(value, shape=clash, values=0)}
                yield self._case(f"shape-{param.name}", f"'{param.name}' does not have the shape of the rule", changes)
        yield from self._no_broadcast()

    def _no_broadcast(self) -> Iterator[Case]:
        output = next((p for p, _ in self._operands() if p.is_written and shape_rule(p) == "broadcast"), None)
        free = [(p, v) for p, v in self._operands() if p.is_read and shape_rule(p) == "any"]
        if output is None or len(free) < 2:
            return
        (first, one), (second, two) = free[0], free[1]
        changes: dict[str, Value] = {
            first.name: replace(one, shape=(2, 3), values=1),
            second.name: replace(two, shape=(2, 4), values=1),
            output.name: replace(dict(self._operands())[output], shape=(2, 3)),
        }
        yield self._case("no-broadcast", "[2, 3] and [2, 4] do not broadcast", changes)

    def enums(self) -> Iterator[Case]:
        """The value that only counts the others."""
        for param in self.function.params:
            enum = self.interface.enum(param.type)
            last = next((value.name for value in enum.values if value.name.endswith("END")), None) if enum else None
            if last is not None:
                yield self._case(f"enum-{param.name}", f"{last} is no value of '{param.name}'", {param.name: last})
