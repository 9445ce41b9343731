"""The kinds of predicates: which operand is a number, a list, a tensor, and whether operators and functions fit.

`infer` returns the kind of an expression and reports every fault; `reads_elements` says whether a predicate needs the
elements of tensors. The kinds are those of `contract/functions.py`, with `number` for integers, `list` for sizes and
shapes, and `enum:NAME` for the values of an enum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.contract.compile import CONSTANTS
from diopigen.contract.functions import FUNCTIONS, ONE_OF
from diopigen.diagnostics import did_you_mean
from diopigen.ir.model import RANKS, Function, Parameter, ShapeList
from diopigen.ir.types import NUMBERS, TENSORS
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary, head_length

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**"})
_WORDS = {
    "bool": "a bool", "number": "a number", "list": "a list", "bools": "a list of bools",
    "dtype": "a dtype", "text": "a text", "tensor": "a tensor", "tensors": "an array of tensors",
    "items": "a list or an array of tensors", "indices": "an array of tensors", "numbers": "a number or a list",
    "scalar": "a scalar", "none": "a parameter that predicates cannot read", "elements": "a tensor",
    "operand": "a tensor or a scalar", "extent": "a list or a tensor",
}  # fmt: skip
_RESULTS = {"integer": "number", "sizes": "list", "shape": "list", "dims": "list"}
"""Kinds of the table that are not told apart here."""
_VALUES = frozenset({"number", "integer", "numbers", "bool", "bools", "value"})
"""Kinds of arguments to compute with."""
_SHAPES = ("list", "tensor", "number")
_ACCEPTED: Mapping[str, tuple[str, ...]] = {
    "number": ("number", "bool"), "integer": ("number", "bool"), "numbers": ("number", "bool", "list"),
    "bool": ("bool",), "bools": ("bools", "bool"), "dtype": ("dtype", "tensor", "tensors", "scalar"),
    "list": _SHAPES, "sizes": _SHAPES, "shape": _SHAPES, "dims": _SHAPES, "tensor": ("tensor",),
    "elements": ("tensor",), "tensors": ("tensors", "tensor"), "indices": ("tensors",), "items": ("list", "tensors"),
    "operand": ("tensor", "tensors", "scalar", "number", "bool"), "extent": (*_SHAPES, "tensors", "scalar"),
}  # fmt: skip
"""Kinds accepted by an argument of a kind; a kind that is not listed accepts anything."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Error in an expression: the rule, the message, how to fix it."""

    rule: str
    message: str
    at: Expression
    length: int
    fix: str


@dataclass(slots=True)
class Kinds:
    """Infers kinds for the predicates of one function; `faults` collects what is wrong."""

    function: Function
    enum_values: Mapping[str, str]
    enums: frozenset[str]
    faults: list[Fault] = field(default_factory=list)
    elements: list[Expression] = field(default_factory=list)
    """Contexts in which a predicate reads the elements of a tensor."""

    def check(self, predicate: Expression, *, by_kernel: bool) -> None:
        """Infers the kind of a whole predicate, which has to be a bool, and reads elements exactly where
        `by_kernel` says so."""
        self._need("bool", self.infer(predicate), predicate)
        if self.faults:
            return
        if self.elements and not by_kernel:
            fix = "add 'checked: by kernel', or ask for sizes and dtypes instead"
            self._fault("predicate-elements", "reads the elements of a tensor", self.elements[0], fix)
        elif by_kernel and not self.elements:
            fix = "remove 'checked: by kernel'"
            self._fault("predicate-elements", "reads no elements of a tensor", predicate, fix)

    def check_list(self, expression: Expression) -> None:
        """Infers the kind of a shape, which has to be a list and reads no elements."""
        self._need("list", self.infer(expression), expression)
        if self.elements and not self.faults:
            fix = "write '?' for a size that depends on elements"
            self._fault("predicate-elements", "reads the elements of a tensor", self.elements[0], fix)

    def check_number(self, expression: Expression) -> None:
        """Infers the kind of a number that reads no elements."""
        self._need("number", self.infer(expression), expression)
        if self.elements and not self.faults:
            fix = "ask for sizes and dtypes instead"
            self._fault("predicate-elements", "reads the elements of a tensor", self.elements[0], fix)

    def infer(self, expression: Expression) -> str:
        """The kind of an expression; `any` where a fault is reported already."""
        if isinstance(expression, Number):
            return "number"
        if isinstance(expression, Text):
            return "text"
        if isinstance(expression, Name):
            return self._name(expression)
        if isinstance(expression, Unary):
            return self._unary(expression)
        if isinstance(expression, Binary):
            return self._binary(expression)
        return self._call(expression)

    def _fault(self, rule: str, message: str, at: Expression, fix: str) -> str:
        self.faults.append(Fault(rule, message, at, head_length(at), fix))
        return "any"

    # ---- operands ---------------------------------------------------------------------------------------------------

    def _name(self, expression: Name) -> str:
        name = expression.name
        param = self.function.param(name)
        if param is not None:
            return self._parameter(param)
        if name in self.bound or name == "inf":
            return "number"
        if name in CONSTANTS:
            return "bool"
        if name in self.enum_values:
            return f"enum:{self.enum_values[name]}"
        names = [param.name for param in self.function.params]
        candidates = [*names, *self.bound, *CONSTANTS, *self.enum_values]
        fix = did_you_mean(name, candidates) or f"parameters: {', '.join(names)}"
        return self._fault("predicate-operand", f"unknown operand '{name}'", expression, fix)

    @property
    def bound(self) -> frozenset[str]:
        """The dimensions that shapes of inputs name, and what is known of a communicator."""
        lists = [p.shape for p in self.function.params if p.is_read and isinstance(p.shape, ShapeList)]
        sizes = frozenset(entry.name for shape in lists for entry in shape.dimensions if entry.kind == "formula") - {""}
        return sizes | frozenset(RANKS) if self.function.is_collective else sizes

    def _parameter(self, param: Parameter) -> str:
        if param.type in NUMBERS:
            return "number"
        if param.type in ("tensors", "new_tensors"):
            return "tensors"
        if param.type in TENSORS:
            return "tensor"
        plain = {"bool": "bool", "scalar": "scalar", "sizes": "list", "string": "text"}
        if param.type in plain:
            return plain[param.type]
        return f"enum:{param.type}" if param.type in self.enums else "none"

    def _value(self, expression: Expression) -> str:
        """The kind where a value to compute with is wanted: a scalar is a number, a tensor the list of its elements."""
        kind = self.infer(expression)
        if kind == "tensor":
            self.elements.append(expression)
            return "list"
        return "number" if kind == "scalar" else kind

    # ---- operators --------------------------------------------------------------------------------------------------

    def _unary(self, expression: Unary) -> str:
        kind = self._value(expression.operand)
        if expression.operator == "not":
            self._need_one_of(("bool", "bools"), kind, expression.operand)
            return "bools" if kind == "bools" else "bool"
        if expression.operator == "~":
            return self._fault("predicate-kind", "'~' has no meaning in a predicate", expression, "use not")
        self._need_one_of(("number", "list"), kind, expression.operand)
        return kind

    def _binary(self, expression: Binary) -> str:
        left, right = self._value(expression.left), self._value(expression.right)
        operator = expression.operator
        if operator in ("and", "or"):
            self._need_one_of(("bool", "bools"), left, expression.left)
            self._need_one_of(("bool", "bools"), right, expression.right)
            return "bools" if "bools" in (left, right) else "bool"
        if operator in _ARITHMETIC:
            self._need_one_of(("number", "bool", "list"), left, expression.left)
            self._need_one_of(("number", "bool", "list"), right, expression.right)
            return "list" if "list" in (left, right) else "number"
        if operator not in _COMPARISONS:
            message = f"'{operator}' has no meaning in a predicate"
            return self._fault("predicate-kind", message, expression, "use and, or")
        numeric = {"number", "bool", "list", "any"}
        if {left, right} <= numeric:
            return "bools" if "list" in (left, right) else "bool"
        alike = left == right or "any" in (left, right) or {left, right} == {"dtype", "text"}
        if not alike or left in ("tensors", "none", "bools"):
            message = f"'{operator}' compares {_words(left)} with {_words(right)}"
            return self._fault("predicate-kind", message, expression, "compare values of one kind")
        return "bool"

    # ---- functions --------------------------------------------------------------------------------------------------

    def _call(self, call: Call) -> str:
        function = FUNCTIONS.get(call.function)
        if function is None:
            fix = did_you_mean(call.function, FUNCTIONS) or "see docs/expressions.md"
            return self._fault("predicate-function", f"unknown function '{call.function}'", call, fix)
        if not function.accepts(len(call.arguments)):
            message = f"'{function.name}' takes {function.arity}, not {len(call.arguments)}"
            return self._fault("predicate-arity", message, call, f"{function.name}: {function.doc}")
        if function.name == "is_null":
            operand = call.arguments[0]
            if not (isinstance(operand, Name) and self.function.param(operand.name) is not None):
                self._fault("predicate-kind", "'is_null' needs a parameter", operand, "name a nullable parameter")
            return "bool"
        kinds = [self._argument(function.kind(i), one, function.by_entry) for i, one in enumerate(call.arguments)]
        if function.reads_values:
            self.elements.append(call)
        if function.name in ("where", "when"):
            return kinds[1] if kinds[1] == kinds[-1] else "any"
        is_each = (function.name == ONE_OF and kinds[0] == "list") or any(kinds[i] == "list" for i in function.by_entry)
        if is_each:
            return "bools" if function.result == "bool" else "list"
        return _RESULTS.get(function.result, function.result)

    def _argument(self, expected: str, argument: Expression, by_entry: tuple[int, ...]) -> str:
        kind = self._value(argument) if expected in _VALUES else self.infer(argument)
        accepted = _ACCEPTED.get(expected, ())
        if accepted:
            extra = ("list",) if by_entry and expected in ("number", "integer") else ()
            self._need_one_of((*accepted, *extra), kind, argument, _RESULTS.get(expected, expected))
        return kind

    def _need(self, expected: str, found: str, at: Expression) -> None:
        self._need_one_of((expected,), found, at)

    def _need_one_of(self, accepted: tuple[str, ...], found: str, at: Expression, expected: str = "") -> None:
        if found == "any" or found in accepted:
            return
        fix = "join the entries with all(...), any(...) or count(...)" if found == "bools" else "see docs/spec.md"
        message = f"{_words(found)} where {_words(expected or accepted[0])} is needed"
        self._fault("predicate-kind", message, at, fix)


def _words(kind: str) -> str:
    return _WORDS.get(kind, f"a value of {kind.removeprefix('enum:')}")


def _count(count: int, variadic: bool) -> str:
    words = f"{count} argument" if count == 1 else f"{count} arguments"
    return f"at least {words}" if variadic else words
