"""The shape rules of the spec, evaluated: what shape an output has for given arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from diopigen.contract.shapes import BY_RULE, Dims, ShapeError, axis, broadcast
from diopigen.ir.model import Dimension, Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.rules import SHAPE_RULES
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Unary


class Evaluator:
    """The shapes of one call. `values` holds a shape per tensor (a tuple of shapes for an array of tensors), the
    integers, flags and lists of the other parameters, and None for null. Raises `ShapeError` where leading dimensions
    of the same name do not broadcast, unless `lenient`: then the first ones count."""

    def __init__(self, function: Function, values: Mapping[str, Any], *, lenient: bool = False) -> None:
        self.function = function
        self.lenient = lenient
        self.values = dict(values)
        self.names: dict[str, int] = {}
        self.variadic: dict[str, Dims] = {}
        for _ in range(2):  # a list may use a name that a later one binds
            for param in function.params:
                if param.is_read and isinstance(param.shape, ShapeList) and param.type == "tensor":
                    known = self.values.get(param.name)
                    if known is not None:
                        self._bind(param.shape, known)

    def _bind(self, shape: ShapeList, sizes: Dims) -> None:
        pairs, leading = _paired(shape, sizes)
        if leading is not None:
            self._bind_leading(*leading)
        for entry, size in pairs:
            if entry.kind == "formula" and isinstance(entry.formula.expression, Name):
                name = entry.formula.expression.name
                if name not in self.values:
                    self.names.setdefault(name, size)

    def _bind_leading(self, name: str, own: Dims) -> None:
        try:
            self.variadic[name] = broadcast(self.variadic.get(name, ()), own)
        except ShapeError:
            if not self.lenient:
                raise

    def shape(self, param: Parameter) -> Dims | None:
        """The shape of a tensor parameter by its rule, or None where the caller or the call decides."""
        rule = param.shape
        if rule is None:
            return None
        if isinstance(rule, ShapeRule):
            return self._rule(rule.formula.expression)
        sizes: list[int] = []
        for entry in rule.dimensions:
            if entry.kind == "unknown":
                return None
            if entry.kind == "variadic":
                sizes.extend(self.variadic.get(entry.name, ()))
            else:
                sizes.append(self.integer(entry.formula.expression))
        return tuple(sizes)

    def known(self, name: str) -> Any:
        """The value of a parameter; an output's shape is worked out where it was not given."""
        if name not in self.values:
            param = self.function.param(name)
            if param is None:
                raise LookupError(name)
            self.values[name] = self.shape(param)
        return self.values[name]

    def _rule(self, rule: Expression) -> Dims | None:
        if isinstance(rule, Name):
            rule = Call("any" if rule.name == "any" else "same", () if rule.name == "any" else (rule,))
        if not isinstance(rule, Call):
            raise LookupError("not a shape rule")
        if rule.function == "any":
            return None
        kinds = SHAPE_RULES[rule.function].arguments
        arguments = []
        for place, argument in enumerate(rule.arguments):
            wanted = kinds[min(place, len(kinds) - 1)]
            value = self._argument(argument, wanted)
            if value is None and rule.function == "broadcast":
                continue
            if value is None and wanted in ("tensor", "operand", "sizes") and rule.function != "reduce":
                return None
            arguments.append(value)
        return BY_RULE[rule.function](*arguments)

    def _argument(self, argument: Expression, wanted: str) -> Any:
        if wanted == "value":
            return self.integer(argument)
        if isinstance(argument, Name):
            if wanted == "operand":
                param = self.function.param(argument.name)
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


Pairs = list[tuple[Dimension, int]]


def _paired(shape: ShapeList, sizes: Dims) -> tuple[Pairs, tuple[str, Dims] | None]:
    """The entries of a list of dimensions with their sizes, and the variadic one with its own. Of a tensor of another
    rank as many as there are."""
    entries = list(shape.dimensions)
    spread = next((index for index, entry in enumerate(entries) if entry.kind == "variadic"), None)
    if spread is None:
        return list(zip(entries, sizes, strict=False)), None
    last = len(sizes) - (len(entries) - spread - 1)
    pairs = [*zip(entries[:spread], sizes, strict=False), *zip(entries[spread + 1 :], sizes[last:], strict=False)]
    return pairs, (entries[spread].name, tuple(sizes[spread:last]))


def aligned(shape: ShapeList, sizes: Dims) -> Pairs | None:
    """The entries of a list of dimensions with their sizes, without the variadic one; None for another rank."""
    fixed = sum(entry.kind != "variadic" for entry in shape.dimensions)
    is_variadic = fixed < len(shape.dimensions)
    fits = len(sizes) >= fixed if is_variadic else len(sizes) == fixed
    return _paired(shape, sizes)[0] if fits else None
