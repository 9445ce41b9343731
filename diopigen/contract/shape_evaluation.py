"""The shape rules of the spec, evaluated: what shape an output has for given arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from diopigen.contract.arguments import Described, Tensor, Undefined
from diopigen.contract.compile import Compiler
from diopigen.contract.functions import ONE_OF
from diopigen.contract.shapes import Dims, ShapeError, broadcast
from diopigen.ir.model import Dimension, Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.types import TENSORS
from diopigen.spec.expression import Call, Expression, Name, walk


class Dimensions:
    """A list of dimensions, read once for the shapes of many tensors."""

    def __init__(self, shape: ShapeList) -> None:
        entries = shape.dimensions
        spread = next((index for index, entry in enumerate(entries) if entry.kind == "variadic"), None)
        self.variadic = "" if spread is None else entries[spread].name
        self._before = len(entries) if spread is None else spread
        self._after = 0 if spread is None else len(entries) - spread - 1
        self.fixed = tuple(entry for index, entry in enumerate(entries) if index != spread)
        """The entries without the variadic one."""
        self._names = tuple(map(_name, self.fixed))

    def accepts(self, rank: int) -> bool:
        """Returns whether a tensor with so many dimensions fits the list."""
        return rank >= len(self.fixed) if self.variadic else rank == len(self.fixed)

    def fixed_of(self, sizes: Dims) -> Dims:
        """The sizes of `fixed`, of a shape that fits the list."""
        return (*sizes[: self._before], *sizes[len(sizes) - self._after :]) if self.variadic else sizes

    def named(self, sizes: Dims) -> Iterator[tuple[str, int]]:
        """The names that entries bind, with their sizes; of a tensor of another rank as many as there are."""
        yield from zip(self._names[: self._before], sizes, strict=False)
        if self._after:
            yield from zip(self._names[self._before :], sizes[len(sizes) - self._after :], strict=False)

    def variadic_of(self, sizes: Dims) -> Dims:
        """The sizes that the variadic entry stands for."""
        return tuple(sizes[self._before : len(sizes) - self._after])


def _name(entry: Dimension) -> str:
    """The name that an entry gives a size to; empty for a formula."""
    expression = entry.formula.expression
    return expression.name if entry.kind == "formula" and isinstance(expression, Name) else ""


class Shapes:
    """Shapes of a function's parameters, parsed once for many calls."""

    def __init__(self, function: Function) -> None:
        self.params = {param.name: param for param in function.params}
        self.lists = {p.name: Dimensions(p.shape) for p in function.params if isinstance(p.shape, ShapeList)}
        read = (p.name for p in function.params if p.is_read and p.type == "tensor")
        self.binding = tuple((name, self.lists[name]) for name in read if name in self.lists)
        """The inputs whose sizes give dimensions their names."""
        compiler = Compiler.of(function)
        self.forms = {
            p.name: tuple(_Form(rule, compiler) for rule in forms_of(p.shape))
            for p in function.params
            if isinstance(p.shape, ShapeRule)
        }
        """The forms of shapes with a rule, by parameter."""
        self.sizes = {
            id(entry): _Form(entry.formula.expression, compiler, is_size=True)
            for param in function.params
            for entry in (param.shape.dimensions if isinstance(param.shape, ShapeList) else ())
        }
        """The formulas in lists of dimensions, by their identity."""


def forms_of(shape: ShapeRule) -> tuple[Expression, ...]:
    """The forms that a rule allows, of which the caller selects one: several for `one_of`."""
    rule = shape.formula.expression
    return rule.arguments if isinstance(rule, Call) and rule.function == ONE_OF else (rule,)


def value_of(rule: Expression) -> Expression | None:
    """The list that a rule stands for; None where the caller or the call decides."""
    if isinstance(rule, Call) and rule.function not in _NAMING:
        return rule
    argument = rule.arguments[0] if isinstance(rule, Call) and rule.arguments else rule
    if isinstance(rule, Call) and rule.function == "value":
        return argument
    return None if argument in (Name("any"), Call("any", ())) else Call("sizes", (argument,))


_NAMING = frozenset({"any", "same", "broadcastable", "value"})
"""Rules that are no functions of expressions."""


class _Form:
    """A rule, or the formula of a size, translated."""

    def __init__(self, rule: Expression, compiler: Compiler, *, is_size: bool = False) -> None:
        value = rule if is_size else value_of(rule)
        self.value = None if value is None else compiler.value(value)
        self.names = frozenset(part.name for part in walk(rule) if isinstance(part, Name)) & compiler.parameters
        is_same = isinstance(value, Call) and value.function == "sizes" and len(self.names) == 1
        self.same = next(iter(self.names)) if is_same else ""
        """The parameter whose shape, or shapes of members, it is."""


class _Seen(NamedTuple):
    """The arguments of a call as expressions see them, with sizes alone."""

    values: Mapping[str, Described]
    dimensions: Mapping[str, int]


def _described(param: Parameter, value: Any) -> Described:
    if value is None or param.type not in TENSORS:
        return value  # type: ignore[no-any-return]  # an argument by its own type
    is_array = bool(value) and not isinstance(value[0], int)
    return tuple(Tensor(tuple(one), "") for one in value) if is_array else Tensor(tuple(value), "")


class Evaluator:
    """The shapes of one call. `values` holds a shape per tensor (a tuple of shapes for an array of tensors), the
    integers, flags and lists of the other parameters, and None for null. Where a rule allows several forms, `form` is
    the number of the one that counts. Raises `ShapeError` where leading dimensions of the same name do not broadcast,
    unless `lenient`: then the first ones count."""

    def __init__(self, shapes: Shapes, values: Mapping[str, Any], *, lenient: bool = False, form: int = 0) -> None:
        self.params = shapes.params
        self.rules = shapes
        self.lenient = lenient
        self.selected = form
        self.values = dict(values)
        self.names: dict[str, int] = {}
        self.variadic: dict[str, Dims] = {}
        for name, dimensions in shapes.binding:
            known = self.values.get(name)
            if known is not None:
                self._bind(dimensions, known)

    def _bind(self, dimensions: Dimensions, sizes: Dims) -> None:
        if dimensions.variadic:
            self._bind_leading(dimensions.variadic, dimensions.variadic_of(sizes))
        for name, size in dimensions.named(sizes):
            if name and name not in self.values:
                self.names.setdefault(name, size)

    def _bind_leading(self, name: str, own: Dims) -> None:
        try:
            self.variadic[name] = broadcast(self.variadic.get(name, ()), own)
        except ShapeError:
            if not self.lenient:
                raise

    def alternatives(self, param: Parameter) -> Iterator[Any]:
        """Results of `shape`, for each form that the rule allows."""
        for number in range(len(self.rules.forms.get(param.name, ("",)))):
            yield self._form(param, number)

    def shape(self, param: Parameter) -> Any:
        """The shape of a tensor parameter by its rule, or None where the caller or the call decides. Of an array whose
        members may differ, a shape for each."""
        return self._form(param, min(self.selected, len(self.rules.forms.get(param.name, ("",))) - 1))

    def _form(self, param: Parameter, number: int) -> Any:
        rule = param.shape
        if rule is None:
            return None
        try:
            return self._listed(rule) if isinstance(rule, ShapeList) else self._ruled(param.name, number)
        except ShapeError:
            raise
        except Undefined as error:
            raise ShapeError(f"the shape of '{param.name}' has no value") from error

    def _ruled(self, name: str, number: int) -> Any:
        form = self.rules.forms[name][number]
        return self.known(form.same) if form.same else self._value(form)

    def _listed(self, rule: ShapeList) -> Dims | None:
        sizes: list[int] = []
        for entry in rule.dimensions:
            if entry.kind == "unknown":
                return None
            if entry.kind == "variadic":
                sizes.extend(self.variadic.get(entry.name, ()))
            else:
                sizes.append(self._value(self.rules.sizes[id(entry)]))
        return tuple(sizes)

    def _value(self, form: _Form) -> Any:
        values = {name: _described(self.params[name], self.known(name)) for name in form.names}
        return None if form.value is None else form.value(_Seen(values, self.names))

    def known(self, name: str) -> Any:
        """The value of a parameter; an output's shape is inferred where it was not provided."""
        if name not in self.values:
            self.values[name] = self.shape(self.params[name])
        return self.values[name]
