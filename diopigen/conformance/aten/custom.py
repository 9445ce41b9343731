"""Operators of other libraries than ATen in the place of overloads: a file says which functions of the spec they are.

    operators:
      diopiNms: [{overload: 'torchvision::nms', names: {boxes: dets}}]
      diopiRMSNorm: [{overload: 'mylib::rms_norm', without: [inv_rms, normalized_shape]}]

An entry is as under `aten` in the spec: arguments go by name, else by order among those of a kind; `names` has the
others, `bind` what the operator fixes, and `arguments` the values of those that no parameter has. Parameters in
`without` it does not have: results among them are not compared. A function that is the gradient of an operator names
its results in `gradients`, and in `grad_outputs` the gradients that it starts from. Schemas are those of the torch that
is called.

`composed.yaml` is such a file: operators of ATen that the glue does not serve, because torch composes them of others or
because they are served for another function. They are called in addition to those of the spec.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from diopigen.diagnostics import Sink, did_you_mean
from diopigen.ir.aten_model import Overload
from diopigen.ir.lower import defaults_of, items_of, lower_overloads, mappings_of, text_of
from diopigen.ir.model import Function, Header, Interface
from diopigen.spec.grammar_words import NAMES, WORD, overload_list
from diopigen.spec.nodes import MappingNode, Node
from diopigen.spec.schema import EitherShape, Field, ListShape, LiteralShape, MapShape, RecordShape, TextShape, validate
from diopigen.spec.yaml_reader import load_yaml

_REASON = RecordShape(
    "reason",
    {
        "reason": Field(TextShape(), "why there is none", required=True),
        "functions": Field(ListShape(TextShape(), non_empty=True), "globs over short names"),
        "families": Field(NAMES, "families of which all functions have none"),
    },
)
_SPACE = r"[A-Za-z_][A-Za-z0-9_]*::"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)?"
_MORE = {
    "without": Field(NAMES, "parameters that the operator lacks"),
    "arguments": Field(
        MapShape(EitherShape((LiteralShape(), ListShape(LiteralShape())))),
        "arguments that no parameter has, with values",
    ),
    "gradients": Field(MapShape(WORD), "results that autograd computes, with the operands that they are gradients of"),
    "grad_outputs": Field(NAMES, "operands that are the gradients of its results"),
}


def _shape(operator: TextShape, **more: Field) -> RecordShape:
    """The grammar of a file, with the one of an operator's name."""
    what = "functions of the interface with the operators that are called in their place"
    fields = {"operators": Field(MapShape(overload_list(operator, **_MORE)), what, required=True), **more}
    return RecordShape("operators", fields)


SHAPE = _shape(TextShape(_SPACE + _NAME, what="an operator such as torchvision::nms"))
"""The grammar of the file."""
_COMPOSED_SHAPE = _shape(
    TextShape(_NAME, what="an operator such as conv3d"), unbound=Field(ListShape(_REASON), "functions that have none")
)


COMPOSED = Path(__file__).with_name("composed.yaml")


@functools.cache
def _composed() -> MappingNode:
    sink = Sink()
    root = load_yaml(COMPOSED, COMPOSED.name, sink)
    assert root is not None and validate(root, _COMPOSED_SHAPE, "the file of operators", sink), sink.sorted()
    assert isinstance(root, MappingNode)
    return root


def with_composed(interface: Interface) -> Interface:
    """The interface with the operators of `composed.yaml` in addition."""
    entries = _composed().get("operators")
    assert isinstance(entries, MappingNode)
    functions = {function.name: function for function in interface.functions}
    more = {
        name: (*functions[name].aten, *map(_with_more, lower_overloads(entry.value), items_of(entry.value)))
        for name, entry in entries.entries.items()
        if name in functions
    }
    return _replaced(interface, {function.name: function.aten for function in functions.values()} | more)


def unbound(interface: Interface) -> dict[str, str]:
    """Functions that no operator of PyTorch is called for, with the reason, empty where `composed.yaml` has none."""
    reasons = [
        (text_of(one.get("reason")), _texts(one.get("families")), _texts(one.get("functions")))
        for one in mappings_of(_composed().get("unbound"))
    ]

    def reason(function: Function) -> str:
        for text, families, globs in reasons:
            if function.family in families or any(fnmatchcase(function.short_name, glob) for glob in globs):
                return text
        return ""

    return {function.name: reason(function) for function in with_composed(interface).functions if not function.aten}


def _texts(node: Node | None) -> tuple[str, ...]:
    return tuple(map(text_of, items_of(node)))


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
    without, grad_outputs = items_of(node.get("without")), items_of(node.get("grad_outputs"))
    gradients = node.get("gradients")
    pairs = gradients.entries if isinstance(gradients, MappingNode) else {}
    return replace(
        overload,
        without=frozenset(map(text_of, without)),
        arguments=defaults_of(node.get("arguments")),
        gradients={name: text_of(entry.value) for name, entry in pairs.items()},
        grad_outputs=_texts(node.get("grad_outputs")),
        spans={
            **overload.spans,
            **{text_of(name): name.span for name in (*without, *grad_outputs)},
            **{name: entry.key_span for name, entry in pairs.items()},
            **{text_of(entry.value): entry.value.span for entry in pairs.values()},
        },
    )


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
