"""Functions of the interface for the operators of Relax, from the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from diopigen.diagnostics import Span


@dataclass(frozen=True, slots=True)
class RelaxOperator:
    """An operator and the function that computes it. `arguments` are expressions as the spec has them: a number or bool
    is itself, in a text `x0` is an operand and another name an attribute. `where` are the values that attributes may
    have, `ranks` the dimensions of operands; leading dimensions beyond `merged` are merged; `returned` are operands
    that are results as well; `several` names how more than one call computes it."""

    relax: str
    function: str
    arguments: Mapping[str, Any]
    where: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    merged: int = 0
    returned: tuple[str, ...] = ()
    several: str = ""
    span: Span = field(default=Span(""), compare=False)


@dataclass(frozen=True, slots=True)
class FusedOperators:
    """Operators that one function computes together. `match` is their expression, in which names are parameters;
    `operator` has the attributes that are arguments. `where` and `shapes` are conditions."""

    doc: str
    match: str
    function: str
    operator: str = ""
    where: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)
    shapes: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    span: Span = field(default=Span(""), compare=False)


@dataclass(frozen=True, slots=True)
class Relax:
    """Properties of a release of TVM. `named` are operators of tensors alone, with the name that ATen has for each."""

    release: str = ""
    views: tuple[str, ...] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    named_spans: Mapping[str, Span] = field(default_factory=dict, compare=False)
    operators: tuple[RelaxOperator, ...] = ()
    fused: tuple[FusedOperators, ...] = ()
