"""Oracles and cases that read a parameter by its name, found in their sources: an oracle with all that it calls."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import diopigen
from diopigen.conformance import cases
from diopigen.conformance.oracles import oracles
from diopigen.diagnostics import Severity, Span
from diopigen.refactoring.changes import Tree

_OF_ATEN = "aten_calls"
"""The module of cases whose names are those of ATen."""

_Node = ast.FunctionDef | ast.ClassDef


def lines_that_read(tree: Tree, operator: str, old: str, new: str) -> None:
    """Names for a person each place where the oracle of an operator, or what it calls, has the name as a text."""
    for span in dict.fromkeys(_texts(operator, old)):
        fix = f"read '{new}'; what serves other operators as well needs both names"
        tree.by_hand(f"the oracle of {operator} reads '{old}'", span, fix)


def cases_that_read(tree: Tree, old: str) -> None:
    """Names for a look each place where the suite derives cases from a parameter of this name."""
    for info in pkgutil.iter_modules(cases.__path__):
        if info.name == _OF_ATEN:
            continue
        module = importlib.import_module(f"{cases.__name__}.{info.name}")
        for part in _asked(ast.parse(inspect.getsource(module)), old):
            fix = "see whether the operator has these cases, and keeps them"
            tree.by_hand(f"cases are derived from what is called '{old}'", _span(module, part), fix, Severity.NOTE)


def _asked(module: ast.Module, name: str) -> Iterator[ast.Constant]:
    """The texts with which a module asks for a name: in comparisons, and in calls of `get`."""
    for node in ast.walk(module):
        is_get = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get"
        if is_get or isinstance(node, ast.Compare):
            yield from (part for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value == name)


def oracle_span(operator: str) -> Span | None:
    """The line of the oracle of an operator; None where it has none of its own."""
    function = oracles().get(operator)
    module = inspect.getmodule(function) if function is not None else None
    if function is None or module is None:
        return None
    return Span(_shown(module), inspect.unwrap(function).__code__.co_firstlineno)


def _texts(operator: str, name: str) -> Iterator[Span]:
    function = oracles().get(operator)
    module = inspect.getmodule(function) if function is not None else None
    if function is None or module is None:
        return
    waiting: list[tuple[ModuleType, str]] = [(module, function.__name__)]
    seen = set(waiting)
    while waiting:
        module, definition = waiting.pop()
        node = _definitions(module).get(definition)
        for part in ast.walk(node) if node is not None else ():
            if isinstance(part, ast.Constant) and part.value == name:
                yield _span(module, part)
            elif isinstance(part, ast.Name):
                used = getattr(module, part.id, None)
                owner = sys.modules.get(getattr(used, "__module__", None) or "")
                target = (owner, getattr(used, "__name__", part.id)) if owner is not None else (module, part.id)
                if target not in seen and target[0].__name__.startswith("diopigen.conformance.oracles."):
                    seen.add(target)
                    waiting.append(target)


@cache
def _definitions(module: ModuleType) -> dict[str, _Node | ast.Assign]:
    """Definitions of a module at its first level, by name."""
    found: dict[str, _Node | ast.Assign] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.Assign):
            found |= {target.id: node for target in node.targets if isinstance(target, ast.Name)}
    return found


def _span(module: ModuleType, part: ast.Constant) -> Span:
    """The span of what is between the quotes of a text."""
    return Span(_shown(module), part.lineno, part.col_offset + 2, part.lineno, part.end_col_offset or 0)


def _shown(module: ModuleType) -> str:
    """The file of a module, from the folder that the package is in."""
    return Path(str(module.__file__)).relative_to(Path(diopigen.__file__).parents[1]).as_posix()
