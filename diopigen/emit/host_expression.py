"""Uniform expressions (without elements of tensors) as C++: computed once a call, on the host, in double or int64."""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.emit.cpp_text import (
    ATOM,
    COMPARISONS,
    EQUAL,
    LOGICAL,
    OR,
    PREFIX,
    SPELLING,
    TERNARY,
    Backend,
    Printed,
    UnsupportedExpressionError,
    infix,
    is_literal,
    literal_text,
    literal_value,
    wrap,
)
from diopigen.emit.escaping import c_string
from diopigen.ir.model import Parameter
from diopigen.ir.types import INTEGERS
from diopigen.spec.expression import Binary, Call, Expression, Name, Text, Unary, to_text


class HostPrinter:
    """Prints uniform expressions for the host's side of a call."""

    def __init__(self, backend: Backend, params: Mapping[str, Parameter], lets: Mapping[str, Expression]) -> None:
        self.backend = backend
        self.params = params
        self.lets = lets

    def show(self, expression: Expression) -> Printed:
        """The C++ text of a uniform expression. Raises `UnsupportedExpressionError`."""
        if is_literal(expression):
            value = literal_value(expression)
            kind = "bool" if isinstance(value, bool) else "integer" if isinstance(value, int) else "float"
            negative = not isinstance(value, bool) and value < 0
            return Printed(literal_text(value), kind, PREFIX if negative else ATOM)
        if isinstance(expression, Text):
            return Printed(c_string(expression.value), "text")
        if isinstance(expression, Name):
            return self.name(expression.name)
        if isinstance(expression, Unary):
            operand = self.show(expression.operand)
            kind = "bool" if expression.operator == "not" else operand.kind
            sign = SPELLING.get(expression.operator, expression.operator)
            return Printed(sign + wrap(operand, PREFIX), kind, PREFIX)
        if isinstance(expression, Binary):
            return self.binary(expression)
        assert isinstance(expression, Call)
        return self.call(expression)

    def name(self, name: str) -> Printed:
        """A parameter's value; a word that is no parameter is a value of an enum."""
        if name in self.lets:
            return self.show(self.lets[name])
        param = self.params.get(name)
        if param is None:
            return Printed(name, "enum")
        if param.type == "scalar":
            return Printed(f"{name}_number.value()", "float")
        if param.type in ("float", "double"):
            return Printed(f"double{{{name}}}" if param.type == "float" else name, "float")
        if param.type in INTEGERS:
            return Printed(name, "integer")
        return Printed(name, {"bool": "bool", "string": "text"}.get(param.type, "enum"))

    def binary(self, expression: Binary) -> Printed:
        """An infix operator; division and powers are computed in double."""
        left, right = self.show(expression.left), self.show(expression.right)
        operator = expression.operator
        if "text" in (left.kind, right.kind):
            if left.kind == "text" and left.text[0] != '"':
                left = Printed(f"std::string_view({left.text})", "text")
            return infix(operator, left, right, "bool")
        if operator in LOGICAL or operator in COMPARISONS:
            return infix(operator, left, right, "bool")
        integral = left.kind == right.kind == "integer"
        if operator == "**":
            return Printed(f"std::pow({as_double(left).text}, {as_double(right).text})", "float")
        if operator == "//" and integral:
            text = f"floor_divide(Int64({left.text}), Int64({right.text})).value"
            return Printed(text, "integer")
        if operator == "/":
            return infix(operator, as_double(left), as_double(right), "float")
        if operator in ("+", "-", "*"):
            if not integral:
                left, right = as_double(left), as_double(right)
            return infix(operator, left, right, "integer" if integral else "float")
        raise UnsupportedExpressionError(f"'{operator}' on parameters")

    def call(self, expression: Call) -> Printed:
        """A function of uniform operands."""
        if expression.function == "is_null":
            return Printed(f"{to_text(expression.arguments[0])} == nullptr", "bool", EQUAL)
        arguments = [self.show(argument) for argument in expression.arguments]
        if expression.function == "where":
            integral = arguments[1].kind == arguments[2].kind == "integer"
            first, second = arguments[1:] if integral else map(as_double, arguments[1:])
            text = f"{wrap(arguments[0], OR)} ? {wrap(first, OR)} : {wrap(second, TERNARY)}"
            return Printed(text, "integer" if integral else "float", TERNARY)
        arguments = [as_double(argument) for argument in arguments]
        if expression.function in ("sqrt", "abs", "exp", "log"):
            return Printed(f"std::{expression.function}({arguments[0].text})", "float")
        raise UnsupportedExpressionError(f"'{expression.function}' of parameters")


def as_double(printed: Printed) -> Printed:
    """A host value as double."""
    if printed.kind == "float":
        return printed
    if printed.text.isdigit():
        return Printed(f"{printed.text}.0", "float")
    return Printed(f"static_cast<double>({printed.text})", "float")
