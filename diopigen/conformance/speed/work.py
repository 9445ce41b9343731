"""The work that no kernel can avoid in a call: bytes that are moved, and arithmetic operations.

Both are lower bounds, so that a time below them cannot be true. Each input is read once and each output is written
once, by its own shape: an operand that is broadcast counts once. `work` in the spec says where a kernel needs fewer
elements. A tensor that is written in place or in part counts where the operator is elementwise, or `work` says so.
Operations are those of the `kernel` expression, or of `work`; other operators have bytes alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from diopigen.conformance.cases.described import described
from diopigen.conformance.dtypes import STORAGE
from diopigen.conformance.model import Case, Operand, operands_of
from diopigen.contract.arguments import Undefined
from diopigen.contract.evaluate import Arguments, Contract
from diopigen.contract.shapes import broadcast
from diopigen.ir.model import Function, Kernel, Parameter
from diopigen.spec.expression import Binary, Call, Expression, Name, Unary, walk
from diopigen.spec.grammar_operators import OPERATIONS

_FREE = frozenset({
    "where", "is_null", "index", "linear_index", "to_float", "to_int", "to_bool", "conj", "real", "imag", "complex",
})  # fmt: skip
"""Functions of kernels without arithmetic: selections, conversions, and names of what is there."""
_FREE_OPERATORS = frozenset({"and", "or"})


@dataclass(frozen=True, slots=True)
class Work:
    """Bytes that a call reads and writes and operations that it makes, at least; None where the spec does not tell."""

    read: int
    written: int
    operations: float | None

    @property
    def bytes(self) -> int:
        """Bytes that are moved."""
        return self.read + self.written


def work_of(function: Function, case: Case) -> Work:
    """The work of a call."""
    arguments = Arguments(function, described(case), Contract(function))
    bounds = {name: _value(arguments, formula.expression) for name, formula in function.work}
    moved = [_moved(param, case, function, bounds.get(param.name)) for param in function.params]
    operations = bounds.get(OPERATIONS)
    if operations is None and function.kernel is not None and OPERATIONS not in bounds:
        operations = _of_kernel(function.kernel, case)
    return Work(sum(read for read, _ in moved), sum(written for _, written in moved), operations)


def _value(arguments: Arguments, expression: Expression) -> float | None:
    try:
        found = arguments.value(expression)
    except (Undefined, ArithmeticError):
        return None
    return float(found) if isinstance(found, (int, float)) and math.isfinite(found) else None


def _moved(param: Parameter, case: Case, function: Function, elements: float | None) -> tuple[int, int]:
    """Bytes of a parameter that are read and that are written."""
    operands = [one for one in operands_of([case.arguments.get(param.name)]) if one.dtype in STORAGE]
    if not operands or param.sparse:
        return 0, 0
    is_whole = param.direction in ("in", "out") or (param.direction == "inout" and function.kernel is not None)
    if elements is not None:
        total = int(elements * STORAGE[operands[0].dtype].itemsize)
        return (0, total) if param.direction == "out" else (total, 0)
    total = sum(math.prod(one.shape) * STORAGE[one.dtype].itemsize for one in operands) if is_whole else 0
    return total if param.is_read else 0, total if param.is_written else 0


def _of_kernel(kernel: Kernel, case: Case) -> float:
    """Each operation of the expressions counts for the elements of what it reads: one over numbers counts nothing, and
    one over a broadcast operand that operand's elements. Of the branches of `where` the cheaper one counts."""
    operands = {name: list(operands_of([value])) for name, value in case.arguments.items()}
    lets = {name: formula.expression for name, formula in kernel.lets}
    counter = _Counter({name: found for name, found in operands.items() if found}, lets)
    total = 0.0
    for name, formula in kernel.results:
        if operands.get(name):
            total += counter.cost(formula.expression)
    while counter.needed:
        total += counter.cost(lets[counter.needed.pop()])
    return total


class _Counter:
    """Counts the operations of expressions. `needed` are named values that are read whatever the branches are."""

    def __init__(self, operands: Mapping[str, list[Operand]], lets: Mapping[str, Expression]) -> None:
        self.operands, self.lets = operands, lets
        self.needed: set[str] = set()
        self._counted: set[str] = set()

    def cost(self, expression: Expression, *, surely: bool = True) -> float:
        """The operations of an expression; `surely` if it is evaluated whatever the elements are."""
        if isinstance(expression, Name):
            if surely and expression.name in self.lets and expression.name not in self._counted:
                self._counted.add(expression.name)
                self.needed.add(expression.name)
            return 0.0
        if isinstance(expression, Unary):
            return self.cost(expression.operand, surely=surely)
        if isinstance(expression, Binary):
            below = [self.cost(one, surely=surely) for one in (expression.left, expression.right)]
            return sum(below) + (0.0 if expression.operator in _FREE_OPERATORS else self._elements(expression))
        if not isinstance(expression, Call):
            return 0.0
        if expression.function == "where":
            branches = [self.cost(one, surely=False) for one in expression.arguments[1:]]
            return self.cost(expression.arguments[0], surely=surely) + min(branches)
        below = [self.cost(one, surely=surely) for one in expression.arguments]
        return sum(below) + (0.0 if expression.function in _FREE else self._elements(expression))

    def _elements(self, expression: Expression) -> float:
        """The elements that an operation has, of the tensors that it reads."""
        names: set[str] = set()
        self._read(expression, names)
        tensors = [self.operands[name] for name in names]
        if any(len(one) != 1 for one in tensors):
            return max(float(sum(math.prod(member.shape) for member in one)) for one in tensors)
        return float(math.prod(broadcast(*(one[0].shape for one in tensors)))) if tensors else 0.0

    def _read(self, expression: Expression, names: set[str]) -> None:
        for part in walk(expression):
            if isinstance(part, Name) and part.name in self.operands:
                names.add(part.name)
            elif isinstance(part, Name) and part.name in self.lets:
                self._read(self.lets[part.name], names)
