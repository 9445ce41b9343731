"""The body of a public function of the CPU library that runs an elementwise loop."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.emit.c_text import call_lines
from diopigen.emit.cpp_expression import CPU, Constant, HostPrinter, Inexpressible
from diopigen.emit.cpu_constraints import check_of, plain_condition, promotion_of
from diopigen.emit.cpu_kernels import Group, rule_operands
from diopigen.ir.model import Constraint, DtypeList, DtypeRule, Function, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Call, Expression, Name

_SET_NAMES = {
    "floating": "kFloating", "integral": "kIntegral", "number": "kNumber", "complex": "kComplex", "index": "kIndex",
    "mask": "kMask", "any": "kAny",
}  # fmt: skip
_RULES = {"to_float": "to_float", "to_real": "to_real", "to_complex": "to_complex"}
INDENT = " " * 8


def dtype_set(param: Parameter) -> str:
    """The dtypes that a parameter may have, as a constant expression; a rule is checked separately."""
    if not isinstance(param.dtype, DtypeList):
        return "kAny"
    return " | ".join(_SET_NAMES.get(name, f"k{name.capitalize()}") for name in param.dtype.names)


class Body:
    """Writes one function. `constants` and `results` are the loop's, `call_type` is the class that runs it."""

    def __init__(
        self,
        group: Group,
        function: Function,
        constants: tuple[Constant, ...],
        results: tuple[str, ...],
        call_type: str = "Elementwise",
    ) -> None:
        self.group = group
        self.call_type = call_type
        self.function = function
        self.constants = constants
        self.results = results
        self.is_list = any(param.type == "tensors" for param in function.params)
        kernel = function.kernel
        assert kernel is not None
        self.written = [name for name, _ in kernel.results]
        params = {param.name: param for param in function.params}
        self.host = HostPrinter(CPU, params, {})

    def lines(self) -> list[str]:
        """The statements of the body, indented."""
        return [
            *self.views(), *self.dtypes(), *self.shapes(), *self.plain_constraints(), *self.compute(),
            *self.operands(), *self.late_constraints(),
        ]  # fmt: skip

    # ---- Arguments ----

    def tensors(self) -> list[Parameter]:
        """The parameters that are tensors or lists of them."""
        return [param for param in self.function.params if param.type in ("tensor", "tensors")]

    def views(self) -> Iterator[str]:
        """Views of all arguments; null and dtype are checked here."""
        for param in self.function.params:
            handle = f"{param.name}[k]" if param.type == "tensors" else param.name
            items = [f'"{param.name}"', handle, dtype_set(param)]
            if param.type in ("tensor", "tensors"):
                prefix = "optional_" if param.nullable else ""
                yield self.call(f"const Tensor {param.name}_tensor = {prefix}tensor", items)
            elif param.type == "scalar":
                prefix = "optional_" if param.nullable else ""
                yield self.call(f"const Number {param.name}_number = {prefix}scalar", items)
            elif param.type == "string" and param.values:
                values = ", ".join(f'"{value}"' for value in param.values)
                yield self.call("require_text", [f'"{param.name}"', param.name, f"{{{values}}}"])

    def call(self, head: str, items: list[str], deeper: int = 0) -> str:
        """A statement that is a call, wrapped and indented."""
        text = call_lines(INDENT + head, items, ";")
        return text.replace("\n    ", "\n" + INDENT + " " * (4 + deeper)) if "(\n" in text else text

    def value(self, name: str) -> str:
        """The view of a parameter."""
        param = self.function.param(name)
        return f"{name}_number" if param is not None and param.type == "scalar" else f"{name}_tensor"

    def dtypes(self) -> Iterator[str]:
        """Dtype rules that must hold exactly."""
        for param in self.tensors():
            if not isinstance(param.dtype, DtypeRule):
                continue
            rule = param.dtype.formula.expression
            if isinstance(rule, Call) and rule.function == "same":
                yield self.call("require_same_dtype", [f"{param.name}_tensor", f"{rule_operands(rule)[0]}_tensor"])
            elif isinstance(rule, Call) and rule.function in ("to_real", "to_complex"):
                yield self.call("require_dtype", [f"{param.name}_tensor", self.rule(rule)])

    def rule(self, rule: Expression) -> str:
        """A dtype rule as an expression of the library."""
        if isinstance(rule, Name):
            return f"{rule.name}_tensor.dtype"
        if isinstance(rule, Call) and rule.function in _RULES:
            return f"{_RULES[rule.function]}({self.rule(rule.arguments[0])})"
        raise Inexpressible(f"the dtype rule of {self.function.name}")

    def shapes(self) -> Iterator[str]:
        """Shape rules that the engine does not check by itself."""
        for param in self.tensors():
            view = f"{param.name}_tensor"
            if isinstance(param.shape, ShapeList):
                yield from self.shape_list(param, param.shape)
            elif isinstance(param.shape, ShapeRule):
                rule = param.shape.formula.expression
                assert isinstance(rule, Call)
                names = rule_operands(rule)
                if rule.function == "same":
                    yield self.call("require_same_shape", [view, f"{names[0]}_tensor"])
                elif rule.function == "broadcast":
                    operands = ", ".join(f"&{name}_tensor" for name in names if self.value(name).endswith("_tensor"))
                    yield self.call("require_broadcast", [view, f"{{{operands}}}"])
                elif rule.function == "value":
                    yield self.call("require_shape", [view, f'require_sizes("{names[0]}", {names[0]})'])
                elif rule.function not in ("broadcastable", "any"):
                    raise Inexpressible(f"the shape rule '{rule.function}'")

    def shape_list(self, param: Parameter, shape: ShapeList) -> Iterator[str]:
        """A shape that is spelt out: integer parameters give sizes, other names only count."""
        view = f"{param.name}_tensor"
        variadic = any(dimension.kind == "variadic" for dimension in shape.dimensions)
        fixed = [dimension.formula.expression for dimension in shape.dimensions if dimension.kind == "formula"]
        known = [part.name for part in fixed if isinstance(part, Name) and self.function.param(part.name)]
        if variadic:
            yield self.call("require_rank", [view, str(len(fixed))])
        elif len(known) == len(fixed):
            yield self.call("require_shape", [view, f"{{{', '.join(known)}}}"])
        else:
            raise Inexpressible(f"the shape of '{param.name}'")

    # ---- Constraints ----

    def require(self, condition: str, constraint: Constraint) -> str:
        """A check with the constraint's words as message."""
        text = f'"{constraint.id}: {constraint.text}"'
        status = [] if constraint.error == "diopiErrorOccurred" else [constraint.error]
        return self.call("require", [condition, text, *status])

    def plain_constraints(self) -> Iterator[str]:
        """Constraints on plain arguments."""
        for constraint in self.function.constraints:
            condition = plain_condition(self.function, constraint)
            if condition is not None:
                yield self.require(self.host.show(condition).text, constraint)

    def late_constraints(self) -> Iterator[str]:
        """Constraints that need the compute dtype or the elements, and the engine's own checks."""
        exempt = ""
        for constraint in self.function.constraints:
            cast = promotion_of(constraint) or {}
            if "B" in cast:
                exempt = f"{cast['T']}_tensor.dtype == Dtype::kBool && !{cast['B']}_number.is_real"
        yield from self.castable(exempt)
        yield f"{INDENT}call.check();"
        for constraint in self.function.constraints:
            check, names = check_of(constraint)
            if check:
                yield from self.special(check, names, constraint)

    def castable(self, exempt: str) -> Iterator[str]:
        """Checks that results fit the category of their output, where the output's dtype is not settled already."""
        for name, kind in zip(self.written, self.results, strict=True):
            param = self.function.param(name)
            assert param is not None
            checked = any(promotion_of(constraint) is not None for constraint in self.function.constraints)
            is_rule = isinstance(param.dtype, DtypeRule) and "same" not in str(param.dtype.formula.text).split("(")[0]
            if kind == "element" and (checked or is_rule):
                text = f"{INDENT}require_castable({name}_tensor, compute);"
                yield f"{INDENT}if (!({exempt})) {{\n    {text}\n{INDENT}}}" if exempt else text

    def special(self, check: str, names: list[str], constraint: Constraint) -> Iterator[str]:
        """A check of `cpu_constraints.FORMS`."""
        first = f"{names[0]}_number" if names[0] else ""
        whole = "(is_integral(compute) || compute == Dtype::kBool)"
        if check == "require_no_fraction":
            yield self.require(f"!({whole[1:-1]}) || !{first}.is_real", constraint)
        elif check == "require_no_negative":
            yield self.require(f"!is_integral(compute) || {first}.value() >= 0", constraint)
        elif check == "refuse_zero":
            rounded = " && rounding_mode != RoundModeNone" if self.function.param("rounding_mode") else ""
            position = list(self.group.arrays).index(names[0])
            condition = f"{whole}{rounded}" if rounded else whole[1:-1]
            text = f"{constraint.id}: {constraint.text}"
            statement = self.call("    call.refuse_zero", [str(position), f'"{text}"'], 4)
            yield f"{INDENT}if ({condition}) {{\n{statement}\n{INDENT}}}"
        elif check == "require_roundable":
            yield self.require("rounding_mode == RoundModeNone || !contains(kComplex | kBool, compute)", constraint)
        elif check == "require_in_range":
            target = self.written[0]
            target = "input" if self.function.param("input") else target
            yield self.require(f"is_in_range({first}, {target}_tensor.dtype)", constraint)
        elif check == "require_unsigned":
            bounds = " && ".join(f"{name}_number.value() >= 0" for name in names)
            yield self.require(f"input_tensor.dtype != Dtype::kUint8 || ({bounds})", constraint)
        elif check == "require_whole":
            wholes = ", ".join(f"{name}_number" for name in names)
            condition = f"!is_integral({self.written[0]}_tensor.dtype) || are_whole({{{wholes}}})"
            yield self.require(condition, constraint)
        elif check == "require_arange_length":
            length = "arange_length(start_number, end_number, step_number)"
            yield self.require(f"{self.written[0]}_tensor.numel == {length}", constraint)
        elif check == "require_castable_operand":
            yield self.require(
                f"!is_complex({names[0]}_tensor.dtype) || is_complex({names[1]}_tensor.dtype)", constraint
            )
        elif check == "require_size":
            yield self.require(f"size >= 0 && size <= {self.written[0]}_tensor.numel", constraint)

    # ---- The engine ----

    def compute(self) -> Iterator[str]:
        """The dtype that the operands are computed in."""
        participants = self.group.participants[self.function.name]
        widens = self.group.widens
        if not participants:
            dtype = f"{self.written[0]}_tensor.dtype"
            if self.group.uses_coordinates and widens is True:
                yield f"{INDENT}const Dtype compute = Dtype::kFloat64;"
            elif self.group.uses_coordinates:
                exact = f"is_integral({dtype})"
                if isinstance(widens, str):  # a true quotient has fractions on the way to whole numbers
                    yield f"{INDENT}const bool is_true_quotient = {widens};"
                    exact += " && !is_true_quotient"
                yield f"{INDENT}const Dtype compute = {exact} ? Dtype::kInt64 : Dtype::kFloat64;"
            else:
                yield f"{INDENT}const Dtype compute = {dtype};"
            return
        views = [self.value(name) for name in participants]
        only = len(views) == 1 and views[0].endswith("_tensor")
        promoted = f"{views[0]}.dtype" if only else f"promote({{{', '.join(views)}}})"
        if widens is False:
            yield f"{INDENT}const Dtype compute = {promoted};"
        elif widens is True:
            yield f"{INDENT}const Dtype compute = to_float({promoted});"
        else:
            yield f"{INDENT}const Dtype promoted = {promoted};"
            yield f"{INDENT}const bool is_true_quotient = {widens};"
            yield f"{INDENT}const Dtype compute = is_true_quotient ? to_float(promoted) : promoted;"

    def operands(self) -> Iterator[str]:
        """Hands operands, constants and outputs to the engine, in the order in which the loop numbers them."""
        yield f"{INDENT}{self.call_type} call(compute);"
        for name, kind in self.group.arrays.items():
            yield f"{INDENT}call.{'read_bool' if kind == 'truth' else 'read'}({self.value(name)});"
        for constant in self.constants:
            if isinstance(constant.expression, Name) and self.value(constant.expression.name).endswith("_number"):
                text = f"{constant.name}_number"
            else:
                text = self.host.show(constant.expression).text
                text = f"int64_t{{{text}}}" if constant.kind == "whole" and not text.isdigit() else text
            yield self.call("call.constant", [text])
        kinds = {
            "element": "",
            "truth": ", Result::kTruth",
            "real": ", Result::kRealPart",
            "pair": ", Result::kComplexPair",
        }
        for name, kind in zip(self.written, self.results, strict=True):
            yield f"{INDENT}call.write({name}_tensor{kinds[kind]});"
        if self.group.uses_coordinates:
            yield f"{INDENT}call.use_coordinates();"
