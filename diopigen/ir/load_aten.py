"""Reads the files about ATen, `aten/` and `torch.yaml`, into what is known of torch's overloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from diopigen.diagnostics import Sink, Span
from diopigen.ir.aten import parse_schema
from diopigen.ir.aten_model import Aten, HandwrittenKernel, LeftOut, StructuredGroup, release_number
from diopigen.ir.lower import flag_of, items_of, mappings_of, text_of
from diopigen.spec.folder import yaml_files
from diopigen.spec.nodes import MappingNode, ScalarNode

Read = Callable[[str, str], MappingNode | None]
"""Reads a file of the spec of a kind. None where it is wrong, which is reported."""


def load_aten(root: Path, read: Read, sink: Sink) -> Aten:
    """The overloads of the files in `aten/`, each with those of one release or of all, and how `torch.yaml` serves
    them."""
    files = [node for name in names_of_snapshots(root) if (node := read(name, "aten")) is not None]
    releases = sorted({text_of(node.get("torch")) for node in files if node.get("torch")}, key=release_number)
    files.sort(key=lambda node: release_number(text_of(node.get("torch")) or "0"))
    schemas: dict[str, dict[str, str]] = {}  # by overload and release
    damaged: set[str] = set()
    groups: dict[StructuredGroup, dict[str, str]] = {}  # the rule of operands that are alike, by release
    for node in files:
        own = [text_of(node.get("torch"))] if node.get("torch") else releases or [""]
        for one in mappings_of(node.get("structured")):
            group = _structured(one)
            groups.setdefault(replace(group, alike=""), {}).update(dict.fromkeys(own, group.alike))
        for item in items_of(node.get("schemas")):
            schema = text_of(item)
            name = schema.partition("(")[0]
            if _is_schema(schema, item.span, sink):
                schemas.setdefault(name, {}).update(dict.fromkeys(own, schema))
            else:
                damaged.add(name)
    glue = read("torch.yaml", "torch") if (root / "torch.yaml").exists() else None
    handwritten = mappings_of(glue.get("handwritten")) if glue is not None else ()
    left_out = mappings_of(glue.get("left_out")) if glue is not None else ()
    latest = {name: list(by_release.values())[-1] for name, by_release in schemas.items()}
    return Aten(
        tuple(releases),
        latest,
        {name: others for name, own in schemas.items() if (others := tuple(set(own.values()) - {latest[name]}))},
        {name: tuple(own) for name, own in schemas.items() if len(own) < len(releases)},
        tuple(
            replace(group, alike=_common(set(own.values())), in_all_releases=len(own) >= len(releases))
            for group, own in groups.items()
        ),
        frozenset(text_of(item) for node in files for item in items_of(node.get("needed"))),
        tuple(_handwritten(entry) for entry in handwritten),
        tuple(LeftOut(text_of(e.get("overload")), text_of(e.get("why")), _overload_span(e)) for e in left_out),
        frozenset(damaged),
    )


def names_of_snapshots(root: Path) -> list[str]:
    """The files of overloads, relative to the spec."""
    return yaml_files(root, "aten")


def _is_schema(text: str, span: Span, sink: Sink) -> bool:
    """Returns whether it can be read; reports why not."""
    try:
        parse_schema(text)
    except ValueError as error:
        sink.error("bad-schema", str(error), span, fix="write it as native_functions.yaml does")
        return False
    return True


def _structured(node: MappingNode) -> StructuredGroup:
    inplace = node.get("inplace")
    iterator = node.get("iterator")
    return StructuredGroup(
        text_of(node.get("meta")),
        text_of(node.get("out")),
        text_of(node.get("functional")),
        text_of(inplace) if inplace is not None else None,
        isinstance(iterator, ScalarNode) and iterator.value is True,
        text_of(node.get("alike")),
    )


def _common(alike: set[str]) -> str:
    """The rule that holds in every release; empty where none does."""
    if alike == {"floating", "real"}:
        return "floating"
    return alike.pop() if len(alike) == 1 else ""


def _handwritten(node: MappingNode) -> HandwrittenKernel:
    calls = tuple(text_of(item) for item in items_of(node.get("calls")))
    also = tuple(text_of(item) for item in items_of(node.get("also")))
    overload, function = text_of(node.get("overload")), text_of(node.get("function"))
    why = node.get("why") or node
    planned = flag_of(node.get("planned"))
    return HandwrittenKernel(overload, also, function, calls, text_of(why), _overload_span(node), why.span, planned)


def _overload_span(node: MappingNode) -> Span:
    return (node.get("overload") or node).span
