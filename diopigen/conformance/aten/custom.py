"""Operators of other libraries than ATen in the place of overloads: a file says which functions of the spec they are.

    operators:
      diopiNms: [{overload: 'torchvision::nms', names: {boxes: dets}}]
      diopiRMSNorm: [{overload: 'mylib::rms_norm', without: [inv_rms, normalized_shape]}]

An entry is as under `aten` in the spec: arguments go by name, else by order among those of a kind; `names` has the
others, `bind` what the operator fixes, and `arguments` the values of those that no parameter has. Parameters in
`without` it does not have: results among them are not compared. Their schemas are those of the torch that is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from diopigen.diagnostics import Sink, did_you_mean
from diopigen.ir.aten_model import Overload
from diopigen.ir.lower import defaults_of, items_of, lower_overloads, text_of
from diopigen.ir.model import Function, Header, Interface
from diopigen.spec.grammar_words import NAMES, overload_list
from diopigen.spec.nodes import MappingNode, Node
from diopigen.spec.schema import Field, LiteralShape, MapShape, RecordShape, TextShape, validate
from diopigen.spec.yaml_reader import load_yaml

_NAME = r"[A-Za-z_][A-Za-z0-9_]*::[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?"
_OPERATOR = TextShape(_NAME, what="an operator such as torchvision::nms")
_MORE = {
    "without": Field(NAMES, "parameters that the operator lacks"),
    "arguments": Field(MapShape(LiteralShape()), "arguments that no parameter has, with values"),
}
SHAPE = RecordShape(
    "operators",
    {
        "operators": Field(
            MapShape(overload_list(_OPERATOR, **_MORE)),
            "functions of the interface with the operators that are called in their place",
            required=True,
        )
    },
)
"""The grammar of the file."""


def with_operators(interface: Interface, file: str, sink: Sink) -> Interface:
    """The interface with the overloads of a file in place of all others. What is wrong with it goes to `sink`."""
    root = load_yaml(Path(file), file, sink)
    if root is None or not validate(root, SHAPE, "the file of operators", sink):
        return interface
    assert isinstance(root, MappingNode)
    entries = root.get("operators")
    assert isinstance(entries, MappingNode)
    functions = {function.name: function for function in interface.functions}
    found: dict[str, tuple[Overload, ...]] = {}
    for name, entry in entries.entries.items():
        if name not in functions:
            message = f"the interface has no function '{name}'"
            sink.error("operator-unknown-function", message, entry.key_span, fix=did_you_mean(name, functions))
            continue
        overloads = lower_overloads(entry.value)
        found[name] = tuple(map(_with_more, overloads, items_of(entry.value)))
        _check_names(functions[name], found[name], sink)
    return _replaced(interface, found)


def _with_more(overload: Overload, node: Node) -> Overload:
    """The overload with what the spec's entries do not have."""
    if not isinstance(node, MappingNode):
        return overload
    spans = {text_of(name): name.span for name in items_of(node.get("without"))}
    arguments = defaults_of(node.get("arguments"))
    return replace(overload, without=frozenset(spans), arguments=arguments, spans={**overload.spans, **spans})


def _check_names(function: Function, overloads: tuple[Overload, ...], sink: Sink) -> None:
    for overload in overloads:
        for name, span in overload.spans.items():
            if function.param(name) is None:
                fix = did_you_mean(name, [param.name for param in function.params])
                message = f"{function.name} has no parameter '{name}'"
                sink.error("operator-unknown-parameter", message, span, fix=fix)


def _replaced(interface: Interface, overloads: Mapping[str, tuple[Overload, ...]]) -> Interface:
    def header(one: Header) -> Header:
        return replace(one, functions=tuple(replace(f, aten=overloads.get(f.name, ())) for f in one.functions))

    return replace(interface, headers=tuple(header(one) for one in interface.headers))
