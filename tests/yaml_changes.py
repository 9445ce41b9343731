"""One change at a time to a YAML file: a key or entry that is gone, a word with a slip, a value of another kind."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

KINDS: tuple[Any, ...] = (None, True, -1, 7, 2.5, "", "zz", "input", [], ["zz"], {}, {"zz": "zz"})
"""A value of each kind, and of some kinds one that means something elsewhere."""

Path = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """Change of the value at `path`: `drop` it, `slip` (a letter more) in it or in its key, or `put` another."""

    path: Path
    what: str
    value: Any = None

    def __str__(self) -> str:
        where = ".".join(map(str, self.path))
        return f"{self.what} {where}" + (f" {self.value!r}" if self.what == "put" else "")


def changes(text: str) -> list[Change]:
    """Every change to a file, in the order of the file."""
    return list(_changes(yaml.load(text, yaml.CSafeLoader), ()))


def _changes(node: Any, path: Path) -> Iterator[Change]:
    if path:
        yield Change(path, "drop")
        if isinstance(path[-1], str):
            yield Change(path, "slip of key")
        if isinstance(node, str):
            yield Change(path, "slip")
    for value in KINDS:
        if type(value) is not type(node) or value != node:
            yield Change(path, "put", value)
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _changes(value, (*path, key))
    elif isinstance(node, list):
        for position, value in enumerate(node):
            yield from _changes(value, (*path, position))


def changed(text: str, change: Change) -> str:
    """The file with one change. It is written as JSON, which is YAML, a value a line."""
    root = [copy.deepcopy(yaml.load(text, yaml.CSafeLoader))]
    parent: Any = root
    last: Any = 0
    for key in change.path:
        parent, last = parent[last], key
    if change.what == "drop":
        del parent[last]
    elif change.what == "slip":
        parent[last] += "x"
    elif change.what == "slip of key":
        parent[f"{last}x"] = parent.pop(last)
    else:
        parent[last] = change.value
    return json.dumps(root[0], indent=1, ensure_ascii=False) + "\n"
