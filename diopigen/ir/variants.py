"""Operator entries to C functions: the base, and the in-place and Scalar forms that follow from it.

A variant is built from the base's YAML nodes, so that whatever it does not say for itself keeps the place it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from diopigen.diagnostics import Sink
from diopigen.ir.c_types import is_written_through
from diopigen.ir.keys import key_constraints
from diopigen.ir.lower import (
    Lowering,
    flag_of,
    items_of,
    key_spans,
    lower_cases,
    lower_fused,
    lower_overloads,
    mappings_of,
    optional_text,
    text_of,
)
from diopigen.ir.model import BASE, Function, Kernel, Parameter
from diopigen.ir.naming import DIOPI, Naming
from diopigen.ir.promotion import promoted
from diopigen.ir.types import TYPES
from diopigen.ir.variant_params import TARGET, first_output, variant_params
from diopigen.spec.nodes import MappingNode, Node

SUFFIXES = {"inplace": "Inp", "scalar": "Scalar", "inplace_scalar": "InpScalar"}


@dataclass(frozen=True, slots=True)
class Section:
    """The file that an entry is in: its family and header, and how its functions are called."""

    family: str
    header: str
    naming: Naming = DIOPI


def expand(node: MappingNode, section: Section, lowering: Lowering, sink: Sink) -> list[Function]:
    """The functions of one operator entry, the base first."""
    params = list(mappings_of(node.get("params")))
    base = _function(node, node, BASE, text_of(node.get("name")), params, section, lowering)
    if base.kernel is not None:
        base = replace(base, kernel=replace(base.kernel, promoted=promoted(base.kernel, base.params)))
    functions = [base]
    for item in items_of(node.get("variants")):
        variant = item if isinstance(item, MappingNode) else MappingNode.empty(item.span)
        kind = text_of(variant.get("kind")) if isinstance(item, MappingNode) else text_of(item)
        expanded = variant_params(params, variant, kind, base, sink)
        if expanded is None:
            continue
        name = text_of(variant.get("name")) or base.operator + SUFFIXES[kind]
        function = _function(node, variant, kind, name, expanded, section, lowering)
        if "inplace" in kind and function.kernel is not None and variant.get("kernel") is None:
            target = text_of(variant.get("target")) or TARGET
            function = replace(function, kernel=_retarget(function.kernel, first_output(params), target))
        if function.kernel is not None:
            operands = base.kernel.promoted if base.kernel is not None else promoted(function.kernel, function.params)
            function = replace(function, kernel=replace(function.kernel, promoted=operands))
        functions.append(function)
    return functions


def _function(
    operator: MappingNode,
    variant: MappingNode,
    kind: str,
    name: str,
    param_nodes: list[MappingNode],
    section: Section,
    lowering: Lowering,
) -> Function:
    """A function from the operator's entry, with the variant's keys first (the operator itself for the base)."""

    def get(key: str) -> Node | None:
        found = variant.get(key)
        return found if found is not None else operator.get(key)

    params = tuple(with_direction(lowering.parameter(param)) for param in param_nodes)
    return Function(
        name=section.naming.full(name),
        doc=text_of(get("doc")),
        operator=text_of(operator.get("name")),
        variant=kind,
        family=section.family,
        header=section.header,
        params=params,
        span=(variant.get("name") or (operator.get("name") if kind == BASE else None) or variant).span,
        kernel=lowering.kernel(get("kernel"), params),
        by_hand=text_of(operator.get("by_hand")),
        constraints=(*key_constraints(params), *lowering.constraints(get("constraints"))),
        cases=lower_cases(get("cases")),
        aten=lower_overloads(variant.get("aten")),
        backward_of=optional_text(operator.get("backward_of")),
        fused=lower_fused(operator.get("fused")) if kind == BASE else (),
        functional=text_of(operator.get("functional")) if kind == BASE else "",
        planned=kind == BASE and flag_of(operator.get("planned")),
        tolerance=optional_text(operator.get("tolerance")),
        starter=text_of(operator.get("starter")),
        unspecified=tuple(text_of(item) for item in items_of(operator.get("unspecified"))),
        latitude=lowering.latitude(operator.get("latitude")),
        work=lowering.work(operator.get("work")),
        since=optional_text(get("since")) or "1.0",
        deprecated=optional_text(get("deprecated")),
        weak=text_of(operator.get("linkage")) != "strong",
        returns=text_of(operator.get("returns")) or "status",
        context=flag_of(operator.get("context"), True),
        irregular_order=optional_text(operator.get("irregular_order")),
        draft=flag_of(operator.get("draft")),
        source=optional_text(operator.get("source")),
        naming=section.naming,
        spans=key_spans(operator) | key_spans(variant),
    )


def with_direction(param: Parameter) -> Parameter:
    """The parameter with the direction that its type leaves no choice of."""
    info = TYPES.get(param.type)
    if param.direction or (info is not None and info.needs_direction) or is_written_through(param.c_type):
        return param
    return replace(param, direction="in")


def _retarget(kernel: Kernel, output: str | None, target: str) -> Kernel:
    """The base's kernel with its first output written to the target instead."""
    results = tuple((target if name == output else name, formula) for name, formula in kernel.results)
    return replace(kernel, results=results)
