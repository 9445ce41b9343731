"""Statements of a printed loop, cut into lines that fit.

A statement that would be too long hands its largest part that fits to a constant of its own, which reads better than a
broken line and needs no knowledge of how a formatter breaks expressions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.emit.c_text import COLUMNS
from diopigen.emit.cpp_text import Printed
from diopigen.emit.element_expression import ElementPrinter
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary, walk


@dataclass(slots=True)
class Statement:
    """`const T target = value;`, or `target = value;` where it stores a result."""

    target: str
    expression: Expression
    is_store: bool = False
    printed: Printed | None = field(default=None)

    def line(self, types: Mapping[str, str]) -> str:
        """The C++ statement; empty for a value that is never used in a loop."""
        assert self.printed is not None
        if self.is_store:
            return f"{self.target} = {self.printed.text};"
        return f"const {types[self.printed.kind]} {self.target} = {self.printed.text};"


def fit(statements: list[Statement], printer: ElementPrinter, position: int, indent: int) -> str:
    """Prints the statement at `position`, with helpers in front of it where it is too long; the kind of its value."""
    statement = statements[position]
    part = 0
    while True:
        printed = printer.show(statement.expression)
        if statement.is_store:
            printed = as_stored(printer, printed)
        elif printed.kind == "integer":
            printed = printer.element(printed)
        statement.printed = printed
        types = {"element": "T", "real": "Real<T>", "bool": "bool", "pair": printer.backend.pair}
        if indent + len(statement.line(types)) <= COLUMNS:
            break
        largest = _largest_part(statement.expression, printer, COLUMNS - indent - 30)
        if largest is None:
            break
        part += 1
        stem = statement.target.partition("[")[0].removesuffix("_value").removesuffix("_out")
        name = f"{stem}_part{part}"
        helper = Statement(name, largest)
        helper.printed = printer.show(largest)
        printer.lets[name] = helper.printed.kind
        statement.expression = _replaced(statement.expression, largest, Name(name))
        statements.insert(position, helper)
        position += 1
    return printed.kind if not statement.is_store or printed.kind != "stored" else "bool"


def as_stored(printer: ElementPrinter, printed: Printed) -> Printed:
    """A value as it is stored: bools as Bool, whole numbers as T."""
    if printed.kind == "bool":
        return Printed(f"Bool({printed.text})", "bool")
    return printer.element(printed) if printed.kind in ("integer", "float") else printed


def _largest_part(expression: Expression, printer: ElementPrinter, limit: int) -> Expression | None:
    """The longest proper part that is worth a name: it is computed from elements, and fits a line."""
    best: Expression | None = None
    best_length = 0
    for part in walk(expression):
        if part is expression or not isinstance(part, (Binary, Call, Unary)) or printer.is_uniform(part):
            continue
        length = len(printer.show(part).text)
        if best_length < length <= limit:
            best, best_length = part, length
    return best


def _replaced(expression: Expression, old: Expression, new: Expression) -> Expression:
    if expression == old:
        return new
    if isinstance(expression, Unary):
        return Unary(expression.operator, _replaced(expression.operand, old, new), expression.offset)
    if isinstance(expression, Binary):
        left, right = _replaced(expression.left, old, new), _replaced(expression.right, old, new)
        return Binary(expression.operator, left, right, expression.offset)
    if isinstance(expression, Call):
        arguments = tuple(_replaced(argument, old, new) for argument in expression.arguments)
        return Call(expression.function, arguments, expression.offset)
    return expression
