"""From an argument recipe to complete arguments: dtypes chosen, defaults filled in, outputs sized by their rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from diopigen.conformance.cases.choices import Choice, distribution, primary_parameter
from diopigen.conformance.cases.legal import LegalCalls
from diopigen.conformance.cases.values import RecipeError, fits
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Number, Operand, Value
from diopigen.contract.dtype_rules import alternatives
from diopigen.contract.dtypes import promote
from diopigen.contract.shape_evaluation import Evaluator, Shapes
from diopigen.contract.shapes import ShapeError
from diopigen.diagnostics import Sink
from diopigen.ir.model import Case as Recipe
from diopigen.ir.model import DtypeList, DtypeRule, Function, Interface, Parameter
from diopigen.ir.recipe import Argument, Drawn, RecipeReader, TensorRecipe
from diopigen.ir.types import INTEGERS

Arguments = dict[str, Value]
_WITHOUT_VALUE = frozenset({"context", "generator", "generators", "stream", "opaque", "new_tensor", "new_tensors"})
_FOLLOWS = "follows from its rule"
"""Stands for a tensor until its shape is inferred."""


def number(value: Any, param: Parameter) -> Number:
    """A scalar argument as frameworks pass it, a float64 or an int64; a Python bool as a bool where the list of the
    parameter has that."""
    if isinstance(value, bool) and isinstance(param.dtype, DtypeList) and "bool" in param.dtype.dtypes:
        return Number(int(value), "bool")
    return Number(float(value), "float64") if isinstance(value, float) else Number(int(value), "int64")


def dtypes_of(value: Value | None) -> list[tuple[str, int | None]]:
    """Dtype and rank of a tensor, of each member of an array, or of a number, whose rank is None; of others nothing."""
    known: list[tuple[str, int | None]] = []
    for item in value if isinstance(value, tuple) else (value,):
        if isinstance(item, Operand) and item.dtype:
            known.append((item.dtype, len(item.shape)))
        elif isinstance(item, Number):
            known.append((item.dtype, None))
    return known


class Resolver:
    """Resolves recipes of one function."""

    def __init__(self, interface: Interface, function: Function) -> None:
        self.function = function
        self.shapes = Shapes(function)
        self.calls = LegalCalls(function)
        self.base = interface.function(f"diopi{function.operator}") or function
        self.interface = interface

    @cached_property
    def has_inplace(self) -> bool:
        """Returns whether the operator has an in-place variant."""
        return any(f.operator == self.function.operator and f.variant == "inplace" for f in self.interface.functions)

    def resolve(self, recipe: Mapping[str, Argument], choice: Choice, *, checked: bool = True) -> Arguments:
        """Complete arguments. Raises `RecipeError` where the recipe does not suit the dtype or leaves something open.

        With `checked` the arguments keep the contract of the function; a case that breaks it says false.
        """
        found: Arguments = {}
        for param in self.function.params:
            found[param.name] = self._start(param, recipe)
        self._counts(found, recipe)
        try:
            self._followers(found, choice)
            self._dtypes(found, recipe, choice)
            self._outputs(found, recipe, choice)
        except (ShapeError, LookupError, ValueError, ZeroDivisionError) as error:
            raise RecipeError(str(error)) from error
        for name, value in found.items():
            self._check(name, value)
        if checked and not self.calls.admits(found):
            raise RecipeError("the arguments break a constraint")
        return found

    def resized(self, recipe: Mapping[str, Argument], choice: Choice) -> Arguments:
        """As `resolve`, outputs by the rules of the spec where these determine their shapes."""
        outputs = [param for param in self.function.params if param.direction == "out" and param.name in recipe]
        ruled = {param.name for param in outputs if self.shape_of(param, recipe) is not None}
        return self.resolve({name: value for name, value in recipe.items() if name not in ruled}, choice)

    def shape_of(self, param: Parameter, recipe: Mapping[str, Argument]) -> tuple[int, ...] | None:
        """Shape of a tensor by its rule and the other operands of a recipe; None where these leave it open."""
        known: dict[str, Any] = {}
        for other in self.function.params:
            if other.is_read and other is not param:
                default = other.default.value if other.default is not None else None
                known[other.name] = _shapes(_value(recipe.get(other.name, default)))
        try:
            shape: tuple[int, ...] | None = Evaluator(self.shapes, known).shape(param)
        except (ShapeError, LookupError, ValueError, TypeError, ZeroDivisionError):
            return None
        return shape

    def _start(self, param: Parameter, recipe: Mapping[str, Argument]) -> Value:
        """The argument as far as it follows from the recipe alone; dtypes may still be empty."""
        if param.type in _WITHOUT_VALUE:
            return None if param.name in recipe and recipe[param.name] is None else True
        if param.name in recipe:
            provided: Argument = recipe[param.name]
        elif param.default is not None:
            provided = param.default.value
        elif param.direction == "out" and param.type not in ("tensor", "tensors"):
            return True  # room for a number
        elif param.direction == "out" or param.count is not None:
            provided = None
        elif any(other.count == param.name for other in self.function.params):
            return 0
        elif param.type == "tensor" and param.is_read and not param.nullable:
            return _FOLLOWS
        else:
            provided = None
        if param.type == "scalar" and provided is not None:
            return number(provided, param)
        is_open = "nullability" in param.free and param.name in recipe
        if provided is None and not (param.nullable or is_open) and param.direction == "in" and param.type != "tensors":
            raise RecipeError(f"no value for '{param.name}'")
        return _value(provided)

    def _counts(self, found: Arguments, recipe: Mapping[str, Argument]) -> None:
        """Lengths of arrays that the recipe leaves to them."""
        for param in self.function.params:
            value = found[param.name]
            if not isinstance(param.count, str) or not isinstance(value, tuple):
                continue
            counter = self.shapes.params.get(param.count)
            if counter is not None and counter.name not in recipe and counter.type in INTEGERS:
                found[counter.name] = len(value)

    def _followers(self, found: Arguments, choice: Choice) -> None:
        """Tensors that the recipe leaves to their shape rule: grad_output, and state that is updated."""
        for param in self.function.params:
            if found[param.name] is not _FOLLOWS:
                continue
            known = {name: _shapes(value) for name, value in found.items() if value is not _FOLLOWS}
            read = {p.name for p in self.function.params if p.is_read}
            sizes = {name: value for name, value in known.items() if name in read}
            shape = Evaluator(self.shapes, sizes, form=choice.alternative).shape(param)
            if shape is None:
                raise RecipeError(f"no value for '{param.name}'")
            # What an operator writes in part keeps the rest: zeros would not show that it is cleared.
            retained = not param.is_written or param.direction == "partial_out"
            found[param.name] = Operand(tuple(shape), "", distribution(param) if retained else Drawn("zeros"))

    # ---- dtypes -----------------------------------------------------------------------------------------------------

    def _dtypes(self, found: Arguments, recipe: Mapping[str, Argument], choice: Choice) -> None:
        """Dtypes of everything that is read: lists first, then rules, which may need several rounds."""
        waiting = [p for p in self.function.params if p.is_read and _open(found[p.name])]
        for param in list(waiting):
            if isinstance(param.dtype, DtypeList):
                found[param.name] = _typed(found[param.name], choice.pick(param))
                waiting.remove(param)
        for _ in range(len(waiting) + 1):
            for param in list(waiting):
                try:
                    found[param.name] = _typed(found[param.name], self._by_rule(param, found, choice))
                    waiting.remove(param)
                except LookupError:
                    continue
        if waiting:
            raise RecipeError(f"the dtype of '{waiting[0].name}' stays open")

    def _by_rule(self, param: Parameter, found: Arguments, choice: Choice) -> str:
        assert isinstance(param.dtype, DtypeRule)

        def operands(name: str) -> list[tuple[str, int | None]]:
            other = self.shapes.params.get(name)
            value = found.get(name)
            known = dtypes_of(value)
            if not known and other is not None and not other.is_read and other is not param:
                known.append((self._output_dtype(other, found, choice), 1))
            return known

        possible = alternatives(param.dtype.formula.expression, operands)
        return possible[min(choice.alternative, len(possible) - 1)]

    def _output_dtype(self, param: Parameter, found: Arguments, choice: Choice) -> str:
        if isinstance(param.dtype, DtypeRule):
            return self._by_rule(param, found, choice)
        assert isinstance(param.dtype, DtypeList)
        read = [found[p.name] for p in self.function.params if p.is_read and p.type == "tensor"]
        primary_param = primary_parameter(self.function)
        if param is primary_param and choice.dtype in param.dtype.dtypes and param.name not in choice.special:
            return choice.dtype  # nothing is read that it could follow
        primary = found.get(primary_param.name) if primary_param is not None and primary_param.is_read else None
        known = primary.dtype if isinstance(primary, Operand) else None
        if self.function.kernel is not None:
            operands = [(item.dtype, len(item.shape)) for item in read if isinstance(item, Operand)]
            known = promote(operands) if operands else known
        return choice.pick(param, known)

    # ---- outputs ----------------------------------------------------------------------------------------------------

    def _outputs(self, found: Arguments, recipe: Mapping[str, Argument], choice: Choice) -> None:
        known: dict[str, Any] = {}
        for param in self.function.params:
            value = found[param.name]
            if param.is_read or (isinstance(value, Operand) and param.name in recipe):
                known[param.name] = _shapes(value)
            elif param.name in recipe and recipe[param.name] is None:
                known[param.name] = None
        evaluator = Evaluator(self.shapes, known, form=choice.alternative)
        for param in self.function.params:
            if param.is_read or param.type not in ("tensor", "tensors"):
                continue
            value = found[param.name]
            if value in (None, ()) and param.name in recipe:
                continue
            dtype = self._actual_dtype(value) or self._output_dtype(param, found, choice)
            if param.type == "tensors":
                found[param.name] = self._array(param, value, evaluator, found, dtype)
                continue
            shape = value.shape if isinstance(value, Operand) else evaluator.shape(param)
            if shape is None:
                raise RecipeError(f"the shape of '{param.name}' is not given")
            if any(size < 0 for size in shape):
                raise RecipeError(f"'{param.name}' would have the shape {list(shape)}")
            found[param.name] = Operand(tuple(shape), dtype, Drawn("zeros"))

    @staticmethod
    def _actual_dtype(value: Value) -> str:
        return value.dtype if isinstance(value, Operand) else ""

    def _array(self, param: Parameter, value: Value, evaluator: Evaluator, found: Arguments, dtype: str) -> Value:
        if isinstance(value, tuple) and value:
            return tuple(replace(item, dtype=item.dtype or dtype) for item in value if isinstance(item, Operand))
        shape: Any = evaluator.shape(param)
        count = found[param.count] if isinstance(param.count, str) else param.count
        if shape is None or not isinstance(count, int):
            raise RecipeError(f"the shapes of '{param.name}' are not given")
        shapes = shape if shape and isinstance(shape[0], tuple) else (shape,) * count
        dtypes = self._array_dtypes(param, found, dtype, len(shapes))
        return tuple(Operand(one, name, Drawn("zeros")) for one, name in zip(shapes, dtypes, strict=True))

    def _array_dtypes(self, param: Parameter, found: Arguments, dtype: str, count: int) -> Sequence[str]:
        """One dtype per output of an array: a rule over an array of inputs holds member by member."""
        if not isinstance(param.dtype, DtypeRule):
            return (dtype,) * count
        arrays = {name: value for name, value in found.items() if isinstance(value, tuple) and _has_operands(value)}
        if not arrays or len(next(iter(arrays.values()))) != count:
            return (dtype,) * count
        result = []
        for position in range(count):
            members = {name: value[position] for name, value in arrays.items()}
            result.append(self._by_rule(param, {**found, **members}, Choice(dtype)))
        return result

    # ---- checks -----------------------------------------------------------------------------------------------------

    def _check(self, name: str, value: Value) -> None:
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Operand) and (item.dtype not in STORAGE or not fits(item.values, item.dtype)):
                raise RecipeError(f"'{name}' cannot be {item.dtype}")


def _value(provided: Argument) -> Value:
    """An argument of a recipe with its tensors as operands."""
    if isinstance(provided, TensorRecipe):
        return _operand(provided)
    return tuple(_value(item) for item in provided) if isinstance(provided, tuple) else provided


def _operand(recipe: TensorRecipe) -> Operand:
    return Operand(recipe.shape, recipe.dtype or "", recipe.values)


def _open(value: Value) -> bool:
    items = value if isinstance(value, tuple) else (value,)
    return any(isinstance(item, Operand) and not item.dtype for item in items)


def _typed(value: Value, dtype: str) -> Value:
    if isinstance(value, tuple):
        return tuple(_typed(item, dtype) for item in value)
    return Operand(value.shape, dtype, value.values) if isinstance(value, Operand) and not value.dtype else value


def _has_operands(value: Value) -> bool:
    return isinstance(value, tuple) and any(isinstance(item, Operand) for item in value)


def _shapes(value: Value) -> Any:
    if isinstance(value, Operand):
        return value.shape
    if _has_operands(value) and isinstance(value, tuple):
        return tuple(item.shape for item in value if isinstance(item, Operand))
    return value.value if isinstance(value, Number) else value


def read_recipe(interface: Interface, function: Function, case: Recipe) -> dict[str, Argument]:
    """The typed arguments of a recipe. What a variant does not have is left out; faults are the checker's to report."""
    dtypes = frozenset(info.name for info in interface.dtypes)
    enum_values = {value.name: enum.name for enum in interface.enums for value in enum.values}
    retained = {name: node for name, node in case.arguments.items() if function.param(name) is not None}
    return RecipeReader(function, dtypes, enum_values, Sink()).read(replace(case, arguments=retained))
