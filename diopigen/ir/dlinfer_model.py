"""Functions of the interface for the operators of dlinfer, from the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diopigen.diagnostics import Span


@dataclass(frozen=True, slots=True)
class DlinferOperator:
    """An operator of the registry and the function that computes it, or none. Values are expressions of Python;
    `require` has sentences by condition, `before` expressions by variable."""

    name: str
    parameters: tuple[str, ...]
    require: Mapping[str, str]
    before: Mapping[str, str]
    function: str
    arguments: Mapping[str, str]
    returns: str
    span: Span = field(default=Span(""), compare=False)


@dataclass(frozen=True, slots=True)
class Dlinfer:
    """Operators of a release of dlinfer."""

    release: str = ""
    operators: tuple[DlinferOperator, ...] = ()
