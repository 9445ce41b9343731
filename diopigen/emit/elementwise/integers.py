"""Kernel expressions that compute integers and bools as they compute floating numbers.

Sums, products, comparisons and choices do. Quotients and transcendental functions do not: of integers, they are
floating, or have rules of their own about zero.
"""

from __future__ import annotations

from diopigen.emit.constraint_forms import check_of
from diopigen.emit.cpp_text import COMPARISONS, LOGICAL, is_literal, literal_value
from diopigen.emit.cpu.kernels import allowed
from diopigen.emit.element_expression import ElementPrinter
from diopigen.ir.model import DtypeList, DtypeRule, Function, Parameter
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
_FUNCTIONS = frozenset({"where", "min", "max", "abs", "sign", "to_bool", "is_null"})
_ARITHMETIC = frozenset({"+", "-", "*"})
_OPERATORS = _ARITHMETIC | COMPARISONS | LOGICAL
_DIVISIONS = frozenset({"/", "//", "%", "trunc_div", "floor_div"})
_BITS = frozenset({"&", "|", "^", "~"})


def takes_integers(function: Function, printer: ElementPrinter) -> bool:
    """Returns whether the kernel that `printer` knows computes tensors of every integral dtype in that dtype."""
    kernel = function.kernel
    assert kernel is not None
    formulas = [formula.expression for _, formula in (*kernel.lets, *kernel.results)]
    return _allow(function, INTEGERS) and all(_is_integral(function, each, printer) for each in formulas)


def divides_integers(function: Function, printer: ElementPrinter) -> bool:
    """The same where quotients are those of integers, of divisors that are not 0 (`nonzero`), and bits are combined."""
    kernel = function.kernel
    assert kernel is not None
    formulas = [formula.expression for _, formula in (*kernel.lets, *kernel.results)]
    return _allow(function, INTEGERS) and all(_is_integral(function, each, printer, True) for each in formulas)


def nonzero(function: Function) -> list[str]:
    """The operands that must not be 0 where the dtype is integral."""
    checks = [check_of(constraint) for constraint in function.constraints]
    return [name for check, names in checks if check == "reject_zero" for name in names]


def takes_bools(function: Function) -> bool:
    """Returns whether the tensors may be bools too; the kernel is one that takes integers."""
    return _allow(function, ("bool",))


def number_text(function: Function, expression: Expression) -> str | None:
    """The C++ text of a scalar argument, or of a sum or product of two, as a Number; None for anything else."""
    if isinstance(expression, Name):
        param = function.param(expression.name)
        return f"{expression.name}_number" if param is not None and param.type == "scalar" else None
    if isinstance(expression, Binary) and expression.operator in _ARITHMETIC:
        left, right = number_text(function, expression.left), number_text(function, expression.right)
        is_flat = not isinstance(expression.left, Binary) and not isinstance(expression.right, Binary)
        return f"{left} {expression.operator} {right}" if left and right and is_flat else None
    return None


def _allow(function: Function, dtypes: tuple[str, ...]) -> bool:
    """Returns whether all tensors may have each of the dtypes, but for those that are bools always."""
    tensors = [param for param in function.params if param.type == "tensor" and not _is_truth(param)]
    return all(_keeps(param) and set(dtypes) <= set(allowed(function, param)) for param in tensors)


def _is_truth(param: Parameter) -> bool:
    return isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) <= {"bool", "uint8"}


def _keeps(param: Parameter) -> bool:
    """Returns whether the dtype is free, or that of other tensors unchanged."""
    if not isinstance(param.dtype, DtypeRule):
        return True
    rule = param.dtype.formula.expression
    return isinstance(rule, Call) and rule.function in ("same", "promote", "to_real")


def _is_integral(function: Function, expression: Expression, printer: ElementPrinter, divides: bool = False) -> bool:
    if is_literal(expression):
        return isinstance(literal_value(expression), int)
    if printer.is_uniform(expression):
        is_plain = printer.host.show(expression).kind in ("bool", "integer")
        return is_plain or number_text(function, expression) is not None
    if isinstance(expression, Unary):
        is_known = divides or expression.operator not in _BITS
        return is_known and _is_integral(function, expression.operand, printer, divides)
    if isinstance(expression, Binary):
        sides = (expression.left, expression.right)
        operators = _OPERATORS | _DIVISIONS | _BITS if divides else _OPERATORS
        return expression.operator in operators and all(
            _is_integral(function, side, printer, divides) for side in sides
        )
    if isinstance(expression, Call):
        arguments = expression.arguments
        functions = _FUNCTIONS | _DIVISIONS if divides else _FUNCTIONS
        return expression.function in functions and all(
            _is_integral(function, each, printer, divides) for each in arguments
        )
    return isinstance(expression, Name)
