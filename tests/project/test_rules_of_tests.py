"""Rules that all tests keep, so that they pass on machines that are busy or have only what the README names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from programs import HOUR

TESTS = Path(__file__).parents[1]
UNNAMED = {"clang", "clang++", "ccache", "chromium", "google-chrome", "gdb", "nvcc"}
"""Programs that neither the README nor the environment of the project provides, besides emulators."""


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def short_limits(tree: ast.AST) -> list[int]:
    """Lines of calls that a limit below an hour ends."""
    return [
        word.value.lineno
        for call in calls(tree)
        for word in call.keywords
        if word.arg == "timeout" and isinstance(word.value, ast.Constant)
        if isinstance(seconds := word.value.value, int | float) and seconds < HOUR
    ]


def unnamed_programs(tree: ast.AST) -> list[int]:
    """Lines of commands whose program the README does not name."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.List)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and isinstance(node.elts[0].value, str)
        and (node.elts[0].value in UNNAMED or node.elts[0].value.startswith("qemu-"))
        and not all(isinstance(one, ast.Constant) for one in node.elts)  # a list of names is not a command
    ]


@pytest.mark.parametrize(("rule", "broken"), [
    (short_limits, "subprocess.run(['make'], timeout=60)"),
    (unnamed_programs, "subprocess.run(['clang++', path])"),
])  # fmt: skip
def test_tests_keep_it(rule: Callable[[ast.AST], list[int]], broken: str) -> None:
    assert rule(ast.parse(broken)) == [1]
    broken_by = {}
    for path in sorted(TESTS.rglob("*.py")):
        if lines := rule(ast.parse(path.read_text(encoding="utf-8"))):
            broken_by[str(path.relative_to(TESTS))] = lines
    assert broken_by == {}
