"""Expressions of predicates, translated to Python functions once and called for many calls of an operator.

An evaluation takes the arguments of a call and returns a value, or raises `Undefined`. `and`, `or`, `implies` and
`where` evaluate from the left and stop as soon as they can. Long lists are evaluated as arrays of NumPy (`arrays`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from typing import Any, Protocol

from diopigen.contract.arguments import LEAST, Array, Described, Scalar, Tensor, Undefined
from diopigen.contract.functions import FUNCTIONS, NULLABLE
from diopigen.contract.functions import Function as TableFunction
from diopigen.contract.tensors import is_array
from diopigen.ir.model import RANKS, Function, ShapeList
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary

CONSTANTS: Mapping[str, Any] = {"true": True, "false": False, "inf": float("inf")}


class Bound(Protocol):
    """The arguments of one call: `values` by parameter, and the sizes that the dimensions of inputs bind."""

    @property
    def values(self) -> Mapping[str, Described]: ...

    @property
    def dimensions(self) -> Mapping[str, int]: ...


Evaluation = Callable[[Bound], Any]


def _power(base: Any, exponent: Any) -> Any:
    """Without a value where it is complex; of integers a float where it is beyond int64, which may take forever."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent * (abs(base).bit_length() - 1) > 62:
        base = float(base)
    power = base**exponent
    return _undefined() if isinstance(power, complex) and not isinstance(base, complex) else power


_ORDERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, **_ORDERS, "+": operator.add, "-": operator.sub, "*": operator.mul,
    "//": operator.floordiv, "%": operator.mod, "/": operator.truediv, "**": _power,
}  # fmt: skip


class Compiler:
    """Translates the expressions of one scope: the names of `parameters` and of `dimensions`."""

    def __init__(self, parameters: Iterable[str], dimensions: Iterable[str] = ()) -> None:
        self.parameters = frozenset(parameters)
        self.dimensions = frozenset(dimensions)

    @classmethod
    def of(cls, function: Function) -> Compiler:
        """For the expressions of an operator."""
        lists = (param.shape for param in function.params if isinstance(param.shape, ShapeList))
        sizes = (entry.name for shape in lists for entry in shape.dimensions)
        ranks = RANKS if function.is_collective else ()
        return cls((param.name for param in function.params), (*sizes, *ranks))

    def value(self, expression: Expression) -> Evaluation:
        """The evaluation of an expression. Its lists are tuples."""
        evaluate = self._value(expression)
        return lambda call: _tuple(evaluate(call))

    def _value(self, expression: Expression) -> Evaluation:
        if isinstance(expression, (Number, Text)):
            return _constant(expression.value)
        if isinstance(expression, Name):
            return self._name(expression.name)
        if isinstance(expression, Unary):
            return self._unary(expression)
        if isinstance(expression, Binary):
            return self._binary(expression)
        return self._call(expression)

    def _plain(self, expression: Expression) -> Evaluation:
        """A value to compute with: numbers without dtype, tensors by their elements."""
        evaluate = self._value(expression)
        if isinstance(expression, (Number, Text, Unary, Binary)):
            return evaluate

        def plain(call: Bound) -> Any:
            value = evaluate(call)
            if isinstance(value, Scalar):
                return value.value
            return value.array() if isinstance(value, Tensor) else value

        return plain

    def _name(self, name: str) -> Evaluation:
        if name in self.parameters:

            def parameter(call: Bound) -> Any:
                found = call.values.get(name)
                if found is None:
                    raise Undefined
                return found

            return parameter
        if name in CONSTANTS:
            return _constant(CONSTANTS[name])
        if name not in self.dimensions:
            return _constant(name)  # the value of an enum

        def dimension(call: Bound) -> Any:
            if name not in call.dimensions:
                raise Undefined
            return call.dimensions[name]

        return dimension

    def _unary(self, expression: Unary) -> Evaluation:
        inner = self._plain(expression.operand)
        change = operator.not_ if expression.operator == "not" else operator.neg

        def evaluate(call: Bound) -> Any:
            value = inner(call)
            if isinstance(value, Array):
                from diopigen.contract import arrays

                changed = (arrays.inverted if change is operator.not_ else arrays.negated)(value)
                if changed is not NotImplemented:
                    return changed
                value = value.entries
            return tuple(map(change, value)) if isinstance(value, tuple) else change(value)

        return evaluate

    def _binary(self, expression: Binary) -> Evaluation:
        left, right = self._plain(expression.left), self._plain(expression.right)
        if expression.operator in ("and", "or"):
            return _joined(left, right, stops_at=expression.operator == "or")
        apply = _OPERATIONS[expression.operator]
        if expression.operator not in _ORDERS:
            return lambda call: _each(apply, left(call), right(call))

        def compare(call: Bound) -> Any:
            one, other = left(call), right(call)
            try:
                return _each(apply, one, other)
            except TypeError as error:
                if any(isinstance(entry, complex) for entry in (*_as_list(_tuple(one)), *_as_list(_tuple(other)))):
                    raise Undefined from error  # complex numbers have no order
                raise

        return compare

    # ---- calls ------------------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> Evaluation:
        name, arguments = call.function, call.arguments
        if name == "implies":
            condition, conclusion = self._plain(arguments[0]), self._plain(arguments[1])
            return lambda bound: not condition(bound) or conclusion(bound)
        if name == "where":
            condition, selected, other = self._plain(arguments[0]), self._value(arguments[1]), self._value(arguments[2])
            return lambda bound: selected(bound) if condition(bound) else other(bound)
        if name == "when":
            condition, result = self._plain(arguments[0]), self._value(arguments[1])
            return lambda bound: result(bound) if condition(bound) else _undefined()
        if name == "is_null":
            assert isinstance(arguments[0], Name)
            parameter = arguments[0].name
            return lambda bound: bound.values.get(parameter) is None
        function = FUNCTIONS[name]
        actual = [self._argument(one, function.kind(index)) for index, one in enumerate(arguments)]
        if not function.by_entry:
            apply = _with_arrays(function)
            if len(actual) == 1:
                (only,) = actual
                return lambda bound: apply(only(bound))
            return lambda bound: apply(*[argument(bound) for argument in actual])
        numbers, of_entry = function.by_entry, implementation(function)

        def evaluate(bound: Bound) -> Any:
            values = [_tuple(argument(bound)) for argument in actual]
            lists = [index for index in numbers if isinstance(values[index], tuple)]
            return _by_entry(of_entry, values, lists) if lists else of_entry(*values)

        return evaluate

    def _argument(self, expression: Expression, kind: str) -> Evaluation:
        """An argument of the kind (see `functions`)."""
        if kind in NULLABLE and isinstance(expression, Name) and expression.name in self.parameters:
            name, convert = expression.name, _CONVERSIONS[kind]
            return lambda call: () if (value := call.values.get(name)) is None else convert(value)
        if kind in _CONVERSIONS:
            convert, value = _CONVERSIONS[kind], self._value(expression)
            return lambda call: convert(value(call))
        plain = self._plain(expression)
        return (lambda call: _as_list(plain(call))) if kind == "bools" else plain


@cache
def implementation(function: TableFunction) -> Callable[..., Any]:
    """The evaluation of a function on values of its kinds. It raises `Undefined` also for a number that is no integer
    where it needs one."""
    if function.formula is None:
        evaluate = function.evaluate
    else:
        body, names = Compiler(function.parameters)._value(function.formula), function.parameters

        def evaluate(*values: Any) -> Any:
            return body(_Frame(dict(zip(names, values, strict=True)), {}))

    integers = [index for index, kind in enumerate(function.arguments) if kind == "integer"]
    if not integers:
        return evaluate

    def checked(*values: Any) -> Any:
        if not all(isinstance(values[index], int) for index in integers):
            raise Undefined
        return evaluate(*values)

    return checked


@dataclass(frozen=True, slots=True)
class _Frame:
    """The arguments of one call of a formula."""

    values: Mapping[str, Described]
    dimensions: Mapping[str, int]


def _undefined() -> Any:
    raise Undefined


def _unchanged(value: Any) -> Any:
    return value


def _dtype_of(value: Any) -> Any:
    if is_array(value):
        value = next(item for item in value if item is not None)
    if isinstance(value, (Tensor, Scalar)):
        return value.dtype
    return value if isinstance(value, str) else _undefined()


def _items(value: Any) -> Any:
    return tuple(item for item in value if item is not None) if isinstance(value, tuple) else value


def _array(value: Any) -> Any:
    return _items(value) if isinstance(value, tuple) else (value,)


def _list(value: Any) -> Any:
    """The shape of a tensor, or the entries of a list."""
    return value.shape if isinstance(value, Tensor) else _as_list(value)


def _integers(value: Any) -> Any:
    """The same of integers alone."""
    entries = _list(value)
    is_unchanged = (
        entries.numbers.dtype.kind != "f" if isinstance(entries, Array) else set(map(type, entries)) <= _WHOLE
    )
    return entries if is_unchanged else _undefined()


def _extent(value: Any) -> Any:
    return _integers(value) if isinstance(value, (tuple, Array)) and not is_array(value) else value


_WHOLE = frozenset({int, bool})
_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "dtype": _dtype_of, "tensor": _unchanged, "indices": _unchanged, "operand": _unchanged, "extent": _extent,
    "tensors": _array, "items": _items, "list": _list, "shape": _integers, "sizes": _integers, "dims": _integers,
}  # fmt: skip
"""Conversion of the value of an expression to an argument of these kinds."""


def _constant(value: Any) -> Evaluation:
    return lambda _: value


def _joined(left: Evaluation, right: Evaluation, *, stops_at: bool) -> Evaluation:
    """`or`, which stops where the left side is true, or `and`, which stops where it is false; lists entry by entry."""
    join = operator.or_ if stops_at else operator.and_

    def evaluate(call: Bound) -> Any:
        value = left(call)
        if isinstance(value, (tuple, Array)):
            return _each(join, value, right(call))
        return value if bool(value) == stops_at else right(call)

    return evaluate


# ---- lists ----------------------------------------------------------------------------------------------------------


def _tuple(value: Any) -> Any:
    return value.entries if isinstance(value, Array) else value


def _with_arrays(function: TableFunction) -> Callable[..., Any]:
    """The evaluation of a function that uses arrays where an argument is one, or a tensor has many elements."""
    evaluate, name = implementation(function), function.name
    of_tensor = name in _OF_LONG_TENSORS
    if not of_tensor and _LISTS.isdisjoint(function.arguments):
        return evaluate

    def apply(*values: Any) -> Any:
        if not any(map(_is_long, values)) if of_tensor else Array not in map(type, values):
            return evaluate(*values)
        from diopigen.contract import arrays

        known = arrays.FUNCTIONS.get(name)
        result = known(*values) if known is not None else NotImplemented
        return evaluate(*map(_tuple, values)) if result is NotImplemented else result

    return apply


_OF_LONG_TENSORS = frozenset({"coordinates", "select"})
_LISTS = frozenset({"list", "bools", "numbers", "items", "sizes", "shape", "dims", "elements", "value"})


def _is_long(value: Any) -> bool:
    return isinstance(value, Tensor) and math.prod(value.shape) >= LEAST


def _as_list(value: Any) -> Any:
    if isinstance(value, Array):
        return value
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _by_entry(evaluate: Callable[..., Any], values: Sequence[Any], lists: Sequence[int]) -> tuple[Any, ...]:
    """The results for each entry of the arguments that are `lists`; a list of one entry belongs to every entry."""
    counts = {len(values[index]) for index in lists}
    count = 0 if 0 in counts else max(counts)
    if not counts <= {count, 1}:
        raise Undefined
    return tuple(
        evaluate(*(v[k % len(v)] if index in lists else v for index, v in enumerate(values))) for k in range(count)
    )


def _each(apply: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The operation on numbers, or entry by entry: a number, or a list of one entry, belongs to every entry."""
    if isinstance(left, Array) or isinstance(right, Array):
        from diopigen.contract import arrays

        result = arrays.each(apply, left, right)
        if result is not NotImplemented:
            return result
        left, right = _tuple(left), _tuple(right)
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        return apply(left, right)
    first, second = _as_list(left), _as_list(right)
    if first and len(second) == 1:
        return tuple(map(apply, first, repeat(second[0])))
    count = max(len(first), len(second)) if first and second else 0
    if len(first) not in (count, 1) or len(second) not in (count, 1):
        raise Undefined
    first = first * count if len(first) == 1 else first
    second = second * count if len(second) == 1 else second
    return tuple(map(apply, first, second))
