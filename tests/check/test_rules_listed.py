"""`diopigen explain --rules` lists every rule: what the package reports is in a table, and no table invents a rule."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import diopigen
from diopigen.rulebook.rules import all_rules

PACKAGE = Path(diopigen.__file__).parent
REPORTERS = {"error", "warning", "note", "failure", "Diagnostic", "_error", "_unique", "open_entry", "_fault"}
"""Functions that create findings; the last four are the wrappers in spec/, check/ and contract/ that accept a rule
id."""
OURS = ("spec", "ir", "check", "contract")
RULE_ID = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+\Z")


def reported(file: Path) -> Iterator[str]:
    """The rule ids among the arguments of calls that make findings in a file, both branches of a choice included."""
    for node in ast.walk(ast.parse(file.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in REPORTERS:
            continue
        for argument in node.args:
            choices = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
            for choice in choices:
                if isinstance(choice, ast.Constant) and isinstance(choice.value, str) and RULE_ID.match(choice.value):
                    yield choice.value


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("room", sorted({file.relative_to(PACKAGE).parts[0] for file in files()}))
def test_whatever_a_room_reports_is_listed(room: str) -> None:
    found = {code for file in files() if file.relative_to(PACKAGE).parts[0] == room for code in reported(file)}
    assert sorted(found - set(all_rules())) == []


def test_the_rules_of_spec_ir_and_check_are_all_reported() -> None:
    """`bad-recipe` goes through a helper that knows no other rule."""
    from diopigen.check.rule import families
    from diopigen.ir.findings import RULES as IR_RULES
    from diopigen.spec.schema import RULES as GRAMMAR_RULES
    from diopigen.spec.text_file import RULES as FILE_RULES
    from diopigen.spec.yaml_reader import RULES as YAML_RULES

    listed = {
        *IR_RULES,
        *YAML_RULES,
        *GRAMMAR_RULES,
        *FILE_RULES,
        *(rule for family in families() for rule in family.rules),
    }
    found = {code for room in OURS for file in (PACKAGE / room).rglob("*.py") for code in reported(file)}
    assert found == listed


def test_no_rule_is_listed_by_two_tables_with_two_purposes() -> None:
    from diopigen.check.rule import families
    from diopigen.ir.findings import RULES as IR_RULES
    from diopigen.spec.schema import RULES as GRAMMAR_RULES
    from diopigen.spec.text_file import RULES as FILE_RULES
    from diopigen.spec.yaml_reader import RULES as YAML_RULES

    tables = [IR_RULES, YAML_RULES, GRAMMAR_RULES, FILE_RULES, *(family.rules for family in families())]
    names = [rule for table in tables for rule in table]
    assert len(names) == len(set(names))
    for table in tables:
        for rule, purpose in table.items():
            assert RULE_ID.match(rule), rule
            assert purpose.endswith(".") and "\n" not in purpose, rule
            assert all_rules()[rule] == purpose
