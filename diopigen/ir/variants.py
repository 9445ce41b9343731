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
    changes = _Changes(params, variant, kind, base, sink)
    if "inplace" in kind:
        changes.write_in_place()
    if "scalar" in kind:
        changes.make_scalars()
    changes.override()
    return changes.applied() if changes.fit else None


class _Changes:
    """What a variant changes in the parameters of its base. `fit` is False once a change does not match it."""

    def __init__(self, params: list[MappingNode], variant: MappingNode, kind: str, base: Function, sink: Sink) -> None:
        self.params, self.names = params, [text_of(param.get("name")) for param in params]
        self.variant, self.kind, self.base, self.sink = variant, kind, base, sink
        self.keys: dict[str, dict[str, Entry]] = {name: {} for name in self.names}
        self.dropped: set[str] = set()
        self.scalars: set[str] = set()
        self.fit = True

    def write_in_place(self) -> None:
        """The first output goes; the target is written instead."""
        target_node = self.variant.get("target")
        target = text_of(target_node) or "input"
        output = _first_output(self.params)
        if output is None:
            fix = "remove the variant, or give the base an output"
            self._mismatch(f"{self.base.operator} has no output that could be in place", self.variant.span, fix)
        else:
            self.dropped.add(output)
        if self._is_known(target, (target_node or self.variant).span, "target"):
            self.keys[target]["direction"] = _entry("direction", "inout", self.variant.span)

    def make_scalars(self) -> None:
        """The operands that the variant names are numbers; `other` where it names none."""
        nodes = [item for item in items_of(self.variant.get("operands")) if isinstance(item, ScalarNode)]
        for name, span in [(text_of(item), item.span) for item in nodes] or [("other", self.variant.span)]:
            if self._is_known(name, span, "operand"):
                self.scalars.add(name)
                self.keys[name]["type"] = _entry("type", "scalar", span)

    def override(self) -> None:
        """Keys of parameters that the variant says for itself."""
        overrides = self.variant.get("params")
        if not isinstance(overrides, MappingNode):
            return
        for name, entry in overrides.entries.items():
            if not self._is_known(name, entry.key_span, "override"):
                continue
            if name in self.dropped:
                message = f"'{name}' does not exist in the {self.kind} form of {self.base.operator}"
                self._mismatch(message, entry.key_span, "remove the override")
            elif isinstance(entry.value, MappingNode):
                self.keys[name].update(entry.value.entries)

    def applied(self) -> list[MappingNode]:
        """The parameters of the variant, in the order of the base."""
        found = []
        for name, param in zip(self.names, self.params, strict=True):
            if name in self.dropped:
                continue
            entries = dict(param.entries)
            if name in self.scalars:
                entries = {key: entry for key, entry in entries.items() if key not in _TENSOR_KEYS}
            found.append(param.with_entries(entries | self.keys[name]))
        return found

    def _is_known(self, name: str, span: Span, role: str) -> bool:
        if name in self.names:
            return True
        fix = did_you_mean(name, self.names) or f"parameters of {self.base.operator}: {', '.join(self.names)}"
        self._mismatch(f"{self.base.operator} has no parameter '{name}' ({role} of {self.kind})", span, fix)
        return False

    def _mismatch(self, message: str, span: Span, fix: str) -> None:
        self.sink.error("variant-mismatch", message, span, fix=fix)
        self.fit = False


def _entry(key: str, value: str, span: Span) -> Entry:
    node = ScalarNode.made(value, span)
    return Entry(key, node, node)


def _retarget(kernel: Kernel, output: str | None, target: str) -> Kernel:
    """The base's kernel with its first output written to the target instead."""
    results = tuple((target if name == output else name, formula) for name, formula in kernel.results)
    return replace(kernel, results=results)
