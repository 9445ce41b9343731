"""Operator entries to C functions: the base, and the in-place and Scalar forms that follow from it.

A variant is built from the base's YAML nodes, so that whatever it does not say for itself keeps the place it came from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.keys import key_constraints
from diopigen.ir.lower import (
    Lowering,
    flag_of,
    items_of,
    key_spans,
    lower_cases,
    lower_overloads,
    mappings_of,
    optional_text,
    text_of,
)
from diopigen.ir.model import BASE, Function, Kernel, Parameter
from diopigen.ir.promotion import promoted
from diopigen.ir.types import TYPES
from diopigen.spec.nodes import Entry, MappingNode, Node, ScalarNode

SUFFIXES = {"inplace": "Inp", "scalar": "Scalar", "inplace_scalar": "InpScalar"}
_WRITTEN = ("out", "partial_out")
# What a tensor has and a scalar has not.
_TENSOR_KEYS = frozenset({"shape", "direction", "nullable", "free", "mutable", "const", "count", "rank", "domain"})


@dataclass(frozen=True, slots=True)
class Place:
    """The file that an entry is in: its family and header."""

    family: str
    header: str


def expand(node: MappingNode, place: Place, lowering: Lowering, sink: Sink) -> list[Function]:
    """The functions of one operator entry, the base first."""
    params = list(mappings_of(node.get("params")))
    base = _function(node, node, BASE, text_of(node.get("name")), params, place, lowering)
    if base.kernel is not None:
        base = replace(base, kernel=replace(base.kernel, promoted=promoted(base.kernel, base.params)))
    functions = [base]
    for item in items_of(node.get("variants")):
        variant = item if isinstance(item, MappingNode) else MappingNode.empty(item.span)
        kind = text_of(variant.get("kind")) if isinstance(item, MappingNode) else text_of(item)
        expanded = _variant_params(params, variant, kind, base, sink)
        if expanded is None:
            continue
        name = text_of(variant.get("name")) or base.operator + SUFFIXES[kind]
        function = _function(node, variant, kind, name, expanded, place, lowering)
        if "inplace" in kind and function.kernel is not None and variant.get("kernel") is None:
            target = text_of(variant.get("target")) or "input"
            function = replace(function, kernel=_retarget(function.kernel, _first_output(params), target))
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
    place: Place,
    lowering: Lowering,
) -> Function:
    """A function from the operator's entry, with the variant's keys first (the operator itself for the base)."""

    def get(key: str) -> Node | None:
        found = variant.get(key)
        return found if found is not None else operator.get(key)

    params = tuple(_with_direction(lowering.parameter(param)) for param in param_nodes)
    return Function(
        name=f"diopi{name}",
        doc=text_of(get("doc")),
        operator=text_of(operator.get("name")),
        variant=kind,
        family=place.family,
        header=place.header,
        params=params,
        span=(variant.get("name") or (operator.get("name") if kind == BASE else None) or variant).span,
        kernel=lowering.kernel(get("kernel"), params),
        constraints=(*key_constraints(params), *lowering.constraints(get("constraints"))),
        cases=lower_cases(get("cases")),
        aten=lower_overloads(variant.get("aten")),
        backward_of=optional_text(operator.get("backward_of")),
        tolerance=optional_text(operator.get("tolerance")),
        since=optional_text(operator.get("since")) or "1.0",
        deprecated=optional_text(get("deprecated")),
        weak=text_of(operator.get("linkage")) != "strong",
        returns=text_of(operator.get("returns")) or "status",
        context=flag_of(operator.get("context"), True),
        irregular_order=optional_text(operator.get("irregular_order")),
        draft=flag_of(operator.get("draft")),
        source=optional_text(operator.get("source")),
        spans=key_spans(operator) | key_spans(variant),
    )


def _with_direction(param: Parameter) -> Parameter:
    info = TYPES.get(param.type)
    if param.direction or (info is not None and info.needs_direction):
        return param
    return replace(param, direction="in")


def _first_output(params: list[MappingNode]) -> str | None:
    return next((text_of(p.get("name")) for p in params if text_of(p.get("direction")) in _WRITTEN), None)


def _variant_params(
    params: list[MappingNode], variant: MappingNode, kind: str, base: Function, sink: Sink
) -> list[MappingNode] | None:
    """The parameter nodes of a variant, or None where it does not match its base."""
    names = [text_of(param.get("name")) for param in params]
    good = True

    def known(name: str, span: Span, role: str) -> bool:
        if name in names:
            return True
        fix = did_you_mean(name, names) or f"parameters of {base.operator}: {', '.join(names)}"
        sink.error("variant-mismatch", f"{base.operator} has no parameter '{name}' ({role} of {kind})", span, fix=fix)
        return False

    changes: dict[str, dict[str, Entry]] = {name: {} for name in names}
    dropped: set[str] = set()
    if "inplace" in kind:
        target_node = variant.get("target")
        target = text_of(target_node) or "input"
        output = _first_output(params)
        if output is None:
            fix = "remove the variant, or give the base an output"
            sink.error(
                "variant-mismatch", f"{base.operator} has no output that could be in place", variant.span, fix=fix
            )
            good = False
        else:
            dropped.add(output)
        if known(target, (target_node or variant).span, "target"):
            changes[target]["direction"] = _entry("direction", "inout", variant.span)
        else:
            good = False
    operand_nodes = [item for item in items_of(variant.get("operands")) if isinstance(item, ScalarNode)]
    operands = [(text_of(item), item.span) for item in operand_nodes] or [("other", variant.span)]
    scalars: set[str] = set()
    if "scalar" in kind:
        for name, span in operands:
            if known(name, span, "operand"):
                scalars.add(name)
                changes[name]["type"] = _entry("type", "scalar", span)
            else:
                good = False
    overrides = variant.get("params")
    if isinstance(overrides, MappingNode):
        for name, entry in overrides.entries.items():
            if not known(name, entry.key_span, "override"):
                good = False
            elif name in dropped:
                message = f"'{name}' does not exist in the {kind} form of {base.operator}"
                sink.error("variant-mismatch", message, entry.key_span, fix="remove the override")
                good = False
            elif isinstance(entry.value, MappingNode):
                changes[name].update(entry.value.entries)
    if not good:
        return None
    found = []
    for name, param in zip(names, params, strict=True):
        if name in dropped:
            continue
        entries = dict(param.entries)
        if name in scalars:
            entries = {key: entry for key, entry in entries.items() if key not in _TENSOR_KEYS}
        found.append(param.with_entries(entries | changes[name]))
    return found


def _entry(key: str, value: str, span: Span) -> Entry:
    node = ScalarNode.made(value, span)
    return Entry(key, node, node)


def _retarget(kernel: Kernel, output: str | None, target: str) -> Kernel:
    """The base's kernel with its first output written to the target instead."""
    results = tuple((target if name == output else name, formula) for name, formula in kernel.results)
    return replace(kernel, results=results)
