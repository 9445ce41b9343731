"""References: whatever an entry names exists and is of the right kind."""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.check.rule import Subject
from diopigen.contract.dtype_rules import NAMED, literal
from diopigen.contract.functions import (
    DIMENSION_FUNCTIONS,
    DIMENSION_OPERATORS,
    DTYPE_RULES,
    FUNCTIONS,
    ONE_OF,
    SHAPE_RULES,
)
from diopigen.contract.functions import Function as TableFunction
from diopigen.contract.kinds import Kinds
from diopigen.diagnostics import Correction, Sink, Span, did_you_mean
from diopigen.ir.clauses import Formula, Key, OpenTies
from diopigen.ir.keys import DIMENSIONED
from diopigen.ir.model import DtypeRule, Function, Parameter, ShapeList, ShapeRule
from diopigen.ir.types import INTEGERS, TENSORS
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, Unary, walk

RULES = {
    "unknown-reference": "A parameter, operator, header or function that is named exists.",
    "wrong-reference": "A parameter that is named is of the kind that is needed.",
    "unknown-rule": "A dtype rule, shape rule or dimension uses functions that exist.",
    "wrong-arity": "A function has as many arguments as it takes.",
    "reference-cycle": "No parameter's dtype or shape follows from itself, and no header includes itself.",
    "unbound-dimension": "A dimension of an output is bound by an input or an integer parameter.",
}

_KINDS = {
    "tensor": "a tensor",
    "operand": "a tensor or a scalar",
    "sizes": "a list of integers or an array of tensors",
    "dims": "a list of integers or an integer",
    "bool": "a bool",
}
_AS = {"shape": "tensor", "tensors": "tensor", "extent": "operand", "dtype": "operand", "choice": "operand",
       "list": "sizes", "items": "sizes"}  # fmt: skip
"""Names that an argument of a kind may use in a rule or a dimension, besides the kind itself."""
_SIZES = frozenset({"sizes", "tensors", "new_tensors"})
_TYPES = {
    "tensor": TENSORS,
    "operand": TENSORS | INTEGERS | {"scalar", "float", "double"},
    "sizes": _SIZES,
    "dims": _SIZES | INTEGERS,
    "bool": frozenset({"bool"}),
}
"""The types of the parameters that an argument may name."""
_NO_FORMS = frozenset({"any", "broadcastable", "split"})
"""Shape rules that are not one shape."""


def check(subject: Subject, sink: Sink) -> None:
    """Applies the rules of this family."""
    for function in subject.functions:
        scope = _Scope(subject, function, sink)
        for param in function.params:
            scope.check_param(param)
        scope.check_cycles()
        _check_backward_of(subject, function, sink)
    _check_headers(subject, sink)


class _Scope:
    """The parameters of one function, and what its dimensions bind."""

    def __init__(self, subject: Subject, function: Function, sink: Sink) -> None:
        self.subject = subject
        self.function = function
        self.sink = sink
        self.params = {param.name: param for param in function.params}
        self.bound: set[str] = {param.name for param in function.params if param.type in INTEGERS}
        for param in function.params:
            if param.is_read and isinstance(param.shape, ShapeList):
                self.bound.update(dimension.name for dimension in param.shape.dimensions if dimension.name)

    def error(self, code: str, message: str, span: Span, fix: str) -> None:
        self.sink.error(code, f"{self.function.name}: {message}", span, fix=fix)

    def check_param(self, param: Parameter) -> None:
        if isinstance(param.count, str):
            counter = self.params.get(param.count)
            if counter is None:
                fix = did_you_mean(param.count, self.params) or f"parameters: {', '.join(self.params)}"
                self.error("unknown-reference", f"'{param.count}' is not a parameter", param.at("count"), fix)
            elif self.subject.knows_type(counter.type) and counter.type not in INTEGERS:
                message = f"count '{param.count}' is of type {counter.type}, not an integer"
                self.error("wrong-reference", message, param.at("count"), "name an integer parameter")
        if param.shares:
            self.shares(param)
        if param.unordered is not None:
            self.along(param.unordered.along, param.unordered.along_span)
        if param.ties is not None:
            self.ties(param.ties)
        for key in param.keys:
            if isinstance(key.form, str):
                self.dim_of(key, key.form)
        if isinstance(param.dtype, DtypeRule):
            self.rule(param.dtype.formula, param.dtype.formula.expression, DTYPE_RULES, "dtype rule")
        if isinstance(param.shape, ShapeRule):
            self.form(param.shape.formula, param.shape.formula.expression)
            self.members(param, param.shape.formula.expression)
        elif isinstance(param.shape, ShapeList):
            for dimension in param.shape.dimensions:
                if dimension.kind == "variadic" and dimension.name not in self.bound:
                    self.unbound(dimension.formula, dimension.name, 0)
                elif dimension.kind == "formula" and not (param.is_read and dimension.name):
                    self.value(dimension.formula, dimension.formula.expression)

    def ties(self, ties: OpenTies) -> None:
        """The input that indices select elements of, and the dimension that they count in."""
        if bool(ties.of) != (ties.along != ""):
            missing, known = ("along", "of") if ties.of else ("of", "along")
            message = f"'{known}' of ties is of no use without '{missing}'"
            self.error("wrong-reference", message, ties.span, f"add '{missing}', or remove '{known}'")
            return
        if not ties.of:
            return
        tensors = [name for name, param in self.params.items() if param.type == "tensor" and param.direction == "in"]
        if ties.of not in self.params:
            fix = did_you_mean(ties.of, tensors) or f"inputs: {', '.join(tensors) or 'none'}"
            self.error("unknown-reference", f"'{ties.of}' is not a parameter", ties.of_span, fix)
        elif ties.of not in tensors:
            message = f"'of' names '{ties.of}', which is no tensor that is read alone"
            self.error("wrong-reference", message, ties.of_span, f"inputs: {', '.join(tensors) or 'none'}")
        self.along(ties.along, ties.along_span)

    def along(self, name: str | int, span: Span) -> None:
        """The parameter that names the dimension along which an order is open, or that indices count in."""
        if not isinstance(name, str):
            return
        target = self.params.get(name)
        integers = [name for name, param in self.params.items() if param.type in INTEGERS]
        fix = f"name an integer parameter, or the dimension by its number; integers: {', '.join(integers) or 'none'}"
        if target is None:
            message = f"'{name}' is not a parameter"
            self.error("unknown-reference", message, span, did_you_mean(name, self.params) or fix)
        elif target.type not in INTEGERS and self.subject.knows_type(target.type):
            message = f"'along' names '{name}' of type {target.type}, which names no dimension"
            self.error("wrong-reference", message, span, fix)

    def shares(self, param: Parameter) -> None:
        """The output that may be the same tensor as this one."""
        written = [other.name for other in self.function.params if other.is_written and other.type == "tensor"]
        if param.shares not in self.params:
            fix = did_you_mean(param.shares, written) or f"outputs: {', '.join(written)}"
            self.error("unknown-reference", f"'{param.shares}' is not a parameter", param.at("shares"), fix)
        elif param.name not in written or param.shares not in written or param.shares == param.name:
            message = f"'{param.name}' and '{param.shares}' are not two outputs"
            self.error("wrong-reference", message, param.at("shares"), "name another output, of type tensor")

    def form(self, formula: Formula, expression: Expression) -> None:
        """A shape rule, or an expression of predicates that gives a list."""
        if not isinstance(expression, Call) or expression.function in SHAPE_RULES:
            self.rule(formula, expression, SHAPE_RULES, "shape rule")
        elif expression.function not in FUNCTIONS:
            self.known(formula, expression, SHAPE_RULES, "shape rule")
        else:
            enums = frozenset(enum.name for enum in self.subject.interface.enums)
            kinds = Kinds(self.function, self.subject.enum_values, enums)
            kinds.check_list(expression)
            for fault in kinds.faults:
                self.sink.error(
                    fault.rule,
                    f"{self.function.name}: {fault.message}",
                    formula.at(fault.at.offset, fault.length),
                    fix=fault.fix,
                )

    def members(self, param: Parameter, rule: Expression) -> None:
        """A rule with a shape for each member is for arrays, one with alternatives for a tensor."""
        name = rule.function if isinstance(rule, Call) else ""
        if name == "split" and param.type == "tensor":
            message, fix = "gives a shape to each member of an array", "use it on an array of tensors"
        elif name == ONE_OF and param.type in ("tensors", "new_tensors"):
            message, fix = "gives alternatives for one tensor", "use a rule with one shape"
        else:
            return
        self.error("wrong-reference", f"'{name}' {message}, but '{param.name}' is of type {param.type}",
                   param.at("shape"), fix)  # fmt: skip

    def dim_of(self, key: Key, name: str) -> None:
        """Returns the operand whose dimensions a parameter names."""
        target = self.params.get(name)
        if target is None:
            fix = did_you_mean(name, self.params) or f"parameters: {', '.join(self.params)}"
            self.error("unknown-reference", f"'{name}' is not a parameter", key.span, fix)
        elif self.subject.knows_type(target.type) and target.type not in DIMENSIONED:
            message = f"'dim_of' names '{name}' of type {target.type}, which has no dimensions"
            self.error("wrong-reference", message, key.span, "name a tensor, an array of tensors or a list of sizes")

    def unbound(self, formula: Formula, name: str, offset: int) -> None:
        fix = did_you_mean(name, self.bound) or "name it in the shape of an input, or use an integer parameter"
        self.error("unbound-dimension", f"dimension '{name}' is not bound", formula.at(offset, len(name)), fix)

    def rule(self, formula: Formula, expression: Expression, table: Mapping[str, TableFunction], what: str) -> None:
        """A call of a dtype rule or shape rule, with its arguments."""
        if not isinstance(expression, Call):
            fix = f"use one of: {', '.join(table)}"
            self.error("unknown-rule", f"'{formula.text}' is not a {what}", formula.span, fix)
            return
        rule = self.known(formula, expression, table, what)
        if rule is None:
            return
        for position, argument in enumerate(expression.arguments):
            kind = rule.kind(position)
            if isinstance(argument, Call) and argument.function == ONE_OF:
                location = formula.at(argument.offset, len(ONE_OF))
                fix = f"name the alternatives in one '{ONE_OF}' around all"
                self.error("unknown-rule", f"'{ONE_OF}' is no argument of another rule", location, fix)
            elif kind == "form" and isinstance(argument, Call) and argument.function in _NO_FORMS:
                location = formula.at(argument.offset, len(argument.function))
                message = f"'{argument.function}' is no alternative: it is not one shape"
                self.error("unknown-rule", message, location, "use a rule with one shape, or a list")
            elif kind == "form":
                self.form(formula, argument)
            elif kind == "choice" and isinstance(argument, Name) and argument.name not in self.params:
                self.named_dtype(formula, argument)
            elif kind in ("dtype", "choice") and isinstance(argument, Call):
                self.rule(formula, argument, table, what)
            elif kind == "integer" or (kind == "sizes" and isinstance(argument, Number) and rule.name in FUNCTIONS):
                self.value(formula, argument)
            elif kind == "bool" and isinstance(argument, Name) and argument.name in ("true", "false"):
                continue
            else:
                self.argument(formula, argument, kind)

    def named_dtype(self, formula: Formula, argument: Name) -> None:
        """A dtype of the spec among alternatives."""
        known = [info.name for info in self.subject.interface.dtypes if info.name in NAMED]
        if literal(argument) not in known:
            message = f"'{argument.name}' is neither a parameter nor a dtype"
            fix = did_you_mean(argument.name, [*self.params, *known]) or f"dtypes: {', '.join(known)}"
            self.error("unknown-reference", message, formula.at(argument.offset, len(argument.name)), fix)

    def known(
        self, formula: Formula, call: Call, table: Mapping[str, TableFunction], what: str
    ) -> TableFunction | None:
        rule = table.get(call.function)
        location = formula.at(call.offset, len(call.function))
        if rule is None:
            fix = did_you_mean(call.function, table) or f"use one of: {', '.join(table)}"
            self.error("unknown-rule", f"unknown {what} '{call.function}'", location, fix)
            return None
        if not rule.accepts(len(call.arguments)):
            message = f"'{rule.name}' takes {rule.arity}, not {len(call.arguments)}"
            self.error("wrong-arity", message, location, f"{rule.name}: {rule.doc}")
            return None
        return rule

    def argument(self, formula: Formula, argument: Expression, kind: str) -> None:
        kind = _AS.get(kind, kind)
        if not isinstance(argument, Name):
            offset = getattr(argument, "offset", 0)
            message = f"{_KINDS[kind]} is needed in '{formula.text}'"
            self.error("wrong-reference", message, formula.at(offset), "name a parameter")
            return
        param = self.params.get(argument.name)
        location = formula.at(argument.offset, len(argument.name))
        if param is None:
            fix = did_you_mean(argument.name, self.params) or f"parameters: {', '.join(self.params)}"
            self.error("unknown-reference", f"'{argument.name}' is not a parameter", location, fix)
        elif self.subject.knows_type(param.type) and param.type not in _TYPES[kind]:
            message = f"'{argument.name}' is of type {param.type}, but {_KINDS[kind]} is needed"
            self.error("wrong-reference", message, location, f"name {_KINDS[kind]}")

    def value(self, formula: Formula, expression: Expression) -> None:
        """An integer expression over bound dimensions and integer parameters."""
        if isinstance(expression, Name):
            if expression.name not in self.bound:
                self.unbound(formula, expression.name, expression.offset)
        elif isinstance(expression, Unary):
            self.value(formula, expression.operand)
        elif isinstance(expression, Binary):
            if expression.operator not in DIMENSION_OPERATORS:
                message = f"'{expression.operator}' cannot be used in a dimension"
                fix = f"use one of: {' '.join(sorted(DIMENSION_OPERATORS))}"
                self.error("unknown-rule", message, formula.at(expression.offset, len(expression.operator)), fix)
            self.value(formula, expression.left)
            self.value(formula, expression.right)
        elif isinstance(expression, Call):
            rule = self.known(formula, expression, DIMENSION_FUNCTIONS, "function of a dimension")
            for position, argument in enumerate(expression.arguments if rule else ()):
                kind = rule.kind(position) if rule else ""
                if kind in ("number", "numbers", "integer"):
                    self.value(formula, argument)
                else:
                    self.argument(formula, argument, kind)
        elif not (isinstance(expression, Number) and isinstance(expression.value, int)):
            message = f"an integer is needed in '{formula.text}'"
            self.error("wrong-reference", message, formula.at(expression.offset), "use integers")

    def check_cycles(self) -> None:
        """A dtype or shape that follows from itself, directly or through others."""
        for key in ("dtype", "shape"):
            edges = {name: _sources(getattr(param, key), self.params) for name, param in self.params.items()}
            for name in edges:
                path = _cycle(name, edges)
                if path and name == min(path):
                    message = f"the {key} of '{name}' follows from itself ({' -> '.join([*path, name])})"
                    fix = "let one of them have a list or a rule over the others"
                    self.error("reference-cycle", message, self.params[name].at(key), fix)


def _sources(rule: object, params: dict[str, Parameter]) -> list[str]:
    if not isinstance(rule, (DtypeRule, ShapeRule)):
        return []
    return [part.name for part in walk(rule.formula.expression) if isinstance(part, Name) and part.name in params]


def _cycle(start: str, edges: dict[str, list[str]]) -> list[str]:
    """A path from `start` back to it, without the return; empty where there is none."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        for source in edges[path[-1]]:
            if source == start:
                return path
            if source not in seen:
                seen.add(source)
                paths.append([*path, source])
    return []


def _check_backward_of(subject: Subject, function: Function, sink: Sink) -> None:
    name = function.backward_of
    if name is None or not subject.complete or subject.interface.naming.full(name) in subject.by_name:
        return
    names = [other.short_name for other in subject.functions]
    fix = subject.suggestion(name, names) or f"name an operator of the spec without '{subject.interface.naming.prefix}'"
    message = f"{function.name}: 'backward_of' names '{name}', which does not exist"
    sink.error("unknown-reference", message, function.at("backward_of"), fix=fix)


def _once(name: str) -> Correction:
    return Correction.of("remove one", f"- {name}", "")


def _check_headers(subject: Subject, sink: Sink) -> None:
    files = [header.file for header in subject.interface.headers]
    for header in subject.interface.headers:
        for included, span in zip(header.includes, header.include_spans, strict=True):
            if included not in files:
                message = f"{header.file} includes '{included}', which is not a header of the interface"
                fix = did_you_mean(included, files) or "remove it"
                sink.error("unknown-reference", message, span, fix=fix)
            elif included == header.file or header.file in _reached(subject, included):
                message = f"{header.file} includes itself by '{included}'"
                sink.error("reference-cycle", message, span, fix="remove one of the includes on the way")
        seen: set[str] = set()
        for name, span in header.order:
            function = subject.by_name.get(name)
            if name in seen:
                sink.error("unknown-reference", f"{name} is twice in the order", span, fix=_once(name))
            elif subject.complete and (function is None or function.header != header.file):
                fix = subject.suggestion(name, subject.by_name) or "remove it from the order, or write its entry"
                if function is not None:
                    fix = f"it belongs to {function.header}: remove it here"
                message = f"the order of {header.file} names {name}, which the spec does not have there"
                sink.error("unknown-reference", message, span, fix=fix)
            seen.add(name)


def _reached(subject: Subject, file: str) -> set[str]:
    """The headers that a header includes, directly or by others."""
    includes = {header.file: header.includes for header in subject.interface.headers}
    found: set[str] = set()
    pending = [file]
    while pending:
        new = set(includes.get(pending.pop(), ())) - found
        found |= new
        pending += new
    return found
