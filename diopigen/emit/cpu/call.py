"""The body of a kernel that runs an elementwise loop. Its arguments satisfy the contract of the operator."""

from __future__ import annotations

from collections.abc import Iterator

from diopigen.emit.c_text import call_lines
from diopigen.emit.cpp_text import UnsupportedExpressionError
from diopigen.emit.cpu.argument_printer import ArgumentPrinter, number
from diopigen.emit.cpu.kernels import Group
from diopigen.emit.element_expression import Constant
from diopigen.emit.escaping import c_string
from diopigen.ir.model import Constraint, Function
from diopigen.ir.promotion import rounded_numbers
from diopigen.spec.expression import Binary, Call, Expression, Name, Number, walk

INDENT = " " * 4


class Body:
    """Writes one kernel. `constants` and `results` are the loop's, `call_type` is the class that runs it."""

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
        self.host = ArgumentPrinter({param.name: param for param in function.params})

    def lines(self) -> list[str]:
        """The statements of the body, indented."""
        return [*self.compute(), *self.operands(), *self.element_constraints()]

    def call(self, head: str, items: list[str], deeper: int = 0) -> str:
        """A statement that is a call, wrapped and indented."""
        text = call_lines(INDENT + head, items, ";")
        return text.replace("\n    ", "\n" + INDENT + " " * (4 + deeper)) if "(\n" in text else text

    def value(self, name: str) -> str:
        """A tensor or number among the arguments."""
        param = self.function.param(name)
        assert param is not None
        if param.type == "scalar":
            return number(param)
        return f"args.{name}[k]" if param.type == "tensors" else f"args.{name}"

    def is_number(self, name: str) -> bool:
        """Returns whether a parameter is a scalar."""
        param = self.function.param(name)
        return param is not None and param.type == "scalar"

    # ---- Constraints ----

    def element_constraints(self) -> Iterator[str]:
        """Checks of elements, which contracts leave to kernels."""
        for constraint in self.function.constraints:
            if constraint.checked == "kernel":
                yield self.element_constraint(constraint)

    def element_constraint(self, constraint: Constraint) -> str:
        """`implies(CONDITION, all(X != 0))`, which is what elementwise operators ask of elements."""
        assert constraint.require is not None
        tensor = _never_zero(constraint.require.expression)
        if tensor is None or tensor not in self.group.arrays:
            raise UnsupportedExpressionError(f"constraint {constraint.id} of {self.function.name}")
        rounded = " && args.rounding_mode != RoundModeNone" if self.function.param("rounding_mode") else ""
        integral = "is_integral(compute) || compute == Dtype::kBool"
        position = list(self.group.arrays).index(tensor)
        text = f"{constraint.id}: {constraint.text}"
        statement = self.call("    call.reject_zero", [str(position), c_string(text)], 4)
        return f"{INDENT}if ({f'({integral}){rounded}' if rounded else integral}) {{\n{statement}\n{INDENT}}}"

    # ---- The engine ----

    def compute(self) -> Iterator[str]:
        """The dtype that the operands are computed in."""
        participants = self.group.participants[self.function.name]
        widens = self.group.widens
        if not participants:
            dtype = f"{self.value(self.written[0])}.dtype"
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
        only = len(views) == 1 and not self.is_number(participants[0])
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
        rounded = rounded_numbers(self.function)
        for name, kind in self.group.arrays.items():
            how = "_bool" if kind == "bool" else "_rounded" if name in rounded else ""
            yield f"{INDENT}call.read{how}({self.value(name)});"
        for constant in self.constants:
            if isinstance(constant.expression, Name) and self.is_number(constant.expression.name):
                text = self.value(constant.expression.name)
            else:
                text = self.host.show(constant.expression).text
                text = f"int64_t{{{text}}}" if constant.kind == "integer" and not text.isdigit() else text
            yield self.call("call.constant", [text])
        kinds = {
            "element": "",
            "bool": ", Result::kBool",
            "real": ", Result::kRealPart",
            "pair": ", Result::kComplexPair",
        }
        for name, kind in zip(self.written, self.results, strict=True):
            yield f"{INDENT}call.write({self.value(name)}{kinds[kind]});"
        if self.group.uses_coordinates:
            yield f"{INDENT}call.use_coordinates();"


def _never_zero(predicate: Expression) -> str | None:
    """X where the predicate contains `all(X != 0)`."""
    for part in walk(predicate):
        if isinstance(part, Call) and part.function == "all":
            (inside,) = part.arguments
            if isinstance(inside, Binary) and inside.operator == "!=" and inside.right == Number(0):
                return inside.left.name if isinstance(inside.left, Name) else None
    return None
