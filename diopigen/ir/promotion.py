"""The dtype that a kernel computes in: which operands decide it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diopigen.ir.model import DtypeRule, Function, Kernel, Parameter
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary, walk

_JUMPS = frozenset({"==", "!=", "<", "<=", ">", ">=", "%"})
"""Operators that are not continuous, and before which PyTorch rounds numbers. Before a rounded quotient it does not."""


def rounded_numbers(function: Function) -> tuple[str, ...]:
    """The numbers that are rounded to the dtype of the tensors that they are promoted with, before the computation.

    The smallest change of such a number can change the result at will, so that it has the dtype of the operands, and
    not that of the computation: 0.3 equals float16(0.3) in float16.
    """
    kernel = function.kernel
    if kernel is None:
        return ()
    numbers = [param.name for param in function.params if param.type == "scalar" and param.name in kernel.promoted]
    parts = [part for _, formula in (*kernel.lets, *kernel.results) for part in walk(formula.expression)]
    jumping = [part for part in parts if isinstance(part, Binary) and part.operator in _JUMPS]
    return tuple(name for name in numbers if any(Name(name) in walk(part) for part in jumping))


def promoted(kernel: Kernel, params: Iterable[Parameter]) -> tuple[str, ...]:
    """The operands of an operator (not of its variants) whose dtypes are promoted to the compute dtype.

    They are what the dtype rule of the first output names. Without a rule they are all tensors that the kernel computes
    with; a tensor that is only tested for truth (a mask, an operand of `and`) does not count. None: the dtype of the
    output decides.
    """
    known = tuple(params)
    output = next((param for param in known if param.is_written), None)
    if output is not None and isinstance(output.dtype, DtypeRule):
        return tuple(part.name for part in walk(output.dtype.formula.expression) if isinstance(part, Name))
    used = {name for _, formula in (*kernel.lets, *kernel.results) for name in computed_with(formula.expression)}
    tensors = (param for param in known if param.type in ("tensor", "tensors") and param.is_read)
    return tuple(param.name for param in tensors if param.name in used)


def computed_with(expression: Expression) -> Iterator[str]:
    """The names in an expression that are more than tested for truth or for null."""
    if isinstance(expression, Name):
        yield expression.name
        return
    parts: tuple[Expression, ...] = ()
    tested: tuple[Expression, ...] = ()
    if isinstance(expression, Unary):
        parts = (expression.operand,)
        tested = parts if expression.operator == "not" else ()
    elif isinstance(expression, Binary):
        parts = (expression.left, expression.right)
        tested = parts if expression.operator in ("and", "or") else ()
    elif isinstance(expression, Call) and expression.function != "is_null":
        parts = expression.arguments
        tested = parts[:1] if expression.function in ("where", "to_bool") else ()
    for part in parts:
        if not (isinstance(part, Name) and part in tested):
            yield from computed_with(part)
