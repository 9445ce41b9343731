"""The list of rules is the list of what can be reported: nothing is missing in it, nothing is made up."""

from __future__ import annotations

import ast
from pathlib import Path

from diopigen.output.rules import OUTPUT_RULES

PACKAGE = Path(__file__).parents[2] / "diopigen"
FILES = [PACKAGE / "emit" / "plan.py", *sorted((PACKAGE / "output").glob("*.py"))]


def reported() -> set[str]:
    """The first argument of every call that makes a finding, and what `disk.fault` puts into `rule`."""
    found = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            value: ast.expr | None = None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                if node.func.id in ("failure", "Diagnostic", "_Wording"):
                    value = node.args[0]
            elif isinstance(node, ast.Assign):
                target = node.targets[0]
                names, values = [target], [node.value]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    names, values = target.elts, node.value.elts
                for name, candidate in zip(names, values, strict=True):
                    if isinstance(name, ast.Name) and name.id == "rule":
                        value = candidate
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found.add(value.value)
    return found


def test_every_rule_is_listed_and_every_listed_rule_exists() -> None:
    assert reported() == set(OUTPUT_RULES)


def test_every_rule_has_a_purpose() -> None:
    for code, purpose in OUTPUT_RULES.items():
        assert purpose and not purpose.endswith("."), code
