"""Kernel expressions as C++: one printer, and a table of names for each backend.

Two sorts of text come out. A uniform expression (no element of a tensor in it) is computed once per call, on the host,
in double or int64. Everything else is the body of a loop over elements of the compute type `T`. Uniform parts of a
loop become its constants.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.ir.kernels import CONSTANTS
from diopigen.ir.model import Formula, Parameter
from diopigen.ir.types import INTEGERS
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary, to_text, walk

# How strongly the C++ operators bind, weak to strong.
TERNARY, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, ORDER, SUM, PRODUCT, PREFIX, ATOM = range(12)

_STRENGTH = {
    "or": OR, "and": AND, "|": BIT_OR, "^": BIT_XOR, "&": BIT_AND, "==": EQUAL, "!=": EQUAL,
    "<": ORDER, "<=": ORDER, ">": ORDER, ">=": ORDER, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT,
}  # fmt: skip
_SPELLING = {"or": "||", "and": "&&", "not": "!"}
_LOGICAL = frozenset({"and", "or"})
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
# GCC and clang ask for parentheses where these meet.
_CONFUSABLE = {(OR, AND), (BIT_OR, BIT_XOR), (BIT_OR, BIT_AND), (BIT_XOR, BIT_AND)}

NAMED_OPERATORS = {"//": "floor_divide", "%": "remainder", "**": "power"}
"""Operators of the expression language that C++ has no operator for."""

FLOAT_FUNCTIONS = frozenset(
    {
        "sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
        "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "lgamma",
        "sigmoid", "reciprocal", "atan2", "hypot", "to_float"
    }
)  # fmt: skip
"""Functions that compute integral operands as float32."""

_PREDICATES = frozenset({"isnan", "isinf", "isfinite", "is_integral", "to_bool"})
_REAL_PARTS = frozenset({"abs", "real", "imag"})
_PAIRS = frozenset({"complex", "polar"})


@dataclass(frozen=True, slots=True)
class Backend:
    """How a backend spells the functions of kernel expressions; a name that is missing stays as it is."""

    names: Mapping[str, str]
    subscript: str = "[i]"
    """What makes an element of an operand's name: loops over arrays have a subscript, functions of one element none."""
    pair: str = "std::complex<T>"
    """The type of a complex number of two T."""
    coordinates: tuple[str, str] = ("block.linear()", "block.coordinate({})")
    """The position of an element in row-major order, and its coordinate in a dimension."""

    def name(self, function: str) -> str:
        """The C++ function for a function or operator of the expression language."""
        return self.names.get(function, NAMED_OPERATORS.get(function, function))


CPU = Backend(
    {"abs": "absolute", "min": "minimum", "max": "maximum", "trunc_div": "trunc_divide", "floor_div": "floor_divide",
     "pow": "power", "to_bool": "is_true"}
)  # fmt: skip
CUDA = Backend(CPU.names, "", "numeric::complex<T>", ("item.linear()", "item.coordinate({})"))


class Inexpressible(Exception):
    """The expression needs something that a printed kernel cannot do; the text says what."""


@dataclass(frozen=True, slots=True)
class Printed:
    """C++ text with what it is.

    `kind` is `element` (T), `real` (the real part's type), `pair` (complex of T), `truth` (bool), `whole` (int64_t),
    `float` (double, only on the host), `text` or `enum`.
    """

    text: str
    kind: str
    strength: int = ATOM


@dataclass(slots=True)
class Constant:
    """A uniform part of a loop: its name there, the expression, and its kind."""

    name: str
    expression: Expression
    kind: str


def is_literal(expression: Expression) -> bool:
    """Whether the expression has a value that is known now: numbers and constants only."""
    names = [part.name for part in walk(expression) if isinstance(part, Name)]
    functions = [part.function for part in walk(expression) if isinstance(part, Call)]
    if any(isinstance(part, Text) for part in walk(expression)):
        return False
    return all(name in CONSTANTS for name in names) and all(name == "sqrt" for name in functions)


def literal_value(expression: Expression) -> float | int | bool:
    """The value of a literal expression."""
    if isinstance(expression, Number):
        return expression.value
    if isinstance(expression, Name):
        return CONSTANTS[expression.name]
    if isinstance(expression, Unary) and expression.operator == "-":
        return -literal_value(expression.operand)
    if isinstance(expression, Call) and expression.function == "sqrt":
        return math.sqrt(literal_value(expression.arguments[0]))
    if isinstance(expression, Binary):
        left, right = literal_value(expression.left), literal_value(expression.right)
        operations = {"+": left + right, "-": left - right, "*": left * right}
        if expression.operator in operations:
            return operations[expression.operator]
        if expression.operator == "/":
            return left / right
    raise Inexpressible(f"the value of '{to_text(expression)}'")


def literal_text(value: float | int | bool) -> str:
    """A number as a C++ literal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        limit = "quiet_NaN" if math.isnan(value) else "infinity"
        return f"{'-' if value < 0 else ''}std::numeric_limits<double>::{limit}()"
    return repr(value)


def wrap(printed: Printed, weakest: int) -> str:
    """The text, in parentheses where it binds more weakly than `weakest`."""
    return f"({printed.text})" if printed.strength < weakest else printed.text


def infix(operator: str, left: Printed, right: Printed, kind: str) -> Printed:
    """`left operator right` with the parentheses that C++ needs and those that compilers ask for."""
    strength = _STRENGTH[operator]
    texts = []
    for side, weakest in ((left, strength), (right, strength + 1)):
        confusing = (strength, side.strength) in _CONFUSABLE
        texts.append(f"({side.text})" if confusing else wrap(side, weakest))
    return Printed(f"{texts[0]} {_SPELLING.get(operator, operator)} {texts[1]}", kind, strength)


class HostPrinter:
    """Prints uniform expressions for the host's side of a call."""

    def __init__(self, backend: Backend, params: Mapping[str, Parameter], lets: Mapping[str, Expression]) -> None:
        self.backend = backend
        self.params = params
        self.lets = lets

    def show(self, expression: Expression) -> Printed:
        """The C++ text of a uniform expression. Raises `Inexpressible`."""
        if is_literal(expression):
            value = literal_value(expression)
            kind = "truth" if isinstance(value, bool) else "whole" if isinstance(value, int) else "float"
            negative = not isinstance(value, bool) and value < 0
            return Printed(literal_text(value), kind, PREFIX if negative else ATOM)
        if isinstance(expression, Text):
            return Printed(f'"{expression.value}"', "text")
        if isinstance(expression, Name):
            return self.name(expression.name)
        if isinstance(expression, Unary):
            operand = self.show(expression.operand)
            kind = "truth" if expression.operator == "not" else operand.kind
            sign = _SPELLING.get(expression.operator, expression.operator)
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
            return Printed(name, "whole")
        return Printed(name, {"bool": "truth", "string": "text"}.get(param.type, "enum"))

    def binary(self, expression: Binary) -> Printed:
        """An infix operator; division and powers are computed in double."""
        left, right = self.show(expression.left), self.show(expression.right)
        operator = expression.operator
        if "text" in (left.kind, right.kind):
            if left.kind == "text" and left.text[0] != '"':
                left = Printed(f"std::string_view({left.text})", "text")
            return infix(operator, left, right, "truth")
        if operator in _LOGICAL or operator in _COMPARISONS:
            return infix(operator, left, right, "truth")
        whole = left.kind == right.kind == "whole"
        if operator == "**":
            return Printed(f"std::pow({as_double(left).text}, {as_double(right).text})", "float")
        if operator == "//" and whole:
            text = f"floor_divide(Int64({left.text}), Int64({right.text})).value"
            return Printed(text, "whole")
        if operator == "/":
            return infix(operator, as_double(left), as_double(right), "float")
        if operator in ("+", "-", "*"):
            if not whole:
                left, right = as_double(left), as_double(right)
            return infix(operator, left, right, "whole" if whole else "float")
        raise Inexpressible(f"'{operator}' on parameters")

    def call(self, expression: Call) -> Printed:
        """A function of uniform operands."""
        if expression.function == "is_null":
            return Printed(f"{to_text(expression.arguments[0])} == nullptr", "truth", EQUAL)
        arguments = [self.show(argument) for argument in expression.arguments]
        if expression.function == "where":
            whole = arguments[1].kind == arguments[2].kind == "whole"
            first, second = arguments[1:] if whole else map(as_double, arguments[1:])
            text = f"{wrap(arguments[0], OR)} ? {wrap(first, OR)} : {wrap(second, TERNARY)}"
            return Printed(text, "whole" if whole else "float", TERNARY)
        arguments = [as_double(argument) for argument in arguments]
        if expression.function in ("sqrt", "abs", "exp", "log"):
            return Printed(f"std::{expression.function}({arguments[0].text})", "float")
        raise Inexpressible(f"'{expression.function}' of parameters")


def as_double(printed: Printed) -> Printed:
    """A host value as double."""
    if printed.kind == "float":
        return printed
    if printed.text.isdigit():
        return Printed(f"{printed.text}.0", "float")
    return Printed(f"static_cast<double>({printed.text})", "float")


@dataclass(slots=True)
class ElementPrinter:
    """Prints the body of a loop. `arrays` maps operands to `element` or `truth` (arrays of Bool)."""

    backend: Backend
    host: HostPrinter
    arrays: Mapping[str, str]
    lets: dict[str, str] = field(default_factory=dict)
    has_complex: bool = False
    constants: list[Constant] = field(default_factory=list)
    coordinates: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def is_uniform(self, expression: Expression) -> bool:
        """Whether no element and no coordinate takes part."""
        for part in walk(expression):
            if isinstance(part, Name) and (part.name in self.arrays or part.name in self.lets):
                return self._is_null_only(expression)
            if isinstance(part, Call) and part.function in ("index", "linear_index"):
                return False
        return True

    def _is_null_only(self, expression: Expression) -> bool:
        """Whether arrays occur only as `is_null(array)`."""
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
        """The C++ text of the expression for element i. Raises `Inexpressible`."""
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
                return Printed("!" + wrap(self.truth(operand), PREFIX), "truth", PREFIX)
            return Printed(expression.operator + wrap(operand, PREFIX), operand.kind, PREFIX)
        if isinstance(expression, Binary):
            return self.binary(expression.operator, self.show(expression.left), self.show(expression.right))
        if isinstance(expression, Call):
            return self.call(expression)
        raise Inexpressible(f"'{to_text(expression)}' for elements")

    def constant(self, expression: Expression) -> Printed:
        """A uniform part, as a constant of the loop."""
        for known in self.constants:
            if known.expression == expression:
                return Printed(known.name, known.kind)
        is_scalar = isinstance(expression, Name) and expression.name in self.host.params
        kind = self.host.show(expression).kind
        if kind in ("text", "enum"):
            raise Inexpressible(f"'{to_text(expression)}' for elements")
        kind = "element" if kind == "float" else kind
        stem = "condition" if kind == "truth" else "factor"
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

    def truth(self, printed: Printed) -> Printed:
        """The value as bool."""
        if printed.kind == "truth":
            return printed
        return Printed(f"{self.backend.name('to_bool')}({printed.text})", "truth")

    def common(self, left: Printed, right: Printed) -> tuple[Printed, Printed, str]:
        """Both operands in one kind."""
        kinds = {left.kind, right.kind}
        if kinds <= {"whole"}:
            return left, right, "whole"
        if "real" in kinds and "element" not in kinds:
            return self.real(left), self.real(right), "real"
        if "pair" in kinds:
            return left, right, "pair"
        return self.element(left), self.element(right), "element"

    def binary(self, operator: str, left: Printed, right: Printed) -> Printed:
        """An infix operator of two values."""
        if operator in _LOGICAL:
            return infix(operator, self.truth(left), self.truth(right), "truth")
        if operator in ("/", "**", "//", "%"):
            left, right, kind = self.element(left), self.element(right), "element"
        else:
            left, right, kind = self.common(left, right)
        if operator in NAMED_OPERATORS:
            return Printed(f"{self.backend.name(operator)}({left.text}, {right.text})", kind)
        return infix(operator, left, right, "truth" if operator in _COMPARISONS else kind)

    def call(self, expression: Call) -> Printed:
        """A function of the expression language."""
        function = expression.function
        if function in ("index", "linear_index"):
            return self.coordinate(expression)
        arguments = [self.show(argument) for argument in expression.arguments]
        if function == "where":
            condition = self.truth(arguments[0])
            if {arguments[1].kind, arguments[2].kind} == {"truth"}:
                first, second, kind = arguments[1], arguments[2], "truth"
            else:
                first, second, kind = self.common(arguments[1], arguments[2])
            if kind in ("element", "real") and not self.is_uniform(expression.arguments[0]):
                return Printed(f"where({condition.text}, {first.text}, {second.text})", kind)
            text = f"{wrap(condition, OR)} ? {wrap(first, OR)} : {wrap(second, TERNARY)}"
            return Printed(text, kind, TERNARY)
        if function == "to_bool":
            return self.truth(arguments[0])
        if function in ("to_int", "is_integral"):
            raise Inexpressible(f"'{function}'")
        if function == "to_float":
            return self.element(arguments[0])
        arguments = [self.element(argument) for argument in arguments]
        text = f"{self.backend.name(function)}({', '.join(argument.text for argument in arguments)})"
        if function in _PREDICATES:
            return Printed(text, "truth")
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
        return Printed(name + self.backend.subscript, "whole")


def needs_float(expression: Expression, printer: ElementPrinter, lets: Mapping[str, Formula]) -> bool | str:
    """Whether the kernel computes integral operands as float32: always, never, or a condition on the host's side."""
    if isinstance(expression, Name):
        if expression.name in lets and not printer.is_uniform(expression):
            return needs_float(lets[expression.name].expression, printer, lets)
        param = printer.host.params.get(expression.name)
        return expression.name not in printer.arrays and param is not None and param.type in ("float", "double")
    if isinstance(expression, (Number, Text)):
        return isinstance(expression, Number) and isinstance(expression.value, float)
    if isinstance(expression, Unary):
        return False if expression.operator == "not" else needs_float(expression.operand, printer, lets)
    if isinstance(expression, Binary):
        if expression.operator in _COMPARISONS or expression.operator in _LOGICAL:
            return False
        if expression.operator == "/":
            return True
        return _either(needs_float(expression.left, printer, lets), needs_float(expression.right, printer, lets))
    if expression.function in FLOAT_FUNCTIONS:
        return True
    if expression.function == "where":
        first = needs_float(expression.arguments[1], printer, lets)
        second = needs_float(expression.arguments[2], printer, lets)
        if first == second or not printer.is_uniform(expression.arguments[0]):
            return _either(first, second)
        condition = printer.host.show(expression.arguments[0])
        return _chosen(condition, first, second)
    if expression.function in ("is_null", "index", "linear_index") or expression.function in _PREDICATES:
        return False
    found: bool | str = False
    for argument in expression.arguments:
        found = _either(found, needs_float(argument, printer, lets))
    return found


def _either(left: bool | str, right: bool | str) -> bool | str:
    if left is True or right is True:
        return True
    if left is False:
        return right
    return left if right is False or right == left else f"({left}) || ({right})"


def _chosen(condition: Printed, first: bool | str, second: bool | str) -> bool | str:
    """`condition ? first : second` as a condition."""
    negated = f"!({condition.text})"
    if condition.strength == EQUAL and " == " in condition.text:
        negated = condition.text.replace(" == ", " != ")
    if second is True:
        return negated if first is False else f"{negated} || {first}"
    if second is False:
        return wrap(condition, AND) if first is True else f"{wrap(condition, AND)} && ({first})"
    return f"{negated} && {second}" if first is False else f"({negated} && {second}) || ({condition.text})"
