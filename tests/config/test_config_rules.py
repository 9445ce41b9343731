"""Every rule about configurations: a bad file, and the whole of what is said about it (data/rules)."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest
from config_helpers import DATA, NOT_IMPLEMENTED, findings, run

import diopigen.config
from diopigen.config.subject import HELPERS
from diopigen.diagnostics import Severity
from diopigen.header.rules import Rule
from diopigen.ir.model import Interface
from diopigen.rulebook.rules import all_rules

CASES = sorted((DATA / "rules").glob("*.yaml"))
ELSEWHERE = {"config-explain-name"}
"""Rules that no file can break; test_adaptors_command.py shows them."""


def rules() -> dict[str, Rule]:
    """The tables of all modules, each rule in one of them."""
    found: dict[str, Rule] = {}
    for info in pkgutil.iter_modules(diopigen.config.__path__):
        table = getattr(importlib.import_module(f"diopigen.config.{info.name}"), "RULES", {})
        assert not set(found) & set(table)
        found.update(table)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_bad_file(case: Path, interface: Interface) -> None:
    implemented = None
    if case.stem == "config-missing-helper":
        implemented = {function.name for function in interface.functions} - NOT_IMPLEMENTED - set(HELPERS)
    said = findings(case.read_text(encoding="utf-8"), interface, implemented)
    assert said == case.with_suffix(".txt").read_text(encoding="utf-8")
    assert f"[{case.stem}]" in said


def test_every_rule_has_a_bad_file() -> None:
    assert {case.stem for case in CASES} == set(rules()) - ELSEWHERE


def test_every_rule_is_listed_with_its_purpose() -> None:
    listed = all_rules()
    for name, rule in rules().items():
        assert name.startswith("config-")
        assert listed[name] == rule.purpose


def test_every_rule_is_in_the_documentation_with_its_weight() -> None:
    from diopigen.vendor.shims import RULES as COMMAND_RULES

    said: dict[str, str] = {}
    for line in (DATA.parents[2] / "docs" / "adaptors.md").read_text(encoding="utf-8").split("\n"):
        if line.startswith(("| `config-", "| `adaptors-")):
            said.update(
                dict.fromkeys(re.findall(r"`((?:config|adaptors)-[a-z-]+)`", line), line.split("|")[-2].strip())
            )
    expected = {name: rule.severity.value for name, rule in {**rules(), **COMMAND_RULES}.items()}
    assert said == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_findings_weigh_what_the_table_says(case: Path, interface: Interface) -> None:
    table = rules()
    _, sink = run(case.read_text(encoding="utf-8"), interface)
    for finding in sink.sorted():
        expected = {table[finding.code].severity}
        if finding.code == "config-missing-helper":
            expected.add(Severity.NOTE)
        assert finding.severity in expected
        assert finding.fix and finding.span


def test_yaml_faults_keep_their_own_rules(interface: Interface) -> None:
    text = "- diopiAdd：\n    layout: ND\n    layout: NHWC\n- diopiSub: {layout: *a}\n"
    assert findings(text, interface) == (
        "convert_config.yaml:1:11: note[config-full-width]: full-width '：' as ':'\n"
        "    1 | - diopiAdd：\n"
        "      |           ^^\n"
        "  fix: nothing; or write the ASCII form\n"
        "convert_config.yaml:3:5: error[duplicate-key]: key 'layout' is given twice\n"
        "    3 |     layout: NHWC\n"
        "      |     ^^^^^^\n"
        "  convert_config.yaml:2:5: note: first given here\n"
        "      2 |     layout: ND\n"
        "        |     ^^^^^^\n"
        "  fix: keep one of the two\n"
        "convert_config.yaml:4:22: error[yaml-alias]: alias '*a'\n"
        "    4 | - diopiSub: {layout: *a}\n"
        "      |                      ^^\n"
        "  fix: write the value out; aliases hide where it stands\n"
        "2 errors, 1 note\n"
    )


def test_all_findings_of_a_file_come_in_one_run(interface: Interface) -> None:
    text = """\
- diopiAdd:
    dtype: (int63)->int32
- common_config:
    dtype: (int64)int32
    colour: red
    layout: NCHW
- diopiSoftMax:
    layout: ND
- diopiSub:
    layout: ND, inptu(NHWC)
- diopiSub:
    layout: NHCW
"""
    _, sink = run(text, interface)
    assert [f"{finding.span} {finding.code}" for finding in sink.sorted()] == [
        "convert_config.yaml:1:3 config-before-common",
        "convert_config.yaml:2:13 config-unknown-dtype",
        "convert_config.yaml:4:13 config-narrowing",
        "convert_config.yaml:4:19 config-missing-arrow",
        "convert_config.yaml:5:5 config-unknown-key",
        "convert_config.yaml:7:3 config-unknown-operator",
        "convert_config.yaml:10:17 config-unknown-parameter",
        "convert_config.yaml:11:3 config-entry-twice",
        "convert_config.yaml:12:13 config-unknown-layout",
    ]


REPEATED = {
    "a conversion": "- common_config:\n    dtype: {}\n".format(", ".join(["(int64)->int32"] * 1200)),
    "a missing arrow": "- common_config:\n    dtype: {}\n".format(", ".join(["(int64)int32"] * 1200)),
    "a folded text": "- common_config:\n    dtype: >\n{}\n".format("\n".join(["      (int64)->int32,"] * 1200)),
    "a chain": "- common_config:\n    dtype: {}\n".format(", ".join(f"(a{n})->a{n + 1}" for n in range(1200))),
    "a circle": "- common_config:\n    dtype: {}\n".format(
        ", ".join(f"(a{n})->a{(n + 1) % 1200}" for n in range(1200))
    ),
}


@pytest.mark.parametrize("what", REPEATED)
def test_what_is_repeated_a_thousand_times_is_said_in_a_page(what: str, interface: Interface) -> None:
    said = findings(REPEATED[what], interface)
    assert len(said) < 32_000
    assert re.search(
        r"^convert_config.yaml(:2)?: and \d+ more \[config-[a-z-]+\] (on this line|in this file)", said, re.M
    )


def test_a_circle_is_found_behind_a_way_that_leads_into_it(interface: Interface) -> None:
    text = "- common_config:\n    dtype: (int8)->int32, (int16)->int64, (int32)->int16, (int64)->int32\n"
    _, sink = run(text, interface)
    circles = [finding for finding in sink.sorted() if finding.code == "config-cast-cycle"]
    assert [(found.message, str(found.span)) for found in circles] == [
        ("conversions in a circle: int16 -> int64 -> int32 -> int16", "convert_config.yaml:2:28")
    ]
