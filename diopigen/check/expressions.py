"""Kernel expressions: known operands and functions, right arity, kinds that fit."""

from __future__ import annotations

from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.clauses import Formula
from diopigen.ir.kernels import CONSTANTS, KERNEL_FUNCTIONS, KernelFunction
from diopigen.ir.model import BASE, DtypeList, Function, Latitude, Parameter
from diopigen.ir.types import NUMBERS
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary, head_length, walk

RULES = {
    "unknown-operand": "An operand of a kernel is a parameter, a named intermediate value or a constant.",
    "unknown-function": "A function of a kernel is in the table of kernel functions.",
    "kernel-arity": "A function of a kernel has as many arguments as it takes.",
    "kernel-kind": "Operands are of a kind that the operator or function takes.",
    "kernel-output": "A kernel writes every output of its operator, and nothing else.",
    "unused-let": "A named intermediate value is used.",
    "bad-latitude": "A latitude is of an operator with a kernel, for dtypes of a list, and says something.",
}

_LOGICAL = frozenset({"and", "or"})
_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_BITWISE = frozenset({"&", "|", "^"})


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for function in subject.functions:
        if function.kernel is not None:
            _Checker(subject, function, sink).run()
        if function.latitude is not None and function.variant == BASE:
            _check_latitude(subject, function, function.latitude, sink)


def _check_latitude(subject: Subject, function: Function, latitude: Latitude, sink: Sink) -> None:
    """The latitude of a kernel: expressions over its operands."""

    def fault(message: str, fix: str) -> None:
        sink.error("bad-latitude", f"{function.name}: {message}", latitude.span, fix=fix)

    if function.kernel is None:
        fault("a latitude is of no use without a kernel", "remove it")
        return
    if latitude.terms is None and latitude.free is None:
        fault("the latitude says neither 'terms' nor 'free'", "say which terms kernels add up, or what is free")
    if latitude.dtypes is not None and not isinstance(latitude.dtypes, DtypeList):
        fault("the dtypes of the latitude are no list", "list dtypes and sets")
    checker = _Checker(subject, function, sink)
    for kind, formula in (("number", latitude.terms), ("bool", latitude.free)):
        if formula is not None:
            checker.need(kind, checker.kind(formula, formula.expression), formula, formula.expression)


class _Checker:
    def __init__(self, subject: Subject, function: Function, sink: Sink) -> None:
        self.subject = subject
        self.function = function
        self.sink = sink
        self.kinds: dict[str, str] = {param.name: _kind(param, subject) for param in function.params}
        self.params = {param.name: param for param in function.params}

    def error(self, code: str, message: str, span: Span, fix: str) -> None:
        self.sink.error(code, f"{self.function.name}: {message}", span, fix=fix)

    def run(self) -> None:
        kernel = self.function.kernel
        assert kernel is not None
        formulas = [formula for _, formula in (*kernel.lets, *kernel.results)]
        used = {part.name for formula in formulas for part in walk(formula.expression) if isinstance(part, Name)}
        for name, formula in kernel.lets:
            if name in self.kinds:
                self.error("unused-let", f"'{name}' hides a parameter", kernel.at(name), "choose another name")
            if name not in used:
                self.error("unused-let", f"'{name}' is never used", kernel.at(name), "remove it")
            self.kinds[name] = self.kind(formula, formula.expression)
        outputs = [param.name for param in self.function.params if param.is_written and param.type != "generator"]
        for name, formula in kernel.results:
            if name not in outputs:
                fix = did_you_mean(name, outputs) or f"outputs: {', '.join(outputs)}"
                self.error("kernel-output", f"'{name}' is not an output", kernel.at(name), fix)
            self.kind(formula, formula.expression)
        written = {name for name, _ in kernel.results}
        for name in outputs:
            if name not in written:
                self.error("kernel-output", f"the kernel does not write '{name}'", kernel.span, f"add '{name}'")

    def kind(self, formula: Formula, expression: Expression) -> str:
        """The kind of an expression; faults inside it are reported."""
        if isinstance(expression, Number):
            return "number"
        if isinstance(expression, Text):
            return "text"
        if isinstance(expression, Name):
            return self.name_kind(formula, expression)
        if isinstance(expression, Unary):
            operand = self.kind(formula, expression.operand)
            if expression.operator == "not":
                self.need("bool", operand, formula, expression.operand)
                return "bool"
            self.need("number", operand, formula, expression.operand)
            return operand
        if isinstance(expression, Binary):
            return self.binary_kind(formula, expression)
        return self.call_kind(formula, expression)

    def name_kind(self, formula: Formula, expression: Name) -> str:
        name = expression.name
        if name in self.kinds:
            return self.kinds[name]
        if name in CONSTANTS:
            return "bool" if isinstance(CONSTANTS[name], bool) else "number"
        if name in self.subject.enum_values:
            return self.subject.enum_values[name]
        candidates = [*self.kinds, *CONSTANTS, *self.subject.enum_values]
        fix = did_you_mean(name, candidates) or f"operands: {', '.join(self.kinds)}"
        self.error("unknown-operand", f"unknown operand '{name}'", formula.at(expression.offset, len(name)), fix)
        return "any"

    def binary_kind(self, formula: Formula, expression: Binary) -> str:
        left, right = self.kind(formula, expression.left), self.kind(formula, expression.right)
        operator = expression.operator
        if operator in _LOGICAL:
            self.need("bool", left, formula, expression.left)
            self.need("bool", right, formula, expression.right)
            return "bool"
        if operator in _COMPARISONS:
            comparable = "any" in (left, right) or left == right or {left, right} <= {"number", "complex", "bool"}
            if not comparable:
                message = f"'{operator}' compares {_words(left)} with {_words(right)}"
                self.error(
                    "kernel-kind", message, formula.at(expression.offset, len(operator)), "compare like with like"
                )
            return "bool"
        self.need("number", left, formula, expression.left)
        self.need("number", right, formula, expression.right)
        if operator in _BITWISE and left == right == "bool":
            return "bool"
        return "complex" if "complex" in (left, right) else "any" if "any" in (left, right) else "number"

    def call_kind(self, formula: Formula, expression: Call) -> str:
        known = KERNEL_FUNCTIONS.get(expression.function)
        location = formula.at(expression.offset, len(expression.function))
        if known is None:
            fix = did_you_mean(expression.function, KERNEL_FUNCTIONS) or "see the functions in docs/spec.md"
            self.error("unknown-function", f"unknown function '{expression.function}'", location, fix)
            return "any"
        count = len(known.arguments)
        if count != len(expression.arguments):
            expected = f"{count} argument" if count == 1 else f"{count} arguments"
            message = f"'{known.name}' takes {expected}, not {len(expression.arguments)}"
            self.error("kernel-arity", message, location, f"{known.name}: {known.doc}")
            return "any"
        kinds = [self.argument_kind(formula, known, i, a) for i, a in enumerate(expression.arguments)]
        if known.result == "same":
            return kinds[1] if kinds[1] == kinds[2] else "number" if "any" not in kinds[1:] else "any"
        if known.result == "number" and kinds and kinds[0] == "complex":
            return "complex" if known.name not in ("abs", "real", "imag") else "number"
        return known.result

    def argument_kind(self, formula: Formula, known: KernelFunction, position: int, argument: Expression) -> str:
        expected = known.arguments[position]
        if expected == "param":
            if not (isinstance(argument, Name) and argument.name in self.params):
                location = formula.at(argument.offset, head_length(argument))
                self.error("kernel-kind", f"'{known.name}' needs a parameter", location, "name a nullable parameter")
            return "any"
        if expected == "literal":
            negative = isinstance(argument, Unary) and argument.operator == "-"
            value = argument.operand if isinstance(argument, Unary) and negative else argument
            if not (isinstance(value, Number) and isinstance(value.value, int)):
                location = formula.at(argument.offset, head_length(argument))
                self.error("kernel-kind", f"'{known.name}' needs an integer", location, "write a literal number")
            return "number"
        found = self.kind(formula, argument)
        if expected != "any":
            self.need(expected, found, formula, argument)
        return found

    def need(self, expected: str, found: str, formula: Formula, expression: Expression) -> None:
        """A number may stand for a bool and the other way round; texts and enums stand for themselves only."""
        numeric = {"number", "bool", "complex", "any"}
        if found in numeric and expected in numeric and not (expected == "bool" and found == "complex"):
            return
        location = formula.at(expression.offset, head_length(expression))
        self.error("kernel-kind", f"{_words(found)} where {_words(expected)} is needed", location, "compare it first")


def _words(kind: str) -> str:
    return {"bool": "a bool", "number": "a number", "complex": "a complex number", "text": "a text"}.get(
        kind, f"a {kind}"
    )


def _kind(param: Parameter, subject: Subject) -> str:
    """The kind of the value that a parameter stands for in a kernel."""
    if param.type == "bool":
        return "bool"
    if param.type == "string":
        return "text"
    if param.type in NUMBERS or param.type == "scalar":
        return "number"
    if param.type in subject.named_types:
        return param.type
    if isinstance(param.dtype, DtypeList):
        if set(param.dtype.dtypes) == {"bool"}:
            return "bool"
        if all(dtype.startswith("complex") for dtype in param.dtype.dtypes):
            return "complex"
    return "number" if param.type in ("tensor", "tensors") else "any"
