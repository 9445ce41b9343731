"""The calls that frameworks make, as their glue makes them: a table of call forms, and the cases that follow from it.

`tests/data/host_calls/pairs.yaml` names the functions that glue calls, with the ATen overloads that they serve there.
Every other file of that folder is a list of groups:

functions   the functions (without diopi) that are called in these forms
dtypes      dtypes and dtype sets of types.yaml that the calls are made in
forms       call forms: `form` says in words what is particular, `call` is an argument recipe as in docs/spec.md (null
            for a null handle, [0] for an empty tensor), `dtypes` replaces those of the group, `same` maps a tensor to
            another one whose memory it has, `on_host` lists tensors in the memory of the host, and `torch` is the
            reason why the call is not compared with torch
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from diopigen.conformance.cases.choices import Choice
from diopigen.conformance.cases.resolve import Resolver
from diopigen.conformance.cases.values import RecipeError
from diopigen.conformance.model import Case, Operand
from diopigen.diagnostics import Sink
from diopigen.ir.model import Case as Recipe
from diopigen.ir.model import Interface
from diopigen.ir.recipe import RecipeReader
from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode
from diopigen.spec.yaml_reader import load_yaml

FOLDER = Path(__file__).resolve().parents[1] / "data/host_calls"
PAIRS = FOLDER / "pairs.yaml"
_GROUP = {"functions", "dtypes", "forms"}
_FORM = {"form", "call", "dtypes", "same", "on_host", "torch"}


@dataclass(frozen=True)
class HostCall:
    """A call form in one dtype. `not_in_torch` says why torch is not asked, and is empty where it is."""

    case: Case
    form: str
    not_in_torch: str


def _plain(node: Node | None) -> Any:
    if isinstance(node, MappingNode):
        return {key: _plain(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, SequenceNode):
        return [_plain(item) for item in node.items]
    return node.text if isinstance(node, ScalarNode) else None


def _load(path: Path) -> Node:
    sink = Sink()
    node = load_yaml(path, path.name, sink)
    assert not sink.sorted() and node is not None, [f"{found.span}: {found.message}" for found in sink.sorted()]
    return node


@cache
def pairs() -> Mapping[str, list[str]]:
    """The functions that glue calls, with the overloads that they serve."""
    found = _plain(_load(PAIRS))
    assert isinstance(found, dict)
    return {f"diopi{name}": overloads for name, overloads in found.items()}


def _keys(node: Node, allowed: set[str]) -> MappingNode:
    assert isinstance(node, MappingNode), f"{node.span}: not a mapping"
    assert set(node.entries) <= allowed, f"{node.span}: {sorted(set(node.entries) - allowed)}"
    return node


def _items(node: Node | None) -> tuple[Node, ...]:
    assert isinstance(node, SequenceNode)
    return node.items


def calls(interface: Interface) -> list[HostCall]:
    """Every form in every dtype; an entry that cannot be read or resolved fails."""
    found: list[HostCall] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        if path != PAIRS:
            for group in _items(_load(path)):
                found += _of_group(interface, _keys(group, _GROUP))
    return found


def _of_group(interface: Interface, group: MappingNode) -> Iterator[HostCall]:
    for name in _plain(group.get("functions")):
        for form in _items(group.get("forms")):
            keys = _keys(form, _FORM)
            dtypes = _plain(keys.get("dtypes")) or _plain(group.get("dtypes"))
            for dtype in _expanded(interface, dtypes):
                yield _call(interface, f"diopi{name}", keys, dtype)


def _expanded(interface: Interface, words: list[str]) -> list[str]:
    sets = {known.name: known.dtypes for known in interface.dtype_sets}
    return list(dict.fromkeys(dtype for word in words for dtype in sets.get(word, (word,))))


def _call(interface: Interface, name: str, form: MappingNode, dtype: str) -> HostCall:
    function = interface.function(name)
    assert function is not None, f"{form.span}: there is no function {name}"
    recipe, words, sink = form.get("call"), _plain(form), Sink()
    assert isinstance(recipe, MappingNode), f"{form.span}: no call"
    enum_values = {value.name: enum.name for enum in interface.enums for value in enum.values}
    reader = RecipeReader(function, frozenset(info.name for info in interface.dtypes), enum_values, sink)
    read = reader.read(Recipe({key: entry.value for key, entry in recipe.entries.items()}, recipe.span))
    assert not sink.sorted(), [f"{found.span}: {found.message}" for found in sink.sorted()]
    try:
        arguments = Resolver(interface, function).resolve(read, Choice(dtype))
    except RecipeError as reason:
        raise AssertionError(f"{form.span}: {name} in {dtype}: {reason}") from reason
    for tensor, other in words.get("same", {}).items():
        arguments[tensor] = replace(_operand(arguments[tensor]), alias=other)
    for tensor in words.get("on_host", ()):
        arguments[tensor] = replace(_operand(arguments[tensor]), on_host=True)
    case_id = f"{name}/{dtype}/host: {words['form']}"
    case = Case(case_id, name, function.family, dtype, "host", arguments)
    return HostCall(case, words["form"], words.get("torch", ""))


def _operand(value: Any) -> Operand:
    assert isinstance(value, Operand)
    return value
