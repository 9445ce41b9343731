"""The file about variables of the environment, lowered from its nodes."""

from __future__ import annotations

from diopigen.ir.environment_model import EnvironmentPart, Variable
from diopigen.ir.lower import items_of, mappings_of, text_of
from diopigen.spec.nodes import MappingNode, Node, ScalarNode


def lower_environment(file: MappingNode) -> tuple[EnvironmentPart, ...]:
    """The file, which the grammar has accepted."""
    return tuple(
        EnvironmentPart(_both(part, "title"), tuple(_variables(part.get("variables"))))
        for part in mappings_of(file.get("parts"))
    )


def _variables(node: Node | None) -> list[Variable]:
    assert isinstance(node, MappingNode)
    found = []
    for name, entry in node.entries.items():
        variable = entry.value
        assert isinstance(variable, MappingNode)
        kind = text_of(variable.get("kind"))
        values = ("0", "1") if kind == "flag" else tuple(map(text_of, items_of(variable.get("values"))))
        limits = tuple(int(item.value) for item in items_of(variable.get("range")) if isinstance(item, ScalarNode))  # type: ignore[arg-type]  # the grammar has integers here
        aliases = tuple(map(text_of, items_of(variable.get("aliases"))))
        default = text_of(variable.get("default")) or ("0" if kind == "flag" else "")
        written = text_of(variable.get("written")) == "True"
        found.append(Variable(name, kind, values, limits, default, aliases, _both(variable, "does"), written))
    return found


def _both(node: MappingNode, key: str) -> tuple[str, str]:
    return text_of(node.get(key)), text_of(node.get(f"{key}_zh"))
