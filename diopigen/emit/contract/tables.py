"""The contracts of operators as tables of C++: what the validation layer and the reference libraries evaluate.

`runtime/contract/table.h` has the types. Expressions are stored once, as nodes that name their children; rules of
dtypes and shapes become calls of the same functions as predicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from diopigen.contract.dtype_rules import literal
from diopigen.contract.functions import FUNCTIONS, LAZY, ONE_OF
from diopigen.contract.functions import Function as TableFunction
from diopigen.contract.shape_evaluation import value_of
from diopigen.emit.escaping import c_string
from diopigen.emit.operands import is_operator
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.ir.c_types import EnumType
from diopigen.ir.enumerators import dtype_codes, enumerators
from diopigen.ir.model import Constraint, DtypeList, DtypeRule, Function, Interface, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Text, Unary

TARGET = "contract"

_OPS = {
    "and": "kAnd", "or": "kOr", "+": "kAdd", "-": "kSubtract", "*": "kMultiply", "/": "kDivide",
    "//": "kFloorDivide", "%": "kRemainder", "**": "kPower", "==": "kEqual", "!=": "kNotEqual", "<": "kLess",
    "<=": "kLessEqual", ">": "kGreater", ">=": "kGreaterEqual",
}  # fmt: skip
KNOWN = {function.name: function for function in FUNCTIONS.values() if function.in_layer}
"""The functions that C++ has."""
_FREE = {"nullability": 1, "dtype": 2, "shape": 4, "device": 8}
_COUNT = "END"
"""Suffix of the enum value that only counts the others."""
_LIMIT = 2**63


@dataclass(slots=True)
class Nodes:
    """Expressions as nodes that name their children, as lines of C++."""

    enum_values: Mapping[str, int] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

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


@dataclass(slots=True)
class Tables(Nodes):
    """The arrays of the file, as lines of C++."""

    enums: Mapping[str, EnumType] = field(default_factory=dict)
    dtype_bits: Mapping[str, int] = field(default_factory=dict)
    dimensions: list[str] = field(default_factory=list)
    integers: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    constraints: list[str] = field(default_factory=list)
    contracts: list[str] = field(default_factory=list)

    def add(self, function: Function) -> None:
        """The contract of one function."""
        scope = _Contract(self, function)
        first, constraints = len(self.parameters), len(self.constraints)
        self.parameters += [scope.parameter(param) for param in function.params]
        self.constraints += [scope.constraint(constraint) for constraint in function.constraints]
        count = len(function.constraints)
        self.contracts.append(f"{{{first}, {constraints}, {count}, {len(scope.names)}}},  // {function.name}")


class Scope:
    """The names of expressions: positions of parameters, and of dimensions."""

    def __init__(self, tables: Nodes, parameters: Iterable[str]) -> None:
        self.tables = tables
        self.positions = {name: index for index, name in enumerate(parameters)}
        self.names: dict[str, int] = {}

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
        if name not in KNOWN:
            return self.tables.node("{Op::kCall, Fn::unknown}")
        arguments = [self.expression(argument) for argument in call.arguments]
        return self.tables.node(f"{{Op::kCall, Fn::{name}, {{}}}}", arguments)


class _Contract(Scope):
    """The contract of one function."""

    def __init__(self, tables: Tables, function: Function) -> None:
        super().__init__(tables, (param.name for param in function.params))
        self.rows = tables
        self.spreads: dict[str, int] = {}
        for param in function.params:
            if param.is_read and isinstance(param.shape, ShapeList):
                for entry in param.shape.dimensions:
                    if entry.kind == "variadic":
                        self.spreads.setdefault(entry.name, len(self.spreads))
                    if entry.kind == "formula" and entry.name and entry.name not in self.positions:
                        self.names.setdefault(entry.name, len(self.names))

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
        value = value_of(rule)
        assert value is not None, "a rule without a shape"
        return self.expression(value)

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
        return sum(1 << self.rows.dtype_bits[name] for name in dtypes)

    def _shape(self, param: Parameter) -> tuple[str, int, int]:
        shape = param.shape
        if isinstance(shape, ShapeRule):
            rule = shape.formula.expression
            if value_of(rule) is None:
                return "kNone", 0, 0
            form = "kBroadcastable" if isinstance(rule, Call) and rule.function == "broadcastable" else "kRule"
            return form, self._shape_rule(rule), 0
        if not isinstance(shape, ShapeList):
            return "kNone", 0, 0
        first = len(self.rows.dimensions)
        for entry in shape.dimensions:
            kind = {"formula": "kFormula", "variadic": "kVariadic", "unknown": "kUnknown"}[entry.kind]
            names = {"formula": self.names, "variadic": self.spreads}.get(entry.kind, {})
            name = names.get(entry.name, -1)
            formula = self.expression(entry.formula.expression) if entry.kind == "formula" and name < 0 else -1
            self.rows.dimensions.append(f"{{Entry::{kind}, {name}, {formula}}},")
        return "kList", first, len(shape.dimensions)

    def _values(self, param: Parameter) -> tuple[int, int]:
        if param.values:
            first = len(self.rows.texts)
            self.rows.texts += [f"{c_string(value)}," for value in param.values]
            return first, len(param.values)
        enum = self.rows.enums.get(param.type)
        if enum is None or param.direction != "in":
            return 0, 0
        legal = [value.value for value in enum.values if not value.name.endswith(_COUNT)]
        first = len(self.rows.integers)
        self.rows.integers += legal
        return first, len(legal)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _rows(values: Sequence[int], per_line: int = 16) -> Iterator[str]:
    for start in range(0, len(values), per_line):
        yield " ".join(f"{value}," for value in values[start : start + per_line])


def emit(interface: Interface, templates: Path) -> Plan:
    """`contract/contracts.h` with the number of each operator, `contract/contracts.cpp` with the tables."""
    functions = [function for function in interface.functions if is_operator(function)]
    tables = Tables(
        enumerators(interface),
        enums={enum.name: enum for enum in interface.enums},
        dtype_bits=dtype_codes(interface),
    )
    for function in functions:
        tables.add(function)
    values = {
        "names": [function.short_name for function in functions],
        "tables": tables,
        "nodes": [f"{node}," for node in tables.nodes],
        "children": list(_rows(tables.children)),
        "integers": list(_rows(tables.integers)),
    }
    inputs = (*spec_files(interface, functions), "specs/types.yaml", "specs/headers.yaml")
    files = [_file(templates, name, values, inputs) for name in ("contracts.h", "contracts.cpp")]
    of_functions = _functions()
    for kind in ("h", "cpp", "md"):
        files.append(_file(templates, f"functions.{kind}", of_functions, ("specs/formulas.yaml",)))
    return Plan(tuple(files))


def _file(templates: Path, name: str, values: Mapping[str, object], inputs: tuple[str, ...]) -> PlannedFile:
    template = f"contract/{name}.j2"
    return PlannedFile(
        f"contract/{name}", render(templates, template, values), (*inputs, f"templates/{template}"), TARGET
    )


# ---- functions ------------------------------------------------------------------------------------------------------

_TYPES = {
    "number": "Number", "integer": "int64_t", "bool": "bool", "bools": "Numbers", "elements": "Numbers",
    "list": "Numbers", "sizes": "Sizes", "shape": "Sizes", "dims": "Sizes", "dtype": "diopiDtype_t",
    "tensor": "TensorView", "tensors": "TensorArray", "indices": "std::vector<TensorView>", "items": "Value",
}  # fmt: skip
"""C++ type of a value of a kind."""
_TAKES = {"bool": "boolean"}
"""Kinds whose names are words of C++."""


def _functions() -> dict[str, object]:
    """Data of the templates for the table of functions."""
    nodes = Nodes()
    declarations, rows = [], []
    for name, function in KNOWN.items():
        if name in LAZY or function.result == "shapes":  # evaluated where they are called
            rows.append(f'{{"{name}", {{}}, 0, false, 0, nullptr, -1}},')
            continue
        body, root = "nullptr", -1
        if function.formula is not None:
            root = Scope(nodes, function.parameters).expression(function.formula)
        else:
            declarations.append(_declaration(function))
            body = f"detail::apply<functions::{name}>"
        takes = ", ".join(f"Take::k{_TAKES.get(kind, kind).capitalize()}" for kind in function.arguments)
        bits = sum(1 << position for position in function.by_entry)
        count = f"{len(function.arguments)}, {_flag(function.variadic)}"
        rows.append(f'{{"{name}", {{{takes}}}, {count}, {bits}, {body}, {root}}},')
    return {
        "names": KNOWN,
        "declarations": declarations,
        "table": list(map(_documentation, FUNCTIONS.values())),
        "rows": rows,
        "nodes": [f"{node}," for node in nodes.nodes],
        "children": list(_rows(nodes.children)),
    }


def _documentation(function: TableFunction) -> str:
    """The row of a function in the table for people."""
    named = function.parameters or function.arguments
    words = [kind if name == kind else f"{name}: {kind}" for name, kind in zip(named, function.arguments, strict=True)]
    if function.variadic:
        words.append("...")
    elif function.optional:
        words[-1] += "?"
    evaluated = "formula" if function.formula is not None else "Python, C++" if function.in_layer else "Python"
    return f"| `{function.name}({', '.join(words)})` | {function.result} | {evaluated} | {function.doc} |"


def _declaration(function: TableFunction) -> str:
    """The prototype of the function that C++ has under its name."""
    result = "Value" if "value" in function.arguments else _TYPES[function.result]
    types = ["const Values&"] if function.variadic else [_passed(_TYPES[kind]) for kind in function.arguments]
    return f"std::optional<{result}> {function.name}({', '.join(types)});"


def _passed(name: str) -> str:
    return name if name in ("int64_t", "bool", "diopiDtype_t") else f"const {name}&"
