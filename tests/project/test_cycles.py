"""Imports go one way: no module of a package imports itself by way of others, at any depth of nesting."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Set
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"diopigen": "", "diopi_ffi": "", "lab": "", "diopi_torch": "diopi_torch/src", "optools": "optools/src"}


def modules(package: str) -> dict[str, Path]:
    base = ROOT / PACKAGES[package]
    paths = (base / package).rglob("*.py")
    return {".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imports(name: str, path: Path, known: Mapping[str, Path]) -> set[str]:
    """Imports of a module from `known`, in functions as well; not for its types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = {inner for node in guarded for inner in ast.walk(node)}
    found = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
            start = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in known else base)
    return (found & known.keys()) - {name}


def cycles(graph: Mapping[str, Set[str]]) -> list[set[str]]:
    """Sets of modules that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        waiting = list(graph[start])
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                waiting += graph[one]
        reached[start] = seen
    found = []
    for name in graph:
        together = {other for other in reached[name] if name in reached[other]}
        if name in reached[name] and together not in found:
            found.append(together)
    return found


def test_cycles_are_seen() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [{"b", "c"}]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_package_has_cycles(package: str) -> None:
    known = modules(package)
    assert known
    assert cycles({name: imports(name, path, known) for name, path in known.items()}) == []
