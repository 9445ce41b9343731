"""Changes of the parameters of the base in a variant."""

from __future__ import annotations

from diopigen.diagnostics import Sink, Span, did_you_mean
from diopigen.ir.lower import items_of, text_of
from diopigen.ir.model import Function
from diopigen.spec.nodes import Entry, MappingNode, ScalarNode

TARGET, OPERAND = "input", "other"
"""Default target and operands of variants."""
_WRITTEN = ("out", "partial_out")
# What a tensor has and a scalar has not.
_TENSOR_KEYS = frozenset(
    {
        "shape",
        "direction",
        "nullable",
        "free",
        "mutable",
        "const",
        "count",
        "rank",
        "domain",
        "typical",
        "unordered",
        "ties",
    }
)


def first_output(params: list[MappingNode]) -> str | None:
    return next((text_of(p.get("name")) for p in params if text_of(p.get("direction")) in _WRITTEN), None)


def variant_params(
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
    """Changes of the parameters of the base in a variant. `fit` is False once a change does not match it."""

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
        target = text_of(target_node) or TARGET
        output = first_output(self.params)
        if output is None:
            fix = "remove the variant, or give the base an output"
            self._mismatch(f"{self.base.operator} has no output that could be in place", self.variant.span, fix)
        else:
            self.dropped.add(output)
        if self._is_known(target, (target_node or self.variant).span, "target"):
            self.keys[target]["direction"] = _entry("direction", "inout", self.variant.span)

    def make_scalars(self) -> None:
        """The operands that the variant names are numbers; `OPERAND` where it names none."""
        nodes = [item for item in items_of(self.variant.get("operands")) if isinstance(item, ScalarNode)]
        for name, span in [(text_of(item), item.span) for item in nodes] or [(OPERAND, self.variant.span)]:
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
    node = ScalarNode.created(value, span)
    return Entry(key, node, node)
