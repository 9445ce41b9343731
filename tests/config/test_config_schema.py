"""The JSON Schema that editors use accepts and refuses the same files as the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from config_helpers import DATA, VENDORS, run, vendor_text

from diopigen.config.grammar import KEYS, json_schema
from diopigen.emit.json.schemas import emit
from diopigen.ir.model import Interface

BEYOND = {
    "config-unknown-parameter",
    "config-not-a-tensor",
    "config-two-targets",
    "config-cast-cycle",
    "config-cast-chain",
}
"""Errors about what names mean together, which a schema cannot see."""

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def schema(interface: Interface) -> dict[str, Any]:
    found = json_schema(interface)
    jsonschema.Draft7Validator.check_schema(found)
    return found


def agree(text: str, schema: dict[str, Any], interface: Interface) -> bool:
    """Returns whether a file is accepted; fails where the two differ."""
    _, sink = run(text, interface)
    ours = not any(finding.severity.value == "error" and finding.code not in BEYOND for finding in sink.sorted())
    theirs = jsonschema.Draft7Validator(schema).is_valid(yaml.safe_load(text))
    assert ours == theirs, [f"{finding.span} {finding.message}" for finding in sink.sorted()]
    return ours


CASES = sorted((DATA / "rules").glob("*.yaml"))
REJECTED = {
    "config-not-a-list",
    "config-entry-form",
    "config-not-indented",
    "config-unknown-key",
    "config-wrong-kind",
    "config-missing-arrow",
    "config-missing-parenthesis",
    "config-missing-comma",
    "config-missing-name",
    "config-stray-text",
    "config-unknown-operator",
    "config-unknown-family",
    "config-unknown-dtype",
    "config-unknown-layout",
}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.stem != "config-full-width"], ids=lambda case: case.stem
)
def test_both_agree_on_the_files_of_the_rules(case: Path, schema: dict[str, Any], interface: Interface) -> None:
    assert agree(case.read_text(encoding="utf-8"), schema, interface) == (case.stem not in REJECTED)


@pytest.mark.parametrize("vendor", VENDORS)
def test_both_accept_what_vendors_have(vendor: str, schema: dict[str, Any], interface: Interface) -> None:
    assert agree(vendor_text(vendor), schema, interface)


@pytest.mark.parametrize("file", ["convert_config.yaml", "impl/camb/convert_config.yaml"])
def test_both_accept_our_own(file: str, schema: dict[str, Any], interface: Interface) -> None:
    assert agree((ROOT / file).read_text(encoding="utf-8"), schema, interface)


ACCEPTED_VALUES = [
    "dtype: (int8)->int16",
    "dtype: ( int8 , bool )  ->  int16 ,(uint8)->int16",
    "dtype: none",
    "dtype: ' none '",
    "dtype: (int8)→int16",
    "dtype: （int8，bool）－＞int16、（uint8）->int16",
    "dtype: [(int8)->int16, (bool)->int16]",
    "dtype: []",
    "dtype: ~",
    "layout: ND",
    "layout: NHWC, input(NCHW), other ( NCHW , NHWC )",
    "layout: [NHWC, input(NCHW)]",
    "layout: input(NCHW)",
    "contiguous: true",
    "contiguous: input, other",
    "contiguous: [input]",
    "supportComposite: false",
    "tensor_dtype: {}",
    "tensor_dtype: {input: (int8)->int16, other: none}",
]
REJECTED_VALUES = [
    "dtype: None",
    "dtype: none, (int8)->int16",
    "dtype: (int8)->(int16)",
    "dtype: (int8)->int16,",
    "dtype: ((int8))->int16",
    "dtype: [none, 1]",
    "dtype: {}",
    "dtype: 1",
    "layout: input()",
    "layout: input",
    "layout: ND(NHWC",
    "layout: (NHWC)",
    "layout: [[NHWC]]",
    "contiguous: 1",
    "contiguous: input other",
    "contiguous: {}",
    "supportComposite: 1",
    "supportComposite: all",
    "tensor_dtype: []",
    "tensor_dtype: none",
    "tensor_dtype: {input: {}}",
    "strides: 1",
]


@pytest.mark.parametrize("value", ACCEPTED_VALUES)
def test_both_accept_a_value(value: str, schema: dict[str, Any], interface: Interface) -> None:
    assert agree(f"- diopiAdd:\n    {value}\n", schema, interface)


@pytest.mark.parametrize("value", REJECTED_VALUES)
def test_both_reject_a_value(value: str, schema: dict[str, Any], interface: Interface) -> None:
    assert not agree(f"- diopiAdd:\n    {value}\n", schema, interface)


def test_the_schema_knows_every_key_and_says_what_it_is_for(schema: dict[str, Any]) -> None:
    settings = schema["definitions"]["settings"]["properties"]
    assert {key: value["description"] for key, value in settings.items()} == KEYS
    assert set(schema["definitions"]["family"]["properties"]) == {"name", *KEYS}


def test_the_schema_is_generated_with_the_others(interface: Interface, schema: dict[str, Any]) -> None:
    plan = emit(interface, ROOT / "templates")
    assert json.loads(plan["schema/convert_config.schema.json"]) == schema


def test_a_scaffolded_tree_starts_with_the_default() -> None:
    """All but the line for editors, which names a folder that only this project has."""
    own = (ROOT / "convert_config.yaml").read_text(encoding="utf-8")
    template = (ROOT / "templates/vendor/convert_config.yaml.j2").read_text(encoding="utf-8")
    assert own == "# yaml-language-server: $schema=generated/schema/convert_config.schema.json\n#\n" + template
