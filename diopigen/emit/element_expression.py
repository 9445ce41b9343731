"""Kernel expressions as C++: the body of a loop over elements of the compute type `T`.

Uniform parts of a loop become its constants.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.emit.cpp_text import (
    COMPARISONS,
    LOGICAL,
    NAMED_OPERATORS,
    OF_ELEMENTS,
    OR,
    PREFIX,
    TERNARY,
    Backend,
    Printed,
    UnsupportedExpressionError,
    infix,
    is_literal,
    literal_value,
    wrap,
)
from diopigen.emit.host_expression import HostPrinter
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary, to_text, walk

PREDICATES = frozenset({"isnan", "isinf", "isfinite", "is_integral", "to_bool"})
_REAL_PARTS = frozenset({"abs", "real", "imag"})
_PAIRS = frozenset({"complex", "polar"})


@dataclass(slots=True)
class Constant:
    """A uniform part of a loop: its name there, the expression, and its kind."""

    name: str
    expression: Expression
    kind: str


@dataclass(slots=True)
class ElementPrinter:
    """Prints the body of a loop. `arrays` maps operands to `element` or `bool` (arrays of Bool)."""

    backend: Backend
    host: HostPrinter
    arrays: Mapping[str, str]
    lets: dict[str, str] = field(default_factory=dict)
    has_complex: bool = False
    constants: list[Constant] = field(default_factory=list)
    coordinates: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def is_uniform(self, expression: Expression) -> bool:
        """Returns whether no element and no coordinate takes part."""
        for part in walk(expression):
            if isinstance(part, Name) and (part.name in self.arrays or part.name in self.lets):
                return self._is_null_only(expression)
            if isinstance(part, Call) and part.function in ("index", "linear_index"):
                return False
        return True

    def _is_null_only(self, expression: Expression) -> bool:
        """Returns whether arrays occur only as `is_null(array)`."""
        if isinstance(expression, Call):
            if expression.function == "is_null":
                return True
            return expression.function not in ("index", "linear_index") and all(
                self.is_uniform(argument) for argument in expression.arguments
            )
        if isinstance(expression, Binary):
            return self.is_uniform(expression.left) and self.is_uniform(expression.right)
        if isinstance(expression, Unary):
            return self.is_uniform(expression.operand)
        return False

    def show(self, expression: Expression) -> Printed:
        """The C++ text of the expression for element i. Raises `UnsupportedExpressionError`."""
        if is_literal(expression):
            return self.host.show(expression)
        if self.is_uniform(expression):
            return self.constant(expression)
        if isinstance(expression, Name):
            if expression.name in self.arrays:
                return Printed(expression.name + self.backend.subscript, self.arrays[expression.name])
            return Printed(expression.name, self.lets[expression.name])
        if isinstance(expression, Unary):
            operand = self.show(expression.operand)
            if expression.operator == "not":
                return Printed("!" + wrap(self.as_bool(operand), PREFIX), "bool", PREFIX)
            return Printed(expression.operator + wrap(operand, PREFIX), operand.kind, PREFIX)
        if isinstance(expression, Binary):
            return self.binary(expression.operator, self.show(expression.left), self.show(expression.right))
        if isinstance(expression, Call):
            return self.call(expression)
        raise UnsupportedExpressionError(f"'{to_text(expression)}' for elements")

    def constant(self, expression: Expression) -> Printed:
        """A uniform part, as a constant of the loop."""
        for known in self.constants:
            if known.expression == expression:
                return Printed(known.name, known.kind)
        is_scalar = isinstance(expression, Name) and expression.name in self.host.params
        kind = self.host.show(expression).kind
        if kind in ("text", "enum"):
            raise UnsupportedExpressionError(f"'{to_text(expression)}' for elements")
        kind = "element" if kind == "float" else kind
        stem = "condition" if kind == "bool" else "factor"
        number = 1 + sum(constant.name.startswith(stem) for constant in self.constants)
        name = to_text(expression) if is_scalar else f"{stem}{number}"
        while not is_scalar and name in self.taken:
            name += "_"
        self.constants.append(Constant(name, expression, kind))
        return Printed(name, kind)

    def element(self, printed: Printed) -> Printed:
        """The value as T."""
        if printed.kind in ("element", "pair"):
            return printed
        return Printed(f"T({printed.text})", "element")

    def real(self, printed: Printed) -> Printed:
        """The value as the real part's type."""
        return printed if printed.kind == "real" else Printed(f"Real<T>({printed.text})", "real")

    def as_bool(self, printed: Printed) -> Printed:
        """The value as bool."""
        if printed.kind == "bool":
            return printed
        return Printed(f"{self.backend.name('to_bool')}({printed.text})", "bool")

    def common(self, left: Printed, right: Printed) -> tuple[Printed, Printed, str]:
        """Both operands in one kind."""
        kinds = {left.kind, right.kind}
        if kinds <= {"integer"}:
            return left, right, "integer"
        if "real" in kinds and "element" not in kinds:
            return self.real(left), self.real(right), "real"
        if "pair" in kinds:
            return left, right, "pair"
        return self.element(left), self.element(right), "element"

    def binary(self, operator: str, left: Printed, right: Printed) -> Printed:
        """An infix operator of two values."""
        if operator in LOGICAL:
            return Printed(f"{OF_ELEMENTS[operator]}({self.as_bool(left).text}, {self.as_bool(right).text})", "bool")
        if operator in ("/", "**", "//", "%"):
            left, right, kind = self.element(left), self.element(right), "element"
        else:
            left, right, kind = self.common(left, right)
        if operator in NAMED_OPERATORS:
            return Printed(f"{self.backend.name(operator)}({left.text}, {right.text})", kind)
        return infix(operator, left, right, "bool" if operator in COMPARISONS else kind)

    def call(self, expression: Call) -> Printed:
        """A function of the expression language."""
        function = expression.function
        if function in ("index", "linear_index"):
            return self.coordinate(expression)
        arguments = [self.show(argument) for argument in expression.arguments]
        if function == "where":
            condition = self.as_bool(arguments[0])
            if {arguments[1].kind, arguments[2].kind} == {"bool"}:
                first, second, kind = arguments[1], arguments[2], "bool"
            else:
                first, second, kind = self.common(arguments[1], arguments[2])
            if kind in ("element", "real") and not self.is_uniform(expression.arguments[0]):
                return Printed(f"where({condition.text}, {first.text}, {second.text})", kind)
            text = f"{wrap(condition, OR)} ? {wrap(first, OR)} : {wrap(second, TERNARY)}"
            return Printed(text, kind, TERNARY)
        if function == "to_bool":
            return self.as_bool(arguments[0])
        if function in ("to_int", "is_integral"):
            raise UnsupportedExpressionError(f"'{function}'")
        if function == "to_float":
            return self.element(arguments[0])
        arguments = [self.element(argument) for argument in arguments]
        text = f"{self.backend.name(function)}({', '.join(argument.text for argument in arguments)})"
        if function in PREDICATES:
            return Printed(text, "bool")
        if function in _REAL_PARTS and self.has_complex:
            return Printed(text, "real")
        return Printed(text, "pair" if function in _PAIRS else "element")

    def coordinate(self, expression: Call) -> Printed:
        """The coordinate of element i in a dimension, or its position in row-major order."""
        if expression.function == "linear_index":
            source, name = self.backend.coordinates[0], "position"
        else:
            dim = literal_value(expression.arguments[0])
            source = self.backend.coordinates[1].format(dim)
            name = {-1: "column", -2: "row"}.get(int(dim), f"coordinate{int(dim)}".replace("-", "_"))
        self.coordinates[name] = source
        return Printed(name + self.backend.subscript, "integer")
