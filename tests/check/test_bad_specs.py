"""Every rule finds what it is for, says where it stands to the column, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_helpers import BAD, CREATED, FIXTURES, build, findings, rule_of, shown

from diopigen.check.rule import families
from diopigen.ir.findings import RULES as IR_RULES
from diopigen.spec.schema import RULES as GRAMMAR_RULES
from diopigen.spec.text_file import RULES as FILE_RULES
from diopigen.spec.yaml_reader import RULES as YAML_RULES


@pytest.mark.parametrize("fixture", FIXTURES)
def test_the_findings_are_those_expected(fixture: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec"
    build(fixture, spec)
    found = findings(spec)
    assert shown(found, spec) == (BAD / fixture / "expected.txt").read_text()
    assert rule_of(fixture) in {diagnostic.code for diagnostic in found}
    assert [one for one in found if not one.fix or one.span is None] == []


def test_every_rule_has_a_fixture() -> None:
    rules = {
        *IR_RULES,
        *YAML_RULES,
        *GRAMMAR_RULES,
        *FILE_RULES,
        *(rule for family in families() for rule in family.rules),
    }
    assert {rule_of(fixture) for fixture in FIXTURES} == rules


def test_every_created_fixture_is_expected() -> None:
    assert set(CREATED) <= set(FIXTURES)
