"""Operators that one function computes together: the patterns of the spec, replaced in a module of Relax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from diopi_ffi.relax_table import Planned, Table, UnsupportedCallError, evaluated, fits, shape_of
from diopigen.emit.tvm.entries import argument, operator_name
from diopigen.ir.relax_model import FusedOperators
from diopigen.spec.expression import Call, Expression, Name, parse

_EITHER_ORDER = ("add", "multiply")


def fuse(module: Any, table: Table, has: Callable[[str], bool], replaced: Callable[..., Any]) -> Any:
    """Replaces operators of the module that one function of the library computes together. `replaced` makes the call
    of a plan, for the call of Relax that it replaces and the names of all that it computes; it raises
    `UnsupportedCallError` if they stay."""
    from tvm import relax

    for fused in table.fused:
        if not has(fused.function):
            continue
        for name, function in module.functions_items():
            if isinstance(function, relax.Function):
                module.update_func(name, _Pattern(fused, table, replaced).rewritten(function))
    return relax.transform.DeadCodeElimination()(module)


class _Pattern:
    """A pattern of the spec for TVM's matcher."""

    def __init__(self, fused: FusedOperators, table: Table, replaced: Callable[..., Any]) -> None:
        self._fused, self._table, self._replaced = fused, table, replaced
        self._names: dict[str, Any] = {}
        self._operators: dict[str, list[Any]] = {}
        self._pattern = self._built(parse(fused.match))

    def _built(self, expression: Expression) -> Any:
        """The pattern of an expression: operators as calls, names as whatever is there."""
        from tvm.relax import dpl

        if isinstance(expression, Name):
            return self._names.setdefault(expression.name, dpl.wildcard())
        assert isinstance(expression, Call), "the rules of the spec have checked it"
        arguments = [self._built(one) for one in expression.arguments]
        name = operator_name(expression.function)
        operator = dpl.is_op(f"relax.{name}")
        # A reshape has its shape for a second operand.
        forms = [operator(*arguments, dpl.wildcard()) if name == "reshape" else operator(*arguments)]
        if name in _EITHER_ORDER:
            forms.append(operator(*reversed(arguments)))
        self._operators[name] = forms
        return forms[0] if len(forms) == 1 else forms[0] | forms[1]

    def rewritten(self, function: Any) -> Any:
        from tvm.relax import dpl

        return dpl.rewrite_call(self._pattern, self._rewritten, function)

    def _rewritten(self, call: Any, matched: Mapping[Any, Any]) -> Any:
        calls = {name: next(matched[one] for one in forms if one in matched) for name, forms in self._operators.items()}
        values = {name: matched[pattern] for name, pattern in self._names.items()}
        try:
            self._require(calls, values)
            return self._replaced(self._planned(call, calls, values), call, [found.op.name for found in calls.values()])
        except UnsupportedCallError:
            return call

    def _planned(self, call: Any, calls: Mapping[str, Any], values: Mapping[str, Any]) -> Planned:
        function = self._table.function(self._fused.function)
        arguments = dict(values)
        if self._fused.operator:
            inner = calls[self._fused.operator]
            (entry,) = self._table.entries(f"relax.{self._fused.operator}")
            for name, value in entry.where.items():
                if not fits(getattr(inner.attrs, name), value):
                    raise UnsupportedCallError(f"{name} is {getattr(inner.attrs, name)}")
            for name, value in entry.arguments.items():
                if name not in values and not (isinstance(value, str) and _is_operand(value)):
                    arguments[name] = evaluated(function, name, value, inner)
        return self._table.call(function, arguments, [call.ty])

    def _require(self, calls: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Raises `UnsupportedCallError` where a condition of the pattern does not hold."""
        for operator, where in self._fused.where.items():
            for name, allowed in where.items():
                if not fits(getattr(calls[operator].attrs, name), allowed):
                    raise UnsupportedCallError(f"{name} of {operator}")
        for name, shape in self._fused.shapes.items():
            found = shape_of(values[name] if name in values else calls[name])
            if len(found) != len(shape) or any(
                not self._is_size(expected, size, values) for expected, size in zip(shape, found, strict=True)
            ):
                raise UnsupportedCallError(f"the shape of {name}")

    def _is_size(self, expected: Any, size: int, values: Mapping[str, Any]) -> bool:
        if isinstance(expected, int):
            return size == expected
        name, _, index = str(expected).partition(".")
        return expected == "any" or size == shape_of(values[name])[int(index)]


def _is_operand(text: str) -> bool:
    found = argument(text)
    return isinstance(found, Name) and found.name[0] == "x" and found.name[1:].isdecimal()
