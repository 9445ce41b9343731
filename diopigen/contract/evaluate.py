"""Predicates of the spec, evaluated over described arguments.

`holds` returns whether a predicate is satisfied. A predicate without a value for some arguments (it reads a null, a
dimension that the tensor lacks, or elements that are not known) is satisfied: what makes it undefined is the subject of
another check, or allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from diopigen.contract.arguments import Described, Scalar, Tensor, Undefined
from diopigen.contract.compile import Compiler, Evaluation
from diopigen.contract.shape_evaluation import Dimensions, Evaluator, Shapes, value_of
from diopigen.contract.shapes import ShapeError, broadcasts_to
from diopigen.ir.model import Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.types import TENSORS
from diopigen.spec.expression import Call, Expression


class Contract:
    """Contract of one function, translated once for many calls. A strict one admits no input whose rule gives no shape
    for the operands; else that is for another check."""

    def __init__(self, function: Function, *, is_strict: bool = False) -> None:
        self.function, self.is_strict = function, is_strict
        self.shapes = Shapes(function)
        self.plain = tuple(param.name for param in function.params if param.type not in TENSORS)
        self._compiler = Compiler.of(function)
        self._evaluations: dict[int, tuple[Expression, Evaluation]] = {}

    def evaluation(self, expression: Expression) -> Evaluation:
        """The translation of an expression, which is kept: expressions that are equal may still differ, as 1 and 1.0
        do, so that each has its own."""
        known = self._evaluations.get(id(expression))
        if known is None:
            known = self._evaluations[id(expression)] = (expression, self._compiler.value(expression))
        return known[1]

    def admits(self, values: Mapping[str, Described]) -> bool:
        """Returns whether a call is legal: shapes agree with the lists of dimensions, and each constraint holds."""
        arguments = Arguments(self.function, values, self)
        return arguments.agree() and all(_holds(predicate, arguments) for predicate in self._predicates)

    @cached_property
    def _predicates(self) -> tuple[Evaluation, ...]:
        found = (constraint.require for constraint in self.function.constraints)
        return tuple(self.evaluation(require.expression) for require in found if require is not None)

    @cached_property
    def agreements(self) -> tuple[Callable[[Arguments], bool], ...]:
        """Returns whether the shape of an input agrees with the spec, one check for each input of which that says
        something."""
        return tuple(self._agreements())

    def _agreements(self) -> Iterator[Callable[[Arguments], bool]]:
        for param in self.function.params:
            if not param.is_read or "shape" in param.free:
                continue
            if isinstance(param.shape, ShapeRule) and value_of(param.shape.formula.expression) is not None:
                yield _follows(param, param.shape.formula.expression)
            elif isinstance(param.shape, ShapeList):
                dimensions = self.shapes.lists[param.name]
                sizes = [
                    self.evaluation(entry.formula.expression) if entry.kind == "formula" else None
                    for entry in dimensions.fixed
                ]
                yield _matches(param, dimensions, sizes)


class Arguments:
    """The arguments of one call, with the dimensions that the shapes of inputs bind."""

    def __init__(self, function: Function, values: Mapping[str, Described], contract: Contract | None = None) -> None:
        """`values` has an entry for every parameter; outputs are described as inputs are. Who has many calls of the
        function gives its `contract`."""
        self.contract = contract or Contract(function)
        self.values = values

    @cached_property
    def dimensions(self) -> Mapping[str, int]:
        """The names that the shapes of inputs bind; a tensor of another rank than its list binds none."""
        sizes = {}
        for name, dimensions in self.contract.shapes.lists.items():
            value = self.values.get(name)
            if isinstance(value, Tensor) and dimensions.accepts(len(value.shape)):
                sizes[name] = value.shape
        return Evaluator(self.contract.shapes, {**sizes, **self._plain_values}, lenient=True).names

    @cached_property
    def shapes(self) -> Evaluator:
        """The shapes that follow from what is read."""
        read = (param.name for param in self.contract.function.params if param.is_read)
        tensors = {name: _shapes(self.values.get(name)) for name in read}
        return Evaluator(self.contract.shapes, {**tensors, **self._plain_values}, lenient=True)

    @cached_property
    def _plain_values(self) -> Mapping[str, Any]:
        return {name: _plain(self.values.get(name)) for name in self.contract.plain}

    def holds(self, predicate: Expression) -> bool:
        """Returns whether the predicate is satisfied."""
        return _holds(self.contract.evaluation(predicate), self)

    def agree(self) -> bool:
        """Returns whether the shapes of inputs agree with their lists of dimensions: in rank, in numbers, and in the
        sizes that one name stands for."""
        return all(agreement(self) for agreement in self.contract.agreements)

    def value(self, expression: Expression) -> Any:
        """The value of an expression. Raises `Undefined`."""
        return self.contract.evaluation(expression)(self)


def _holds(predicate: Evaluation, arguments: Arguments) -> bool:
    try:
        return bool(predicate(arguments))
    except (Undefined, ArithmeticError):
        return True


# ---- shapes ---------------------------------------------------------------------------------------------------------


def _matches(param: Parameter, dimensions: Dimensions, sizes: list[Evaluation | None]) -> Callable[[Arguments], bool]:
    """Returns whether an input has the sizes of its list, where these have a value."""

    def agrees(arguments: Arguments) -> bool:
        value = arguments.values.get(param.name)
        if not isinstance(value, Tensor) or math.prod(value.shape) == 1:
            return True
        if param.nullable and value.shape == (0,):
            return True
        if not dimensions.accepts(len(value.shape)):
            return False
        return all(
            expected is None or _has_size(expected, arguments, size)
            for expected, size in zip(sizes, dimensions.fixed_of(value.shape), strict=True)
        )

    return agrees


def _has_size(expected: Evaluation, arguments: Arguments, size: int) -> bool:
    try:
        return bool(expected(arguments) == size)
    except (Undefined, ArithmeticError):
        return True


def _follows(param: Parameter, rule: Expression) -> Callable[[Arguments], bool]:
    """Returns whether an input has the shape of its rule; one that follows from other arguments only."""
    called = rule.function if isinstance(rule, Call) else ""
    is_squeezed = isinstance(rule, Call) and called == "reduce" and len(rule.arguments) == 2

    def agrees(arguments: Arguments) -> bool:
        value = arguments.values.get(param.name)
        if not isinstance(value, Tensor):
            return True
        try:
            forms = list(arguments.shapes.alternatives(param))
        except (ShapeError, ArithmeticError):
            return not arguments.contract.is_strict
        expected: Any = forms[0]
        if expected is None or value.shape == (0,) or value.shape in map(tuple, forms):
            return True
        if called == "broadcastable":
            return broadcasts_to(value.shape, tuple(expected))
        if is_squeezed:
            squeezed = [[size for size in shape if size != 1] for shape in (value.shape, expected)]
            return squeezed[0] == squeezed[1]
        return math.prod(value.shape) == 1 and math.prod(expected) == 1

    return agrees


def _shapes(value: Described) -> Any:
    if isinstance(value, tuple):
        return tuple(item.shape for item in value if isinstance(item, Tensor))
    return value.shape if isinstance(value, Tensor) else None


def _plain(value: Described) -> Any:
    return value.value if isinstance(value, Scalar) else value
