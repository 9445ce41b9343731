"""Composite operators: functions that a vendor lacks, made of other public functions of the interface.

An elementwise operator is composed from its kernel in the spec; what is more than that is written by hand, in
`runtime/adaptor/include/diopigen/adaptor/composite/operators.h`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterator, Mapping

from diopigen.diagnostics import Failure, failure
from diopigen.emit.adaptor.shim import arguments, head
from diopigen.emit.c_text import COLUMNS, call_lines
from diopigen.emit.constraint_forms import plain_condition
from diopigen.emit.cpu.kernels import rule_operands
from diopigen.emit.escaping import c_string
from diopigen.ir.enumerators import dtype_codes
from diopigen.ir.model import FROM_KERNEL, DtypeList, DtypeRule, Function, Interface, Parameter
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary

RULES = {
    "adaptors-composite": "A kernel that replaces an operator that a vendor lacks can be said by others.",
}

_SAME = re.compile(r"same\((\w+)\)")
_POINTERS = frozenset({"tensor", "scalar", "string", "generator"})
# By the text of a constraint: the condition, in C++, that breaks it.
_FUNCTIONS = {
    "abs": "absolute",
    "sqrt": "squareRoot",
    "exp": "exponential",
    "log": "logarithm",
    "sigmoid": "sigmoid",
    "erfc": "complementaryError",
    "min": "minimum",
    "max": "maximum",
}
_CONSTANTS = {"pi": math.pi}
_PRECEDENCE = {"<": 1, "+": 2, "-": 2, "*": 3, "/": 3}
_TIGHTEST = 4
_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
_INDENT = "    "


def composite_names(interface: Interface) -> frozenset[str]:
    """The functions that have a composite implementation."""
    return frozenset(function.name for function in interface.functions if function.composite)


def composite_definition(function: Function, interface: Interface) -> str:
    """The definition of the public function. A kernel that cannot be composed raises `Failure` at its place."""
    written = [param for param in function.params if param.type == "tensor" and param.is_written]
    if not written:
        message = f"{function.name} is composed of other operators, but writes no tensor"
        raise failure("adaptors-composite", message, function.span, "give its output the direction 'out'")
    out = next((param for param in written if param.name in ("out", "attention_out")), written[0])
    lines = [f'Composite c(helpers, ctx, "{function.name}", "{out.name}", {out.name});']
    lines += _demands(function, out, interface)
    if function.composite != FROM_KERNEL:
        start = f"diopigen::adaptor::composite::{function.composite}"
        lines += call_lines(start, ["c", *arguments(function)[1:]], ";", COLUMNS - 4).split("\n")
    else:
        lines += _checks(function)
        lines.append(_promotion(function, out, interface))
        lines += _from_kernel(function)
    lines.append("return c.finish();")
    body = [f"{_INDENT}{line}" for line in lines]
    tail = ["} catch (...) {", f'{_INDENT}return caught(helpers, "{function.name}");', "}"]
    return "\n".join([head(function, " try {"), *body, *tail])


def _demands(function: Function, out: Parameter, interface: Interface) -> Iterator[str]:
    """Checks of single parameters before anything is computed: presence and dtypes."""
    known_dtypes = {info.name for info in interface.dtypes}
    for param in function.params:
        if param.type in _POINTERS and not param.nullable and param is not out:
            yield f'c.notNull("{param.name}", {param.name});'
    for param in function.params:
        if param.type == "string" and param.values:
            known = ", ".join(c_string(value) for value in param.values)
            yield f'c.oneOf("{param.name}", {param.name}, {{{known}}});'
        if param.type != "tensor":
            continue
        if isinstance(param.dtype, DtypeList) and set(param.dtype.dtypes) < set(known_dtypes):
            yield f'c.accept("{param.name}", {param.name}, {_mask(param.dtype, interface)});'
        elif isinstance(param.dtype, DtypeRule) and (same := _SAME.fullmatch(param.dtype.formula.text)):
            yield f'c.acceptSame("{param.name}", {param.name}, {same[1]});'


def _mask(dtypes: DtypeList, interface: Interface) -> str:
    """A bit for each dtype, at the place that the enumeration gives it."""
    found = dtype_codes(interface)
    return f"0x{sum(1 << found[name] for name in dtypes.dtypes):x}"


def _violated(predicate: Expression) -> str:
    """The condition under which a predicate over nulls does not hold; an empty text for any other predicate."""
    if isinstance(predicate, Unary) and isinstance(predicate.operand, Call) and predicate.operand.function == "is_null":
        (operand,) = predicate.operand.arguments
        return f"{operand.name} == nullptr" if isinstance(operand, Name) else ""
    if isinstance(predicate, Binary) and predicate.operator == "or":
        sides = [_violated(predicate.left), _violated(predicate.right)]
        return " && ".join(sides) if all(sides) else ""
    return ""


def _checks(function: Function) -> Iterator[str]:
    """The constraints that the functions below do not know of."""
    for constraint in function.constraints:
        predicate = plain_condition(function, constraint)
        broken = _violated(predicate) if predicate is not None else ""
        if broken:
            yield f"if ({broken}) {{"
            yield f"{_INDENT}c.reject({constraint.error}, {c_string(f'{constraint.id}: {constraint.text}')});"
            yield "}"


def _promotion(function: Function, out: Parameter, interface: Interface) -> str:
    """The statement that sets the dtype to compute in: that of the output of the operator's first function."""
    family = [other for other in interface.functions if other.operator == function.operator]
    base = next((param for other in family for param in other.params if param.direction == "out"), None)
    if base is None or not isinstance(base.dtype, DtypeRule):
        message = f"no output of {function.operator} has a rule for its dtype, in which {function.name} could compute"
        raise failure("adaptors-composite", message, function.span, "write such a rule, as in promote(input, other)")
    names = [name for name in rule_operands(base.dtype.formula.expression) if function.param(name) is not None]
    return f"c.computeIn({out.name}, {{{', '.join(f'c.operand({name})' for name in names)}}});"


def _from_kernel(function: Function) -> Iterator[str]:
    kernel = function.kernel
    if kernel is None:
        message = f"{function.name} is composed from its kernel, and has none"
        fix = "restore the kernel, or remove 'composite' from the entry"
        raise failure("adaptors-composite", message, function.span, fix)
    lets = {name: formula.expression for name, formula in kernel.lets}
    used = _names_in([*lets.values(), *(formula.expression for _, formula in kernel.results)])
    names: dict[str, str] = {}
    for param in function.params:
        if param.name in used and (param.type == "scalar" or (param.type == "tensor" and param.is_read)):
            names[param.name] = f"{param.name}Value"
            yield f"const Value {param.name}Value = {_read(param)};"
    printer = _Printer(function, names)
    for name, formula in kernel.results:
        yield from _store(name, formula.expression, lets, printer)


def _store(out: str, expression: Expression, lets: Mapping[str, Expression], printer: _Printer) -> Iterator[str]:
    """The statements that compute and store a result: what is known before any element is a branch."""
    if isinstance(expression, Call) and expression.function == "where":
        condition, yes, no = expression.arguments
        known = printer.known(condition)
        if known is not None:
            yield f"if ({known}) {{"
            yield from (f"{_INDENT}{line}" for line in _store(out, yes, lets, printer))
            yield "} else {"
            yield from (f"{_INDENT}{line}" for line in _store(out, no, lets, printer))
            yield "}"
            return
        yield f"const Value condition = {printer.text(condition)};"
        yield f"const Value yes = {printer.text(yes)};"
        yield f"const Value no = {printer.text(no)};"
        yield f"c.store({out}, where(condition, yes, no));"
        return
    # Named values of the kernel are computed in the branch that asks for them.
    for name in [name for name in lets if name in _names_in([expression])]:
        printer.names[name] = f"{name}Value"
        yield f"const Value {name}Value = {printer.text(lets[name])};"
    yield f"c.store({out}, {printer.text(expression)});"


def _read(param: Parameter) -> str:
    if param.type == "tensor":
        return f"c.tensor({param.name})"
    if param.nullable:
        return f"{param.name} == nullptr ? c.number(0.0) : c.number({param.name})"
    return f"c.number({param.name})"


def _names_in(expressions: list[Expression]) -> set[str]:
    found: set[str] = set()
    for expression in expressions:
        if isinstance(expression, Name):
            found.add(expression.name)
        elif isinstance(expression, Unary):
            found |= _names_in([expression.operand])
        elif isinstance(expression, Binary):
            found |= _names_in([expression.left, expression.right])
        elif isinstance(expression, Call) and expression.function != "is_null":
            found |= _names_in(list(expression.arguments))
    return found


class _Printer:
    """Kernel expressions as C++ over `Value`."""

    def __init__(self, function: Function, names: dict[str, str]) -> None:
        self._function = function
        self.names = names

    def text(self, expression: Expression) -> str:
        """The C++ of an expression; what holds only numbers is computed here."""
        number = _number(expression)
        if number is not None:
            return repr(number)
        if isinstance(expression, Name) and expression.name in self.names:
            return self.names[expression.name]
        if isinstance(expression, Unary) and expression.operator == "-":
            return f"-{self._operand(expression.operand, _TIGHTEST)}"
        if isinstance(expression, Binary) and expression.operator in _PRECEDENCE:
            own = _PRECEDENCE[expression.operator]
            left = self._operand(expression.left, own)
            return f"{left} {expression.operator} {self._operand(expression.right, own + 1)}"
        if isinstance(expression, Call) and expression.function in _FUNCTIONS:
            arguments = ", ".join(self.text(argument) for argument in expression.arguments)
            return f"{_FUNCTIONS[expression.function]}({arguments})"
        raise self._unsupported()

    def _operand(self, expression: Expression, least: int) -> str:
        """An operand, in parentheses where it binds less than `least`."""
        text = self.text(expression)
        binds = _PRECEDENCE.get(expression.operator, 0) if isinstance(expression, Binary) else _TIGHTEST
        return text if binds >= least or _number(expression) is not None else f"({text})"

    def known(self, condition: Expression) -> str | None:
        """A condition that does not depend on elements, as C++."""
        if isinstance(condition, Call) and condition.function == "is_null":
            name = condition.arguments[0]
            assert isinstance(name, Name)
            return f"{name.name} == nullptr"
        if isinstance(condition, Binary) and condition.operator == "==" and isinstance(condition.right, Text):
            assert isinstance(condition.left, Name)
            text = condition.left.name
            return f"{text} != nullptr && std::strcmp({text}, {c_string(condition.right.value)}) == 0"
        return None

    def _unsupported(self) -> Failure:
        assert self._function.kernel is not None
        message = f"the kernel of {self._function.name} has a part that no composite can be made of"
        fix = "remove 'composite' from the entry, or name a C++ function there"
        return failure("adaptors-composite", message, self._function.kernel.span, fix)


def _number(expression: Expression) -> float | None:
    """The value of an expression of numbers alone."""
    if isinstance(expression, Number):
        return float(expression.value)
    if isinstance(expression, Name):
        return _CONSTANTS.get(expression.name)
    if isinstance(expression, Call) and expression.function == "sqrt":
        argument = _number(expression.arguments[0])
        return None if argument is None else math.sqrt(argument)
    if isinstance(expression, Binary) and expression.operator in _OPERATORS:
        left, right = _number(expression.left), _number(expression.right)
        return None if left is None or right is None else _OPERATORS[expression.operator](left, right)
    return None
