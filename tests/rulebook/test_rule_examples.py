"""The examples of `diopigen explain`: a bad one breaks its rule, at its line, and no other; a good one breaks none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from readers import READERS, ROOT
from sampling import some

from diopigen.check.rule import families
from diopigen.cli import cli
from diopigen.config.reader import RULES as CONFIG_RULES
from diopigen.ir.findings import RULES as IR_RULES
from diopigen.ir.model import Interface
from diopigen.rulebook.examples import Example, examples, page_of
from diopigen.rulebook.rules import all_rules
from diopigen.spec.schema import RULES as GRAMMAR_RULES
from diopigen.spec.text_file import RULES as FILE_RULES
from diopigen.spec.yaml_reader import RULES as YAML_RULES

SHOWN = [example for example in examples().values() if not example.prose]
PROSE = 45
"""At most this many examples are sentences."""


@pytest.mark.parametrize(
    "example",
    [
        *(pytest.param(example, id=example.rule) for example in SHOWN if example.read != "session"),
        *some((pytest.param(example, id=example.rule) for example in SHOWN if example.read == "session"), 6),
    ],
)
def test_a_bad_example_breaks_its_rule_and_a_good_one_none(
    example: Example, interface: Interface, tmp_path: Path
) -> None:
    read = READERS[example.read]
    (tmp_path / "bad").mkdir()
    found, above = read(example, example.bad, interface, tmp_path / "bad")
    allowed = {example.rule, *example.setting.get("notes", ())}
    assert {one.code for one in found} <= allowed, [str(one.span) + one.message for one in found]
    assert example.rule in {one.code for one in found}
    lines = [one.span.line - above for one in found if one.code == example.rule and one.span and one.span.line]
    assert example.line in (lines or [0])
    (tmp_path / "good").mkdir()
    clean, _ = read(example, example.good, interface, tmp_path / "good")
    known = allowed - {example.rule}
    assert [f"{one.span} {one.code}: {one.message}" for one in clean if one.code not in known] == []


def test_every_rule_has_an_example() -> None:
    assert sorted(set(all_rules()) - set(examples())) == []
    listed = {*IR_RULES, *GRAMMAR_RULES, *FILE_RULES, *YAML_RULES, *CONFIG_RULES}
    assert {*listed, *(rule for family in families() for rule in family.rules)} <= set(all_rules())


def test_prose_is_for_what_is_outside_of_files_and_commands() -> None:
    """The rest is run. A rule that comes here needs something that a snippet cannot create: a full disk, a library that
    ends its process, a machine without a compiler, a fault of an emitter."""
    assert sum(bool(example.prose) for example in examples().values()) <= PROSE


def test_every_example_is_of_a_rule_and_differs() -> None:
    assert sorted(set(examples()) - set(all_rules())) == []
    assert [example.rule for example in SHOWN if example.bad == example.good] == []
    assert [one.rule for one in examples().values() if bool(one.prose) == bool(one.bad)] == []


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a Markdown page, as forges name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_rule_has_a_page_and_every_page_its_heading() -> None:
    for page in sorted({page_of(rule) for rule in all_rules()}):
        file, _, anchor = page.partition("#")
        assert (ROOT / file).is_file(), page
        assert not anchor or anchor in anchors(ROOT / file), page


def test_explain_shows_purpose_examples_and_page() -> None:
    done = CliRunner().invoke(cli, ["explain", "config-identity-cast"])
    assert (done.exit_code, done.output) == (
        0,
        "config-identity-cast: a conversion leads to another dtype\n"
        "\n"
        "  bad:\n"
        "     - common_config:\n"
        "  ->     dtype: (int32, bool)->int32\n"
        "\n"
        "  good:\n"
        "     - common_config:\n"
        "         dtype: (bool)->int32\n"
        "\n"
        "  page: docs/adaptors.md#the-configuration\n",
    )
    done = CliRunner().invoke(cli, ["explain", "unknown-dtype"])
    assert "  bad (parameters of an operator):\n  -> - {name: other" in done.output
    done = CliRunner().invoke(cli, ["explain", "file-too-large"])
    assert "\n  example: A file of the spec of more than 4 MiB.\n" in done.output
