"""Kernel expressions over dual numbers: a value and its derivative, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import NamedTuple, Union

from diopigen.ir.kernels import CONSTANTS
from diopigen.ir.model import Kernel
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary


class Incomparable(Exception):
    """The expression has no derivative here: a kink, or it is not of real numbers."""


class Dual(NamedTuple):
    """A value and its derivative."""

    value: float
    slope: float = 0.0


Operand = Union[Dual, str, None]


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _erfinv(x: float) -> float:
    return NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)


_GAUSS = 2 / math.sqrt(math.pi)

# Of each smooth function of one argument: the function, and its derivative from argument and value.
SMOOTH: Mapping[str, tuple[Callable[[float], float], Callable[[float, float], float]]] = {
    "square": (lambda x: x * x, lambda x, y: 2 * x),
    "reciprocal": (lambda x: 1 / x, lambda x, y: -y * y),
    "sqrt": (math.sqrt, lambda x, y: 0.5 / y),
    "rsqrt": (lambda x: 1 / math.sqrt(x), lambda x, y: -0.5 * y / x),
    "exp": (math.exp, lambda x, y: y),
    "exp2": (lambda x: 2.0**x, lambda x, y: y * math.log(2)),
    "expm1": (math.expm1, lambda x, y: y + 1),
    "log": (math.log, lambda x, y: 1 / x),
    "log2": (math.log2, lambda x, y: 1 / (x * math.log(2))),
    "log10": (math.log10, lambda x, y: 1 / (x * math.log(10))),
    "log1p": (math.log1p, lambda x, y: 1 / (1 + x)),
    "sin": (math.sin, lambda x, y: math.cos(x)),
    "cos": (math.cos, lambda x, y: -math.sin(x)),
    "tan": (math.tan, lambda x, y: 1 + y * y),
    "asin": (math.asin, lambda x, y: 1 / math.sqrt(1 - x * x)),
    "acos": (math.acos, lambda x, y: -1 / math.sqrt(1 - x * x)),
    "atan": (math.atan, lambda x, y: 1 / (1 + x * x)),
    "sinh": (math.sinh, lambda x, y: math.cosh(x)),
    "cosh": (math.cosh, lambda x, y: math.sinh(x)),
    "tanh": (math.tanh, lambda x, y: 1 - y * y),
    "asinh": (math.asinh, lambda x, y: 1 / math.sqrt(x * x + 1)),
    "acosh": (math.acosh, lambda x, y: 1 / math.sqrt(x * x - 1)),
    "atanh": (math.atanh, lambda x, y: 1 / (1 - x * x)),
    "erf": (math.erf, lambda x, y: _GAUSS * math.exp(-x * x)),
    "erfc": (math.erfc, lambda x, y: -_GAUSS * math.exp(-x * x)),
    "erfinv": (_erfinv, lambda x, y: math.exp(y * y) / _GAUSS),
    "sigmoid": (_sigmoid, lambda x, y: y * _sigmoid(-x)),
    "conj": (lambda x: x, lambda x, y: 1.0),
    "real": (lambda x: x, lambda x, y: 1.0),
    "to_float": (lambda x: x, lambda x, y: 1.0),
}
_STEPS: Mapping[str, Callable[[float], float]] = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "to_int": math.trunc, "round": round,
}  # fmt: skip
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y, "!=": lambda x, y: x != y,
}  # fmt: skip


class Evaluator:
    """A kernel at one point. `operands` are its parameters; a word that is none is a value of an enum."""

    def __init__(self, kernel: Kernel, operands: Mapping[str, Operand]) -> None:
        self.lets = {name: formula.expression for name, formula in kernel.lets}
        self.operands = operands

    def result(self, expression: Expression) -> Dual:
        """The value of an expression and its derivative. Raises `Incomparable`, `ArithmeticError` and `ValueError`
        (outside the domain of a function)."""
        found = self.value(expression)
        if not isinstance(found, Dual) or not math.isfinite(found.value) or not math.isfinite(found.slope):
            raise Incomparable
        return found

    def value(self, expression: Expression) -> Operand:
        """The value of any part."""
        if isinstance(expression, Number):
            return Dual(float(expression.value))
        if isinstance(expression, Text):
            return expression.value
        if isinstance(expression, Name):
            if expression.name in self.lets:
                return self.value(self.lets[expression.name])
            if expression.name in self.operands:
                return self.operands[expression.name]
            constant = CONSTANTS.get(expression.name)
            return expression.name if constant is None else Dual(float(constant))
        if isinstance(expression, Unary):
            if expression.operator == "not":
                return Dual(float(not self.truth(expression.operand)))
            x = self.result(expression.operand)
            if expression.operator == "~":
                raise Incomparable
            return Dual(-x.value, -x.slope)
        if isinstance(expression, Binary):
            return self.binary(expression)
        return self.call(expression)

    def truth(self, expression: Expression) -> bool:
        """Returns whether a condition holds."""
        found = self.value(expression)
        if not isinstance(found, Dual):
            raise Incomparable
        return found.value != 0

    def binary(self, expression: Binary) -> Dual:
        """An infix operator."""
        operator = expression.operator
        if operator in ("and", "or"):
            left, right = self.truth(expression.left), self.truth(expression.right)
            return Dual(float((left and right) if operator == "and" else (left or right)))
        if operator in _COMPARISONS:
            first, second = self.value(expression.left), self.value(expression.right)
            if not isinstance(first, Dual) or not isinstance(second, Dual):
                return Dual(float((first == second) == (operator == "==")))
            if first.value == second.value and first.slope != second.slope:
                raise Incomparable
            return Dual(float(_COMPARISONS[operator](first.value, second.value)))
        x, y = self.result(expression.left), self.result(expression.right)
        if operator == "+":
            return Dual(x.value + y.value, x.slope + y.slope)
        if operator == "-":
            return Dual(x.value - y.value, x.slope - y.slope)
        if operator == "*":
            return Dual(x.value * y.value, x.slope * y.value + x.value * y.slope)
        if operator == "/":
            quotient = x.value / y.value
            return Dual(quotient, (x.slope - quotient * y.slope) / y.value)
        if operator == "**":
            return _power(x, y)
        if operator == "//":
            return _step(math.floor, x.value / y.value)
        if operator == "%":
            integral = _step(math.floor, x.value / y.value).value
            return Dual(x.value - integral * y.value, x.slope - integral * y.slope)
        raise Incomparable

    def call(self, expression: Call) -> Operand:
        """A function."""
        name = expression.function
        if name == "where":
            return self.value(expression.arguments[1 if self.truth(expression.arguments[0]) else 2])
        if name == "is_null":
            return Dual(float(self.value(expression.arguments[0]) is None))
        arguments = [self.result(argument) for argument in expression.arguments]
        if len(arguments) == 1:
            return _unary(name, arguments[0])
        if len(arguments) == 2:
            return _two(name, *arguments)
        raise Incomparable


def _unary(name: str, x: Dual) -> Dual:
    if name in SMOOTH:
        function, derivative = SMOOTH[name]
        value = function(x.value)
        return Dual(value, derivative(x.value, value) * x.slope if x.slope else 0.0)
    if name in ("abs", "sign", "sgn"):
        if x.value == 0:
            raise Incomparable
        sign = math.copysign(1.0, x.value)
        return Dual(abs(x.value), sign * x.slope) if name == "abs" else Dual(sign)
    if name in _STEPS:
        return _step(_STEPS[name], x.value)
    if name in ("isnan", "isinf"):
        return Dual(0.0)
    if name == "isfinite":
        return Dual(1.0)
    if name == "to_bool":
        return Dual(float(x.value != 0))
    raise Incomparable


def _two(name: str, x: Dual, y: Dual) -> Dual:
    if name in ("min", "max", "fmin", "fmax"):
        if x.value == y.value and x.slope != y.slope:
            raise Incomparable
        return x if (x.value < y.value) == name.endswith("min") else y
    if name == "pow":
        return _power(x, y)
    if name == "atan2":
        square = x.value**2 + y.value**2
        return Dual(math.atan2(x.value, y.value), (x.slope * y.value - y.slope * x.value) / square)
    if name == "hypot":
        length = math.hypot(x.value, y.value)
        return Dual(length, (x.value * x.slope + y.value * y.slope) / length)
    if name in ("trunc_div", "floor_div"):
        return _step(math.trunc if name == "trunc_div" else math.floor, x.value / y.value)
    if name == "fmod":
        integral = _step(math.trunc, x.value / y.value).value
        return Dual(x.value - integral * y.value, x.slope - integral * y.slope)
    raise Incomparable


def _step(function: Callable[[float], float], value: float) -> Dual:
    """A step function, which is flat between its steps."""
    if function(value) == value:
        raise Incomparable
    return Dual(float(function(value)))


def _power(x: Dual, y: Dual) -> Dual:
    value = math.pow(x.value, y.value)
    slope = y.value * math.pow(x.value, y.value - 1) * x.slope if x.slope else 0.0
    if y.slope:
        slope += value * math.log(x.value) * y.slope
    return Dual(value, slope)
