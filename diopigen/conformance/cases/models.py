"""The calls of model tables as cases, and whether they are calls of the interface at all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from diopigen.conformance.cases.choices import Choice, primary_dtypes, shape_rule
from diopigen.conformance.cases.resolve import Arguments, Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Case, Operand, Value
from diopigen.contract.shape_evaluation import Evaluator, Shapes
from diopigen.contract.shapes import ShapeError, broadcast, reduce
from diopigen.diagnostics import Sink, did_you_mean
from diopigen.ir.model import Function, Interface, Parameter, ShapeRule
from diopigen.ir.models import Model, ModelCall
from diopigen.ir.recipe import Argument, RecipeReader
from diopigen.spec.expression import Call, Name

AXIS = "model"
SMALL = 1 << 16
"""Elements of all tensors of a call, up to which it is a case of every run."""


class ModelReader:
    """Reads the calls of models for one interface."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.functions = {function.name: function for function in interface.functions}
        self.dtypes = frozenset(info.name for info in interface.dtypes)
        self.enum_values = {value.name: enum.name for enum in interface.enums for value in enum.values}
        self.resolvers: dict[str, Resolver] = {}
        self._good: dict[tuple[str, str, str], Arguments] = {}

    def resolved(self, call: ModelCall, sink: Sink) -> Arguments | None:
        """The complete arguments of a call; None where it is none, which is reported."""
        function = self.functions.get(call.function)
        if function is None:
            fix = did_you_mean(call.function, self.functions) or "name a function of the interface without 'diopi'"
            sink.error("model-function", f"there is no function '{call.function}'", call.function_span, fix=fix)
            return None
        if call.dtype not in primary_dtypes(function):
            fix = f"{call.function} takes {', '.join(primary_dtypes(function))}"
            sink.error("model-dtype", f"{call.function} takes no {call.dtype}", call.dtype_span, fix=fix)
            return None
        found = Sink()
        recipe = RecipeReader(function, self.dtypes, self.enum_values, found).read(call.recipe)
        sink.extend(found.sorted())
        if found.has_errors:
            return None
        # Layers of a model repeat. The text of a recipe tells 1 from 1.0, which are equal as keys.
        key = (call.function, call.dtype, repr(recipe))
        arguments = self._good.get(key) or self._arguments(function, call, recipe, sink)
        if arguments is not None:
            self._good[key] = arguments
        return arguments

    def _arguments(
        self, function: Function, call: ModelCall, recipe: Mapping[str, Argument], sink: Sink
    ) -> Arguments | None:
        resolver = self.resolvers.get(function.name)
        if resolver is None:
            resolver = self.resolvers[function.name] = Resolver(self.interface, function)
        try:
            arguments = resolver.resolve(recipe, Choice(call.dtype))
        except RecipeError as reason:
            fix = f"see `diopigen explain {function.name}`"
            sink.error("model-arguments", f"{function.name}: {reason}", call.recipe.span, fix=fix)
            return None
        good = True
        for name, message in wrong_shapes(function, arguments, resolver.shapes):
            span = call.recipe.key_spans.get(name, call.recipe.span)
            sink.error(
                "model-shape", f"{function.name}: {message}", span, fix="correct the shape, or trace the model again"
            )
            good = False
        return arguments if good else None


def wrong_shapes(
    function: Function, arguments: Mapping[str, Value], rules: Shapes | None = None
) -> Iterator[tuple[str, str]]:
    """The parameters whose tensors differ from what the spec says of their shape, each with what is wrong."""
    shapes = {name: _shape(value) for name, value in arguments.items()}
    rules = rules or Shapes(function)
    for param in function.params:
        value = arguments.get(param.name)
        if param.type != "tensor" or not isinstance(value, Operand):
            continue
        others = {name: shape for name, shape in shapes.items() if name != param.name or param.is_read}
        try:
            forms = list(Evaluator(rules, others).alternatives(param))
        except (ShapeError, LookupError, ValueError, ZeroDivisionError) as reason:
            yield param.name, f"'{param.name}': {reason}"
            continue
        if None not in forms and not any(_agrees(param, value.shape, one, shapes) for one in forms):
            expected = " or ".join(str(list(one)) for one in forms)
            yield param.name, f"'{param.name}' is {list(value.shape)}, the spec asks for {expected}"


def _shape(value: Value) -> Any:
    if isinstance(value, Operand):
        return value.shape
    if isinstance(value, tuple) and any(isinstance(item, Operand) for item in value):
        return tuple(item.shape for item in value if isinstance(item, Operand))
    return getattr(value, "value", value)


def _agrees(param: Parameter, shape: tuple[int, ...], expected: tuple[int, ...], shapes: Mapping[str, Any]) -> bool:
    if shape == expected:
        return True
    rule = shape_rule(param)
    if rule == "broadcastable":
        try:
            return broadcast(shape, expected) == expected
        except ShapeError:
            return False
    if rule == "reduce":  # the caller may keep the dimensions with size 1
        assert isinstance(param.shape, ShapeRule) and isinstance(param.shape.formula.expression, Call)
        operand, dim, *_ = param.shape.formula.expression.arguments
        if isinstance(operand, Name) and isinstance(dim, Name) and operand.name in shapes:
            return shape == reduce(shapes[operand.name], shapes.get(dim.name), keepdim=True)
    return False


def check_models(interface: Interface, models: Sequence[Model], sink: Sink) -> None:
    """Reports every call that is none of the interface."""
    reader = ModelReader(interface)
    for model in models:
        check_model(reader, model, sink)


def check_model(reader: ModelReader, model: Model, sink: Sink, functions: Set[str] | None = None) -> None:
    """Reports the calls of one table (those of some functions) that are none of the interface."""
    if model.declared != model.name:
        message = f"the model is called '{model.declared}', its file '{model.name}.yaml'"
        sink.error("model-file-name", message, model.span, fix=f"call it '{model.name}', or rename the file")
    for call in model.calls:
        if functions is not None and call.function not in functions:
            continue
        reader.resolved(call, sink)
        if call.reduced == "no reason is given":
            message = f"the call of {call.function} is reduced without a reason"
            sink.error("model-reduced", message, call.span, fix="say in 'why' what the shape is in the model")


def model_cases(interface: Interface, model: Model, functions: Set[str] | None = None) -> list[Case]:
    """A case for every call of a model (of the named functions), named after it: `diopiAdd/float32/resnet50-3` is its
    third one of that function and dtype. Calls that are none of the interface are left out; `check_models` reports
    them."""
    reader = ModelReader(interface)
    numbers: dict[tuple[str, str], int] = {}
    found = []
    for call in model.calls:
        if functions is not None and call.function not in functions:
            continue
        key = (call.function, call.dtype)
        numbers[key] = numbers.get(key, 0) + 1
        arguments = reader.resolved(call, Sink())
        if arguments is None:
            continue
        function = reader.functions[call.function]
        case_id = f"{function.name}/{call.dtype}/{model.name}-{numbers[key]}"
        about = f"{model.name}: {call.phase}, {call.count} times" + (f"; {call.reduced}" if call.reduced else "")
        found.append(Case(case_id, function.name, function.family, call.dtype, AXIS, arguments, about=about))
    return found


def is_small(case: Case) -> bool:
    """Returns whether a case of a model is small enough for every run."""
    return elements(case.arguments) <= SMALL


def elements(arguments: Mapping[str, Value]) -> int:
    """The elements of all tensors of a call."""
    total = 0
    for value in arguments.values():
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Operand) and item.dtype in STORAGE:
                total += math.prod(item.shape)
    return total
