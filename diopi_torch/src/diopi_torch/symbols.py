"""The symbols of a graph: where their values come from, and PyTorch's expressions over them as numbers of a plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
import torch.fx

from .graph_nodes import DataDependent
from .symbolic import Encoder, Symbolic, Table, Untranslated, as_real, maximum, minimum

SIZES = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass(frozen=True)
class Source:
    """A symbol that a call of the graph has the value of: a number that is passed, or the size of an input."""

    symbol: Any
    position: int
    """Among the placeholders."""
    where: dict[str, int]
    """As the document has it: `number`, or `input` and `dimension`."""
    least: float
    most: float

    def value(self, arguments: Sequence[Any]) -> int:
        """For the arguments of a call."""
        given = arguments[self.position]
        return int(given.shape[self.where["dimension"]] if "dimension" in self.where else given)


def sources_of(graph: torch.fx.Graph, given: Mapping[str, Any]) -> list[Source]:
    """The symbols of a graph; inputs that are `given` are the same in all runs."""
    found: dict[Any, Source] = {}
    placeholders = [
        (k, node.meta.get("val"))
        for k, node in enumerate(node for node in graph.nodes if node.op == "placeholder")
        if node.name not in given
    ]
    numbers = [(k, value) for k, value in placeholders if isinstance(value, torch.SymInt)]
    for number, (k, value) in enumerate(numbers):
        _add(found, value, k, {"number": number})
    tensors = [(k, value) for k, value in placeholders if isinstance(value, torch.Tensor)]
    for number, (k, value) in enumerate(tensors):
        for dimension, size in enumerate(value.shape):
            if isinstance(size, torch.SymInt):
                _add(found, size, k, {"input": number, "dimension": dimension})
    return list(found.values())


def _add(found: dict[Any, Source], value: torch.SymInt, position: int, where: dict[str, int]) -> None:
    expression = value.node.expr
    if not expression.is_Symbol or expression in found:
        return
    least, most = -math.inf, math.inf
    limits = value.node.shape_env.var_to_range.get(expression)
    if limits is not None:
        least, most = (int(each) if each.is_Integer else math.inf * sign for each, sign in zip(
            (limits.lower, limits.upper), (-1, 1), strict=True))  # fmt: skip
    found[expression] = Source(expression, position, where, least, most)


class Symbols:
    """The symbols of a plan. An open plan is for all sizes that keep to its conditions; one that is not, for these."""

    def __init__(
        self, sources: Sequence[Source], values: Mapping[Any, Any], is_open: bool, names: Mapping[Any, str]
    ) -> None:
        self.sources = sources
        self.names = names
        self.values = values
        self.is_open = is_open
        self.table = Table()
        self._known = {
            source.symbol: self.table.symbol(k, values[source.symbol], source.least, source.most)
            for k, source in enumerate(sources)
            if is_open
        }
        self._numbers: dict[Any, Any] = {}

    def number(self, value: Any) -> Any:
        """A size of PyTorch's. Raises `DataDependent` where a symbol has no value yet, `Untranslated`."""
        expression = value.node.expr
        found = self._numbers.get(expression)
        if found is None:
            found = self._numbers[expression] = self._translated(expression)
        if isinstance(found, Symbolic):
            return as_real(found) if isinstance(value, torch.SymFloat) else found
        kind = int if isinstance(value, torch.SymInt) else float if isinstance(value, torch.SymFloat) else bool
        return kind(found)

    def _translated(self, expression: Any) -> Any:
        if not self.is_open:
            expression = expression.xreplace({symbol: _as_sympy(value) for symbol, value in self.values.items()})
            if expression.free_symbols:
                raise DataDependent(str(expression))
            return expression
        unknown = expression.free_symbols - self._known.keys()
        if unknown & self.values.keys():
            raise Untranslated("an input that is a real number")
        if unknown:
            raise DataDependent(str(expression))
        return _Translation(self.table, self._known).of(expression)

    def require(self, guards: Sequence[Any]) -> None:
        """Adds conditions. Raises `Untranslated`."""
        for guard in guards:
            holds = self._translated(guard)
            if isinstance(holds, Symbolic):
                self.table.conditions[self.table.index(holds)] = None

    def document(self) -> list[dict[str, Any]]:
        """As a plan has them."""
        return [self._described(source) for source in self.sources]

    def _described(self, source: Source) -> dict[str, Any]:
        limits = (source.least, source.most) if self.is_open else (self.values[source.symbol],) * 2
        least, most = (None if math.isinf(each) else int(each) for each in limits)
        return {"name": self.names.get(source.symbol, str(source.symbol)), **source.where, "least": least, "most": most}

    def hints(self) -> list[int]:
        """The values that the plan was made with."""
        return [int(self.values[source.symbol]) for source in self.sources]

    def encoder(self) -> Encoder:
        """Writes the numbers of the plan."""
        return Encoder(self.table)


def _as_sympy(value: Any) -> Any:
    import sympy

    return sympy.sympify(value)


class _Translation:
    """PyTorch's expressions over known symbols."""

    def __init__(self, table: Table, known: Mapping[Any, Any]) -> None:
        self.table = table
        self.known = known

    def of(self, expression: Any) -> Any:
        """The number of an expression. Raises `Untranslated`."""
        if expression.is_Symbol:
            return self.known[expression]
        if expression.is_Integer:
            return int(expression)
        if expression.is_Float:
            return float(expression)
        name = type(expression).__name__
        if name in ("BooleanTrue", "BooleanFalse"):
            return name == "BooleanTrue"
        if name not in _TRANSLATED:
            raise Untranslated(f"the expression {name} in {expression}")
        return _TRANSLATED[name](self.table, *map(self.of, expression.args))


def _applied(operation: str) -> Callable[..., Any]:
    return lambda table, *operands: table.apply(operation, *operands)


def _swapped(operation: str) -> Callable[..., Any]:
    return lambda table, one, other: table.apply(operation, other, one)


def _power(table: Table, base: Any, exponent: Any) -> Any:
    if isinstance(exponent, int) and exponent < 0:
        raise Untranslated("a power with a negative exponent")
    return base**exponent


_TRANSLATED: dict[str, Callable[..., Any]] = {
    "Add": lambda table, *each: sum(each[1:], each[0]),
    "Mul": lambda table, *each: reduce(lambda one, other: one * other, each),
    "Pow": _power,
    "PowByNatural": _power,
    "FloatPow": lambda table, base, exponent: as_real(base) ** exponent,
    "FloorDiv": lambda table, one, other: one // other,
    "CleanDiv": lambda table, one, other: one // other,
    "Mod": lambda table, one, other: one % other,
    "PythonMod": lambda table, one, other: one % other,
    "Min": lambda table, *each: reduce(minimum, each),
    "Max": lambda table, *each: reduce(maximum, each),
    "IntTrueDiv": _applied("divide"),
    "FloatTrueDiv": _applied("divide"),
    "ToFloat": lambda table, one: as_real(one),
    "FloorToInt": _applied("floor"),
    "CeilToInt": _applied("ceiling"),
    "TruncToInt": _applied("truncate"),
    "RoundToInt": _applied("round"),
    "OpaqueUnaryFn_sqrt": _applied("square_root"),
    "Where": _applied("select"),
    "Equality": _applied("equal"),
    "Unequality": _applied("not_equal"),
    "StrictLessThan": _applied("less"),
    "LessThan": _applied("less_equal"),
    "StrictGreaterThan": _swapped("less"),
    "GreaterThan": _swapped("less_equal"),
    "And": _applied("both"),
    "Or": _applied("either"),
    "Not": _applied("negation"),
}
"""By the name of the class: those that PyTorch makes of operations on SymInts, SymFloats and SymBools."""
