"""The forms of .github/ISSUE_TEMPLATE: each asks for versions, by commands that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from test_readme import parsed

FORMS = sorted((Path(__file__).resolve().parents[2] / ".github/ISSUE_TEMPLATE").glob("*.yml"))
COMMAND = re.compile(r"`diopigen ([^`]+)`")


def test_there_are_three() -> None:
    assert [form.stem for form in FORMS] == ["bug", "operator", "wrong_result"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_is_short_and_asks_for_commands_that_there_are(form: Path) -> None:
    entries = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert set(entries) == {"name", "description", "body"} and len(entries["body"]) <= 4
    labels = [field["attributes"]["label"] for field in entries["body"]]
    assert "Versions" in labels and all(field["type"] in ("input", "textarea") for field in entries["body"])
    commands = COMMAND.findall(form.read_text(encoding="utf-8"))
    assert "--version" in commands
    for command in commands:
        if command != "--version":
            parsed(shlex.split(command))
