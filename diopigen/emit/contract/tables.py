"""The contracts of operators as tables of C++: what the validation layer and the reference libraries evaluate.

`runtime/contract/table.h` has the types. Expressions are stored once, as nodes that name their children; rules of
dtypes and shapes become calls of the same functions as predicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from diopigen.contract.dtypes import literal
from diopigen.contract.functions import FUNCTIONS, SPECIAL
from diopigen.emit.escaping import c_string
from diopigen.emit.operands import is_operator
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.ir.c_types import EnumType
from diopigen.ir.model import Constraint, DtypeList, DtypeRule, Function, Interface, Parameter, ShapeList, ShapeRule
from diopigen.ir.rules import DTYPE_RULES, ONE_OF, SHAPE_RULES
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary

TARGET = "contract"

_OPS = {
    "and": "kAnd", "or": "kOr", "+": "kAdd", "-": "kSubtract", "*": "kMultiply", "/": "kDivide",
    "//": "kFloorDivide", "%": "kRemainder", "**": "kPower", "==": "kEqual", "!=": "kNotEqual", "<": "kLess",
    "<=": "kLessEqual", ">": "kGreater", ">=": "kGreaterEqual",
}  # fmt: skip
_KNOWN = frozenset({
    *(function.name for function in FUNCTIONS.values() if function.in_layer), *SPECIAL, *DTYPE_RULES, *SHAPE_RULES,
})  # fmt: skip
_FREE = {"nullability": 1, "dtype": 2, "shape": 4, "device": 8}
_COUNT = "END"
"""How the name of an enum's value ends that only counts the others."""
_LIMIT = 2**63


@dataclass(slots=True)
class Tables:
    """The arrays of the file, as lines of C++."""

    enum_values: Mapping[str, int]
    enums: Mapping[str, EnumType]
    dtype_bits: Mapping[str, int]
    nodes: list[str] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    dimensions: list[str] = field(default_factory=list)
    integers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    contracts: list[str] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def add(self, function: Function) -> None:
        """The contract of one function."""
        scope = _Scope(self, function)
        first, constraints = len(self.parameters), len(self.constraints)
        self.parameters += [scope.parameter(param) for param in function.params]
        self.constraints += [scope.constraint(constraint) for constraint in function.constraints]
        count = len(function.constraints)
        self.contracts.append(f"{{{first}, {constraints}, {count}, {len(scope.names)}}},  // {function.name}")

    def node(self, text: str, children: Sequence[int] = ()) -> int:
        """The index of a node; equal ones are stored once."""
        key = f"{text} {children}"
        if key not in self._known:
            self._known[key] = len(self.nodes)
            if children:
                text = text.replace("{}", f"{len(children)}, {len(self.children)}")
                self.children += children
            self.nodes.append(text)
        return self._known[key]


class _Scope:
    """The names of one function."""

    def __init__(self, tables: Tables, function: Function) -> None:
        self.tables = tables
        self.function = function
        self.positions = {param.name: index for index, param in enumerate(function.params)}
        self.names: dict[str, int] = {}
        self.spreads: dict[str, int] = {}
        for param in function.params:
            if param.is_read and isinstance(param.shape, ShapeList):
                for entry in param.shape.dimensions:
                    if entry.kind == "variadic":
                        self.spreads.setdefault(entry.name, len(self.spreads))
                    if entry.kind == "formula" and entry.name and entry.name not in self.positions:
                        self.names.setdefault(entry.name, len(self.names))

    # ---- expressions ------------------------------------------------------------------------------------------------

    def expression(self, expression: Expression) -> int:
        """The index of an expression's node."""
        add = self.tables.node
        if isinstance(expression, Number):
            integral = isinstance(expression.value, int) and abs(expression.value) < _LIMIT
            if integral:
                return add(f"{{Op::kInteger, Fn::none, 0, 0, {expression.value}}}")
            return add(f"{{Op::kReal, Fn::none, 0, 0, 0, {float(expression.value)!r}}}")
        if isinstance(expression, Text):
            return add(f"{{Op::kText, Fn::none, 0, 0, 0, 0, {c_string(expression.value)}}}")
        if isinstance(expression, Name):
            return self._name(expression.name)
        if isinstance(expression, Unary):
            op = "kNot" if expression.operator == "not" else "kNegate"
            return add(f"{{Op::{op}, Fn::none, {{}}}}", [self.expression(expression.operand)])
        if isinstance(expression, Binary):
            sides = [self.expression(expression.left), self.expression(expression.right)]
            return add(f"{{Op::{_OPS[expression.operator]}, Fn::none, {{}}}}", sides)
        return self._call(expression)

    def _name(self, name: str) -> int:
        add = self.tables.node
        if name in self.positions:
            return add(f"{{Op::kParameter, Fn::none, 0, 0, {self.positions[name]}}}")
        if name in self.names:
            return add(f"{{Op::kDimension, Fn::none, 0, 0, {self.names[name]}}}")
        if name in self.tables.enum_values:
            return add(f"{{Op::kInteger, Fn::none, 0, 0, {self.tables.enum_values[name]}}}")
        constants = {"true": "{Op::kTrue}", "false": "{Op::kFalse}", "inf": "{Op::kReal, Fn::none, 0, 0, 0, kInfinity}"}
        return add(constants.get(name, "{Op::kCall, Fn::unknown}"))

    def _call(self, call: Call) -> int:
        name = call.function
        if name not in _KNOWN:
            return self.tables.node("{Op::kCall, Fn::unknown}")
        arguments = [self.expression(argument) for argument in call.arguments]
        return self.tables.node(f"{{Op::kCall, Fn::{name}, {{}}}}", arguments)

    def _dtype_rule(self, rule: Expression) -> int:
        if isinstance(rule, Call) and rule.function == ONE_OF:
            return self._alternatives([self._dtype_rule(one) for one in rule.arguments if not literal(one)])
        if isinstance(rule, Name):
            return self._call(Call("dtype", (rule,)))
        if isinstance(rule, Call) and rule.function == "same":
            return self._call(Call("dtype", rule.arguments))
        return self.expression(rule)

    def _alternatives(self, forms: Sequence[int]) -> int:
        return self.tables.node(f"{{Op::kCall, Fn::{ONE_OF}, {{}}}}", forms)

    def _shape_rule(self, rule: Expression) -> int:
        if isinstance(rule, Call) and rule.function == ONE_OF:
            return self._alternatives([self._shape_rule(one) for one in rule.arguments])
        if isinstance(rule, Call) and rule.function in ("same", "broadcastable"):
            source = self.function.param(getattr(rule.arguments[0], "name", ""))
            return self._call(Call("sizes", rule.arguments) if source is not None else rule)
        if isinstance(rule, Call) and rule.function == "value":
            return self.expression(rule.arguments[0])
        return self.expression(rule)

    # ---- rows -------------------------------------------------------------------------------------------------------

    def constraint(self, constraint: Constraint) -> str:
        """A row of `constraints`."""
        predicate = self.expression(constraint.require.expression) if constraint.require is not None else -1
        reads = "true" if constraint.checked == "kernel" else "false"
        text = c_string(constraint.text)
        return f'{{"{constraint.id}", {text}, {predicate}, {constraint.error}, {reads}}},'

    def parameter(self, param: Parameter) -> str:
        """A row of `parameters`."""
        free = sum(_FREE[word] for word in param.free)
        mask = 0
        rule = -1
        if isinstance(param.dtype, DtypeList):
            mask = self._mask(param.dtype.dtypes)
        elif isinstance(param.dtype, DtypeRule):
            expression = param.dtype.formula.expression
            rule = self._dtype_rule(expression)
            if isinstance(expression, Call) and expression.function == ONE_OF:
                mask = self._mask(filter(None, map(literal, expression.arguments)))
        shape, first, count = self._shape(param)
        values_first, values_count = self._values(param)
        flags = f"{_flag(param.nullable)}, {_flag(param.is_read)}, {free}"
        return (
            f'{{"{param.name}", {flags}, 0x{mask:x}, {rule}, ShapeForm::{shape}, {first}, {count}, '
            f"{values_first}, {values_count}, {_flag(param.sparse)}, {self.positions.get(param.shares, -1)}}},"
        )

    def _mask(self, dtypes: Iterable[str]) -> int:
        return sum(1 << self.tables.dtype_bits[name] for name in dtypes)

    def _shape(self, param: Parameter) -> tuple[str, int, int]:
        shape = param.shape
        if isinstance(shape, ShapeRule):
            rule = shape.formula.expression
            if not isinstance(rule, Call) or rule.function == "any":
                return "kNone", 0, 0
            form = "kBroadcastable" if rule.function == "broadcastable" else "kRule"
            return form, self._shape_rule(rule), 0
        if not isinstance(shape, ShapeList):
            return "kNone", 0, 0
        first = len(self.tables.dimensions)
        for entry in shape.dimensions:
            kind = {"formula": "kFormula", "variadic": "kVariadic", "unknown": "kUnknown"}[entry.kind]
            names = {"formula": self.names, "variadic": self.spreads}.get(entry.kind, {})
            name = names.get(entry.name, -1)
            formula = self.expression(entry.formula.expression) if entry.kind == "formula" and name < 0 else -1
            self.tables.dimensions.append(f"{{Entry::{kind}, {name}, {formula}}},")
        return "kList", first, len(shape.dimensions)

    def _values(self, param: Parameter) -> tuple[int, int]:
        if param.values:
            first = len(self.tables.texts)
            self.tables.texts += [f"{c_string(value)}," for value in param.values]
            return first, len(param.values)
        enum = self.tables.enums.get(param.type)
        if enum is None or param.direction != "in":
            return 0, 0
        legal = [value.value for value in enum.values if not value.name.endswith(_COUNT)]
        first = len(self.tables.integers)
        self.tables.integers += legal
        return first, len(legal)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _rows(values: Sequence[int], per_line: int = 16) -> Iterator[str]:
    for start in range(0, len(values), per_line):
        yield " ".join(f"{value}," for value in values[start : start + per_line])


def emit(interface: Interface, templates: Path) -> Plan:
    """`contract/contracts.h` with the number of each operator, `contract/contracts.cpp` with the tables."""
    functions = [function for function in interface.functions if is_operator(function)]
    enum_values = {value.name: value.value for enum in interface.enums for value in enum.values}
    tables = Tables(
        enum_values,
        {enum.name: enum for enum in interface.enums},
        {info.name: enum_values[info.enum] for info in interface.dtypes},
    )
    for function in functions:
        tables.add(function)
    values = {
        "names": [function.short_name for function in functions],
        "tables": tables,
        "nodes": [f"{node}," for node in tables.nodes],
        "children": list(_rows(tables.children)),
        "integers": list(_rows(tables.integers)),
        "dtypes": interface.dtypes,
    }
    files = []
    for name in ("contracts.h", "contracts.cpp"):
        template = f"contract/{name}.j2"
        inputs = (*spec_files(interface, functions), "specs/types.yaml", "specs/headers.yaml", f"templates/{template}")
        files.append(PlannedFile(f"contract/{name}", render(templates, template, values), inputs, TARGET))
    return Plan(tuple(files))
