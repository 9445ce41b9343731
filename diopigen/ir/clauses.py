"""Values of keys that several parameters or operators have."""

from __future__ import annotations

from dataclasses import dataclass

from diopigen.diagnostics import Span
from diopigen.spec.expression import Expression
from diopigen.spec.interval import Interval
from diopigen.spec.nodes import Scalar, inside


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression with the YAML scalar that it is in."""

    expression: Expression
    text: str
    span: Span
    plain: bool = True

    def at(self, offset: int, length: int = 1) -> Span:
        """The place of `length` characters at `offset` in the text."""
        return inside(self.span, self.text, offset, length)


@dataclass(frozen=True, slots=True)
class Default:
    """A default value: a scalar, or a tuple for `sizes`."""

    value: Scalar | tuple[Scalar, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a parameter that says which values are legal: `dim_of`, `range`, `length` or `rank`.

    `form` is the name of a parameter for `dim_of`; else an interval, the numbers of which it is one, or an expression
    that it equals. `ir.keys` makes a constraint of it.
    """

    parameter: str
    name: str
    form: str | Interval | Expression | tuple[int, ...]
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class OpenOrder:
    """Condition for any order of an output's entries: the predicate `where`, each line along a dimension separately.
    `along` is that dimension, or the parameter that names it. The outputs of a call move together."""

    where: Formula
    along: str | int
    span: Span
    along_span: Span


@dataclass(frozen=True, slots=True)
class OpenTies:
    """Condition for interchangeable equal elements of an output: the predicate `where`. An output with `of` holds
    indices into that input along a dimension, no index twice; an index then stands for all that select an equal
    element. `along` is the dimension, or the parameter that names it; null stands for the last one."""

    where: Formula
    of: str
    along: str | int
    span: Span
    of_span: Span
    along_span: Span


@dataclass(frozen=True, slots=True)
class InPlace:
    """Permitted position of a buffer in another one: from element `offset` of `buffer` on."""

    buffer: str
    offset: Formula
    span: Span


@dataclass(frozen=True, slots=True)
class Elements:
    """Content of a buffer: `count` elements whose dtype is the parameter `of`. On ranks where `on` does not hold, the
    buffer is not used and may be null. Without `in_place` it shares no memory with other buffers."""

    count: Formula
    of: str
    on: Formula | None
    in_place: InPlace | None
