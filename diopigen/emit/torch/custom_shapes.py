"""Shapes and dtypes of the results of operators of the namespace `diopi`, in C++ out of their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from diopigen.emit.torch.arguments import CONVERSIONS, rule_of
from diopigen.emit.torch.binding import BindingError
from diopigen.ir.load import known_dtypes
from diopigen.ir.model import DtypeList, Function, Parameter, ShapeList, ShapeRule
from diopigen.spec.expression import Binary, Call, Expression, Name, Number

_STRENGTH = {"+": 1, "-": 1, "*": 2, "//": 2}


class Shapes:
    """Shapes in C++ out of arguments."""

    def __init__(self, function: Function) -> None:
        self._params = {param.name: param for param in function.params}
        self.counts: set[str] = set()
        """The integers that sizes follow from."""
        self.used: dict[str, str] = {}
        """The dimensions of arguments that sizes follow from, and where each is found."""
        self._sources: dict[str, str] = {}
        for param in function.params:
            if param.type != "tensor" or param.direction != "in" or param.nullable:
                continue
            if isinstance(param.shape, ShapeList):
                self._dimensions(param, param.shape)

    def _dimensions(self, param: Parameter, shape: ShapeList) -> None:
        rank = len(shape.dimensions)
        variadic = next((n for n, one in enumerate(shape.dimensions) if one.kind == "variadic"), None)
        for position, one in enumerate(shape.dimensions):
            if one.kind != "formula" or not isinstance(one.formula.expression, Name):
                continue
            name = one.formula.expression.name
            if name in self._params or name in self._sources:
                continue
            if variadic is None:
                self._sources[name] = f'size_of({param.name}, "{param.name}", {rank}, {position})'
            else:
                index = position if position < variadic else position - rank
                self._sources[name] = f'size_of_at_least({param.name}, "{param.name}", {rank - 1}, {index})'

    def number(self, expression: Expression) -> str:
        """An integer."""
        if isinstance(expression, Number):
            return str(expression.value)
        if isinstance(expression, Name):
            param = self._params.get(expression.name)
            if param is not None and param.type in ("int64", "int32", "int") and param.direction == "in":
                self.counts.add(param.name)
                return param.name
            if param is None and expression.name in self._sources:
                self.used[expression.name] = self._sources[expression.name]
                return expression.name
            raise BindingError(f"has no value for {expression.name}")
        if isinstance(expression, Binary) and expression.operator in _STRENGTH:
            strength = _STRENGTH[expression.operator]
            left = self._operand(expression.left, strength)
            right = self._operand(expression.right, strength + 1)
            if expression.operator == "//":
                return f"quotient({self.number(expression.left)}, {self.number(expression.right)})"
            return f"{left} {expression.operator} {right}"
        raise BindingError("has a size that is no sum or product")

    def _operand(self, expression: Expression, strength: int) -> str:
        text = self.number(expression)
        is_sum = isinstance(expression, Binary) and expression.operator in ("+", "-")
        is_weaker = is_sum or (isinstance(expression, Binary) and expression.operator == "*" and strength > 2)
        is_weaker = is_weaker and strength > 1
        return f"({text})" if is_weaker else text

    def _size(self, expression: Expression) -> str:
        """A size as it is in a list: what is computed has a name."""
        text = self.number(expression)
        if not isinstance(expression, Binary):
            return text
        known = next((name for name, source in self.used.items() if source == text), None)
        if known is None:
            known = f"size_{len(self.used)}"
            self.used[known] = text
        return known

    def condition(self, expression: Expression) -> str:
        """A condition on arguments."""
        if isinstance(expression, Name):
            flag = self._params.get(expression.name)
            if flag is not None and flag.type == "bool":
                return expression.name
        if isinstance(expression, Binary) and expression.operator == "==" and isinstance(expression.left, Name):
            param = self._params.get(expression.left.name)
            if param is not None and param.type == "int64" and isinstance(expression.right, Number):
                return f"{param.name} == {expression.right.value}"
        raise BindingError("has a shape that depends on more than a flag")

    def sizes(self, param: Parameter) -> str:
        """The sizes of a tensor."""
        if isinstance(param.shape, ShapeList):
            items = []
            for one in param.shape.dimensions:
                if one.kind != "formula":
                    raise BindingError("has a size that only the call says")
                items.append(self._size(one.formula.expression))
            return _list(items)
        if isinstance(param.shape, ShapeRule):
            return self._rule(param.shape.formula.expression)
        raise BindingError("has no rule for its shape")

    def _rule(self, expression: Expression) -> str:
        if not isinstance(expression, Call):
            raise BindingError("has a shape that no rule says")
        if expression.function == "list":
            return _list([self._size(one) for one in expression.arguments])
        if expression.function == "one_of":
            return self._rule(expression.arguments[0])
        if expression.function == "where":
            condition, yes, no = expression.arguments
            return f"({self.condition(condition)} ? {self._rule(yes)} : {self._rule(no)})"
        if expression.function in ("same", "sizes") and isinstance(expression.arguments[0], Name):
            other = self._params[expression.arguments[0].name]
            if other.type == "tensor" and other.direction == "in" and not other.nullable:
                return f"sizes_of({other.name})"
            if other.type == "tensor":
                return self.sizes(other)
        raise BindingError(f"has a shape by the rule {expression.function}")


def _list(items: Sequence[str]) -> str:
    return f"Sizes{{{', '.join(items)}}}"


def dtype_of(function: Function, param: Parameter) -> tuple[str, str]:
    """The argument that a result is like, and its dtype in C++."""
    first = next((p.name for p in function.params if p.type == "tensor" and p.direction == "in" and not p.nullable), "")
    if not first:
        raise BindingError("is like no tensor")
    if isinstance(param.dtype, DtypeList):
        if len(param.dtype.dtypes) != 1:
            raise BindingError("may have several dtypes")
        return first, f"at::k{known_dtypes()[param.dtype.dtypes[0]].aten}"
    rule = rule_of(param)
    if rule is None or rule[0] not in ("same", "to_real", *CONVERSIONS) or not rule[1]:
        raise BindingError("has a dtype that no rule says")
    other = function.param(rule[1][0])
    if other is None or other.type != "tensor" or other.nullable:
        raise BindingError("has the dtype of what may be absent")
    if other.direction != "in":
        return dtype_of(function, other)
    convert = {"same": "", "to_real": "c10::toRealValueType", **CONVERSIONS}[rule[0]]
    stored = f"{other.name}.scalar_type()"
    return other.name, f"{convert}({stored})" if convert else stored
