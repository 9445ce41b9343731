"""Model tables: the calls of well-known models with their true shapes, read from `models/*.yaml` of a spec.

They are read apart from the interface, since only the conformance suite and reports about models need them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import Sink, Span
from diopigen.ir.lower import mappings_of, text_of
from diopigen.ir.model import Case
from diopigen.spec.folder import yaml_files
from diopigen.spec.grammar import FILES
from diopigen.spec.nodes import MappingNode, Node, ScalarNode
from diopigen.spec.schema import validate
from diopigen.spec.yaml_reader import load_yaml


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call: `function` is the C name, `recipe` its arguments, `count` how often the phase makes it.

    `reduced` says why a shape is smaller than the model's, and is empty where none is.
    """

    phase: str
    function: str
    dtype: str
    aten: str
    count: int
    recipe: Case
    reduced: str
    span: Span
    function_span: Span
    dtype_span: Span


@dataclass(frozen=True, slots=True)
class Leftover:
    """An ATen call that is none of a function: nothing serves it (`why` says so), or it is a view or an allocation."""

    phase: str
    aten: str
    count: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Model:
    """A model table. `name` is that of its file, `declared` what it calls itself."""

    name: str
    declared: str
    doc: str
    torch: str
    calls: tuple[ModelCall, ...]
    unmapped: tuple[Leftover, ...]
    views: tuple[Leftover, ...]
    allocations: tuple[Leftover, ...]
    span: Span

    def functions(self) -> Mapping[str, Mapping[str, int]]:
        """Number of calls of each function (by its C name), by phase, in the order of first use."""
        found: dict[str, dict[str, int]] = {}
        for call in self.calls:
            phases = found.setdefault(call.function, {})
            phases[call.phase] = phases.get(call.phase, 0) + call.count
        return found

    def phases(self) -> tuple[str, ...]:
        """The phases in order."""
        return tuple(dict.fromkeys(call.phase for call in self.calls))


def load_models(root: Path, sink: Sink, display: str) -> tuple[Model, ...]:
    """The tables in the folder `models` of a spec, by name; `display` stands for the spec's folder in spans.

    What breaks the grammar is reported, and its file left out. Whether the rest fits the interface is checked by
    `conformance.models`.
    """
    found = (load_model(root, relative, sink, display) for relative in names_of_models(root))
    return tuple(model for model in found if model is not None)


def names_of_models(root: Path) -> list[str]:
    """The tables of a spec, relative to its folder, by name."""
    return yaml_files(root, "models")


def load_model(root: Path, relative: str, sink: Sink, display: str) -> Model | None:
    """One table; None where its file breaks the grammar, which is reported."""
    node = load_yaml(root / relative, f"{display}/{relative}", sink)
    if node is None or not validate(node, FILES["model"], "the model file", sink):
        return None
    assert isinstance(node, MappingNode)
    return _model(Path(relative).stem, node)


def _model(file: str, node: MappingNode) -> Model:
    name = node.get("model")
    assert name is not None
    unmapped, views, allocations = (
        tuple(_leftover(item) for item in mappings_of(node.get(key))) for key in ("unmapped", "views", "allocations")
    )
    calls = tuple(_call(item) for item in mappings_of(node.get("calls")))
    doc, torch = text_of(node.get("doc")), text_of(node.get("torch"))
    return Model(file, text_of(name), doc, torch, calls, unmapped, views, allocations, name.span)


def _call(node: MappingNode) -> ModelCall:
    function, dtype, arguments = node.get("function"), node.get("dtype"), node.get("arguments")
    assert function is not None and dtype is not None and isinstance(arguments, MappingNode)
    recipe = Case(
        {name: entry.value for name, entry in arguments.entries.items()},
        arguments.span,
        {name: entry.key_span for name, entry in arguments.entries.items()},
    )
    return ModelCall(
        text_of(node.get("phase")),
        f"diopi{text_of(function)}",
        text_of(dtype),
        text_of(node.get("aten")),
        _count(node.get("count")),
        recipe,
        (text_of(node.get("why")) or "no reason is given") if node.get("scale") is not None else "",
        function.span,
        function.span,
        dtype.span,
    )


def _leftover(node: MappingNode) -> Leftover:
    phase, aten, why = (text_of(node.get(key)) for key in ("phase", "aten", "why"))
    return Leftover(phase, aten, _count(node.get("count")), why)


def _count(node: Node | None) -> int:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, int) else 0
