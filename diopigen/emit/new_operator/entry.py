"""The entry of a new operator, from the entry of one that is like it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

import yaml

from diopigen.spec.nodes import MappingNode, Node, ScalarNode, SequenceNode

_KEYS = ("name", "doc", "params", "variants", "kernel", "constraints", "cases", "backward_of", "tolerance")
_ALSO = ("linkage", "returns", "context", "irregular_order")
"""Keys that a new entry has from the other one. The rest says what that operator is to ATen, papers and versions."""
_FOR_PEOPLE = frozenset({"doc", "note"})
_OF_VARIANTS = frozenset({"aten", "name", "doc", "deprecated"})
"""Keys of a variant that a new entry does not have."""


def entry_text(node: MappingNode, names: Mapping[str, str], doc: str) -> str:
    """The lines of an entry like that of `node`. `names` are operators with what stands for each here."""
    renamed = re.compile(rf"\b(diopi)?({'|'.join(map(re.escape, names))})\b")

    def text(value: str) -> str:
        return renamed.sub(lambda match: (match[1] or "") + names[match[2]], value)

    lines: list[str] = []
    for key in (*_KEYS, *_ALSO):
        value = node.get(key)
        if value is None:
            continue
        if key == "name":
            lines.append(f"name: {names[_plain(value)]}")
        elif key == "doc":
            lines.append(_block(key, doc))
        elif key == "variants":
            lines.append(f"variants: [{', '.join(_variants(value, text))}]")
        elif isinstance(value, SequenceNode):
            lines += [f"{key}:", *(f"  - {_flow(item, text)}" for item in value)] if value.items else [f"{key}: []"]
        elif isinstance(value, MappingNode):
            lines += [f"{key}:", *(f"  {name}: {_flow(entry.value, text)}" for name, entry in value.entries.items())]
        elif isinstance(value.value, str):
            lines.append(_block(key, text(value.value) if key == "backward_of" else value.value))
        else:
            lines.append(f"{key}: {value.text}")
    return "".join(f"  {'- ' if number == 0 else '  '}{line}\n" for number, line in enumerate(lines))


def _variants(node: Node, text: Callable[[str], str]) -> Iterator[str]:
    """The variants, one of each kind: with the names that follow from the operator's there is no room for another."""
    kinds: set[str] = set()
    for item in node if isinstance(node, SequenceNode) else ():
        entries = item.entries if isinstance(item, MappingNode) else {}
        kind = _plain(entries["kind"].value if entries else item)
        if kind not in kinds:
            kinds.add(kind)
            own = {key: entry for key, entry in entries.items() if key not in _OF_VARIANTS}
            yield _flow(item.with_entries(own), text) if isinstance(item, MappingNode) and len(own) > 1 else kind


def _plain(node: Node) -> str:
    return str(node.value) if isinstance(node, ScalarNode) else ""


def _flow(node: Node, text: Callable[[str], str], key: str = "") -> str:
    """A node on one line, numbers as they are written; only what is for people names another operator."""
    if isinstance(node, MappingNode):
        items = (f"{name}: {_flow(entry.value, text, name)}" for name, entry in node.entries.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(node, SequenceNode):
        return f"[{', '.join(_flow(item, text) for item in node)}]"
    if not isinstance(node.value, str):
        return node.text
    return _quoted(text(node.value) if key in _FOR_PEOPLE else node.value)


def _quoted(value: str) -> str:
    """A text, in quotes where YAML needs them inside brackets."""
    dumped: str = yaml.safe_dump([value], default_flow_style=True, width=1 << 30, allow_unicode=True)
    return dumped.strip()[1:-1]


def _block(key: str, value: str) -> str:
    """A text behind its key, on one line."""
    dumped: str = yaml.safe_dump({key: value}, width=1 << 30, allow_unicode=True)
    return dumped.strip()


def entries_of(root: MappingNode) -> Iterator[tuple[str, MappingNode]]:
    """The entries of a file of operators, by name."""
    operators = root.get("operators")
    for item in operators if isinstance(operators, SequenceNode) else ():
        if isinstance(item, MappingNode):
            yield _plain(item.get("name") or item), item
