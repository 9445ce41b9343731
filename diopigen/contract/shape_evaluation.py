"""The shape rules of the spec, evaluated: what shape an output has for given arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from diopigen.contract.arguments import Described, Tensor, Undefined
from diopigen.contract.compile import Compiler, Evaluation
from diopigen.contract.shapes import BY_RULE, Dims, ShapeError, axis, broadcast
from diopigen.ir.model import Dimension, Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.rules import ONE_OF, SHAPE_RULES
from diopigen.ir.types import TENSORS
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Unary


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
        """Whether a tensor with so many dimensions fits the list."""
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
    """What the shapes of a function's parameters say, read once for many calls."""

    def __init__(self, function: Function) -> None:
        self.params = {param.name: param for param in function.params}
        self.lists = {p.name: Dimensions(p.shape) for p in function.params if isinstance(p.shape, ShapeList)}
        read = (p.name for p in function.params if p.is_read and p.type == "tensor")
        self.binding = tuple((name, self.lists[name]) for name in read if name in self.lists)
        """The inputs whose sizes give dimensions their names."""
        compiler = Compiler(function)
        self.forms = {p.name: forms_of(p.shape) for p in function.params if isinstance(p.shape, ShapeRule)}
        """The forms of shapes with a rule, by parameter."""
        self.lists_of_predicates: dict[tuple[str, int], Evaluation] = {
            (name, number): compiler.value(form)
            for name, forms in self.forms.items()
            for number, form in enumerate(forms)
            if isinstance(form, Call) and form.function not in SHAPE_RULES
        }
        """Forms that are expressions as in predicates, by parameter and number."""


def forms_of(shape: ShapeRule) -> tuple[Expression, ...]:
    """The forms that a rule allows, of which the caller selects one: several for `one_of`."""
    rule = shape.formula.expression
    return rule.arguments if isinstance(rule, Call) and rule.function == ONE_OF else (rule,)


class _Seen:
    """The arguments of a call as predicates see them, with sizes alone."""

    def __init__(self, params: Mapping[str, Parameter], values: Mapping[str, Any], names: Mapping[str, int]) -> None:
        self.values: dict[str, Described] = {
            name: _tensors(value) if params[name].type in TENSORS else value
            for name, value in values.items()
            if name in params
        }
        self.dimensions = names


def _tensors(shape: Any) -> Described:
    if shape is None:
        return None
    is_array = bool(shape) and not isinstance(shape[0], int)
    return tuple(Tensor(tuple(one), "") for one in shape) if is_array else Tensor(tuple(shape), "")


class Evaluator:
    """The shapes of one call. `values` holds a shape per tensor (a tuple of shapes for an array of tensors), the
    integers, flags and lists of the other parameters, and None for null. Where a rule allows several forms, `form` is
    the number of the one that counts. Raises `ShapeError` where leading dimensions of the same name do not broadcast,
    unless `lenient`: then the first ones count."""

    def __init__(self, shapes: Shapes, values: Mapping[str, Any], *, lenient: bool = False, form: int = 0) -> None:
        self.params = shapes.params
        self.forms = shapes.forms
        self.lists_of_predicates = shapes.lists_of_predicates
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
        """What `shape` returns, for each form that the rule allows."""
        for number in range(len(self.forms.get(param.name, ("",)))):
            yield self._form(param, number)

    def shape(self, param: Parameter) -> Any:
        """The shape of a tensor parameter by its rule, or None where the caller or the call decides. Of an array whose
        members may differ, a shape for each."""
        return self._form(param, min(self.selected, len(self.forms.get(param.name, ("",))) - 1))

    def _form(self, param: Parameter, number: int) -> Any:
        rule = param.shape
        if rule is None:
            return None
        if (param.name, number) in self.lists_of_predicates:
            return self._list(param, number)
        if isinstance(rule, ShapeRule):
            return self._rule(self.forms[param.name][number])
        sizes: list[int] = []
        for entry in rule.dimensions:
            if entry.kind == "unknown":
                return None
            if entry.kind == "variadic":
                sizes.extend(self.variadic.get(entry.name, ()))
            else:
                sizes.append(self.integer(entry.formula.expression))
        return tuple(sizes)

    def _list(self, param: Parameter, number: int) -> Dims:
        try:
            found = self.lists_of_predicates[param.name, number](_Seen(self.params, self.values, self.names))
        except Undefined as error:
            raise ShapeError(f"the shape of '{param.name}' has no value") from error
        return tuple(found)

    def known(self, name: str) -> Any:
        """The value of a parameter; an output's shape is inferred where it was not given."""
        if name not in self.values:
            param = self.params.get(name)
            if param is None:
                raise LookupError(name)
            self.values[name] = self.shape(param)
        return self.values[name]

    def _rule(self, rule: Expression) -> Any:
        if isinstance(rule, Name):
            rule = Call("any" if rule.name == "any" else "same", () if rule.name == "any" else (rule,))
        if not isinstance(rule, Call):
            raise LookupError("not a shape rule")
        if rule.function == "any":
            return None
        kinds = SHAPE_RULES[rule.function].arguments
        arguments = []
        for position, argument in enumerate(rule.arguments):
            expected = kinds[min(position, len(kinds) - 1)]
            value = self._argument(argument, expected)
            if value is None and rule.function == "broadcast":
                continue
            if value is None and expected in ("tensor", "operand", "sizes") and rule.function != "reduce":
                return None
            arguments.append(value)
        return BY_RULE[rule.function](*arguments)

    def _argument(self, argument: Expression, expected: str) -> Any:
        if expected == "value":
            return self.integer(argument)
        if isinstance(argument, Name):
            if expected == "operand":
                param = self.params.get(argument.name)
                if param is not None and param.type != "tensor":
                    return ()
            if argument.name in ("true", "false"):
                return argument.name == "true"
            return self.known(argument.name)
        return self.integer(argument)

    def integer(self, formula: Expression) -> int:
        """The value of an integer formula."""
        if isinstance(formula, Number):
            return int(formula.value)
        if isinstance(formula, Name):
            found = self.names[formula.name] if formula.name in self.names else self.known(formula.name)
            if found is None:
                raise LookupError(formula.name)
            return int(found)
        if isinstance(formula, Unary):
            return -self.integer(formula.operand)
        if isinstance(formula, Binary):
            left, right = self.integer(formula.left), self.integer(formula.right)
            return _OPERATORS[formula.operator](left, right)
        assert isinstance(formula, Call)
        if formula.function in ("min", "max", "ceil_div"):
            numbers = [self.integer(argument) for argument in formula.arguments]
            if formula.function == "ceil_div":
                return -(-numbers[0] // numbers[1])
            return min(numbers) if formula.function == "min" else max(numbers)
        first = formula.arguments[0]
        value = self.known(first.name) if isinstance(first, Name) else None
        if value is None:
            raise LookupError("a null parameter")
        if formula.function == "size":
            return int(value[axis(self.integer(formula.arguments[1]), len(value))])
        if formula.function == "item":
            return int(value[self.integer(formula.arguments[1])])
        return int(_OF_LIST[formula.function](value))


_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "//": lambda left, right: left // right,
}
_OF_LIST: dict[str, Callable[[Sequence[int]], int]] = {
    "numel": math.prod,
    "rank": len,
    "len": len,
    "sum": sum,
    "prod": math.prod,
}
