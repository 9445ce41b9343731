"""The file of a chip: what is read, and what every rule says and where."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from chip_helpers import DROPLET, ROOT, SMALLEST, read

from diopigen.api import workspace
from diopigen.chip.grammar import json_schema
from diopigen.chip.model import Chip, NativeOperator, Peaks
from diopigen.chip.reader import RULES, read_chip
from diopigen.diagnostics import Sink
from diopigen.emit.elementwise.kernels import expressible
from diopigen.emit.json.schemas import emit
from diopigen.ir.model import Interface
from diopigen.vendor.scan import check_vendor, spec_interface


def test_the_smallest_file(tmp_path: Path, interface: Interface) -> None:
    chip, found = read(SMALLEST, tmp_path, interface)
    assert found == []
    assert chip == Chip("pebble", "It is small.", ("float32",), 4, 16, None, (NativeOperator("diopiAdd"),), "chip.yaml")


def test_a_file_with_everything(tmp_path: Path, interface: Interface) -> None:
    peaks = "peaks: {bandwidth: 900, cache: 1048576, operations: {float32: 19500}}\n"
    text = SMALLEST.replace("operators:", f"memory: 4096\n{peaks}operators:") + (
        "  - doc: Images.\n    names: [diopiPool2d, diopiConvolution2d]\n    dtypes: [float16, int64]\n"
        "    layouts: [NHWC, NLC]\n    max_rank: 3\n  - names: [diopiMul]\n    layouts: [ND]\n"
    )
    chip, found = read(text, tmp_path, interface)
    assert found == [] and chip is not None
    assert chip.memory == 4096
    assert chip.peaks == Peaks(900, 1048576, {"float32": 19500})
    image = (("float16", "int64"), ("NHWC", "NLC"), 3)
    assert chip.operators == (
        NativeOperator("diopiAdd"),
        NativeOperator("diopiConvolution2d", *image),
        NativeOperator("diopiMul"),
        NativeOperator("diopiPool2d", *image),
    )


CASES = {
    "chip-unknown-operator": [
        (
            ("diopiAdd]", "diopiAdd, diopiAddd]"),
            "7:23: error[chip-unknown-operator]: there is no operator 'diopiAddd' (did you mean 'diopiAdd'?)",
        ),
        (
            ("diopiAdd]", "diopiGetTensorData]"),
            "7:13: error[chip-unknown-operator]: there is no operator 'diopiGetTensorData' "
            "(`diopigen explain NAME` knows the functions of the interface)",
        ),
        (
            ("diopiAdd]", "Xyzzy]"),
            "7:13: error[chip-unknown-operator]: there is no operator 'Xyzzy' "
            "(`diopigen explain NAME` knows the functions of the interface)",
        ),
    ],
    "chip-operator-twice": [
        (
            ("[diopiAdd]", "[diopiAdd]\n  - names: [diopiMul, diopiAdd]"),
            "8:23: error[chip-operator-twice]: 'diopiAdd' is given twice (keep one)",
        )
    ],
    "chip-word-twice": [
        (
            ("[float32]", "[float32, bool, float32]"),
            "3:25: error[chip-word-twice]: 'float32' is listed twice (keep one)",
        ),
        (
            ("[diopiAdd]", "[diopiAdd]\n    layouts: [NHWC, NHWC]"),
            "8:21: error[chip-word-twice]: 'NHWC' is listed twice (keep one)",
        ),
    ],
    "chip-rank-beyond": [
        (
            ("[diopiAdd]", "[diopiAdd]\n    max_rank: 5"),
            "8:15: error[chip-rank-beyond]: 5 dimensions are more than the 4 of the chip "
            "(give fewer, or leave 'max_rank' out)",
        )
    ],
    "chip-layout-idle": [
        (
            ("[diopiAdd]", "[diopiAdd]\n    layouts: [NHWC, ND]"),
            "8:14: error[chip-layout-idle]: ND takes whatever comes, so that the other layouts mean nothing "
            "(keep ND alone, or take it out)",
        )
    ],
    "chip-alignment": [
        (
            ("alignment: 16", "alignment: 24"),
            "5:12: error[chip-alignment]: 24 bytes cannot be an alignment (give a power of two up to 512)",
        ),
        (
            ("alignment: 16", "alignment: 1024"),
            "5:12: error[chip-alignment]: 1024 bytes cannot be an alignment (give a power of two up to 512)",
        ),
    ],
    "chip-accuracy-uncovered": [
        (
            ("[diopiAdd]", "[diopiAdd]\naccuracy:\n  - {elementary: [tanh], ulp: 9}"),
            "9:1: warning[chip-accuracy-uncovered]: no native operator of the chip is held to this entry (tanh: 9 ULP) "
            "(name what native operators compute with, or take it out)",
        ),
    ],
}


@pytest.mark.parametrize(
    ("change", "expected"), [case for cases in CASES.values() for case in cases], ids=lambda value: str(value)[:40]
)
def test_a_rule(tmp_path: Path, interface: Interface, change: tuple[str, str], expected: str) -> None:
    assert change[0] in SMALLEST
    chip, found = read(SMALLEST.replace(*change), tmp_path, interface)
    assert (chip is None) == ("error[" in expected)
    assert found == [expected]


def test_every_rule_has_a_case() -> None:
    assert set(CASES) == set(RULES)


def test_all_findings_come_at_once(tmp_path: Path, interface: Interface) -> None:
    text = SMALLEST.replace("alignment: 16", "alignment: 3").replace("diopiAdd]", "diopiAdd, diopiAdd, diopiNope]")
    _, found = read(text, tmp_path, interface)
    assert [line.split("[")[1].split("]")[0] for line in found] == [
        "chip-alignment",
        "chip-operator-twice",
        "chip-unknown-operator",
    ]


SOUND = {
    "smallest": ("", ""),
    "memory": ("alignment: 16", "alignment: 16\nmemory: 1"),
    "all of a group": (
        "[diopiAdd]",
        "[diopiAdd]\n    doc: x\n    dtypes: [bool]\n    layouts: [NCL, NDHWC]\n    max_rank: 1",
    ),
}
BROKEN = {
    "no name": ("chip: pebble\n", ""),
    "a name that is no namespace": ("chip: pebble", "chip: Pebble-2"),
    "no doc": ("doc: It is small.\n", ""),
    "no dtypes": ("[float32]", "[]"),
    "an unknown dtype": ("[float32]", "[float33]"),
    "no rank": ("max_rank: 4\n", ""),
    "a rank of 0": ("max_rank: 4", "max_rank: 0"),
    "a rank that is a text": ("max_rank: 4", "max_rank: four"),
    "an alignment of 0": ("alignment: 16", "alignment: 0"),
    "a memory of 0": ("alignment: 16", "alignment: 16\nmemory: 0"),
    "no operators": ("  - names: [diopiAdd]\n", "  []\n"),
    "a group without names": ("names: [diopiAdd]", "doc: x"),
    "a group of no names": ("[diopiAdd]", "[]"),
    "an unknown operator": ("[diopiAdd]", "[diopiAdddd]"),
    "an unknown layout": ("[diopiAdd]", "[diopiAdd]\n    layouts: [NWHC]"),
    "an unknown key": ("alignment: 16", "alignment: 16\nspeed: 3"),
    "an unknown key of a group": ("[diopiAdd]", "[diopiAdd]\n    name: x"),
    "operators by name": ("  - names: [diopiAdd]\n", "  diopiAdd: {}\n"),
}


@pytest.fixture(scope="module")
def schema(interface: Interface) -> dict[str, Any]:
    found = json_schema(interface)
    jsonschema.Draft7Validator.check_schema(found)
    return found


@pytest.mark.parametrize(("name", "sound"), [*((n, True) for n in SOUND), *((n, False) for n in BROKEN)])
def test_reader_and_schema_agree(
    tmp_path: Path, interface: Interface, schema: dict[str, Any], name: str, sound: bool
) -> None:
    text = SMALLEST.replace(*({**SOUND, **BROKEN}[name]))
    assert name == "smallest" or text != SMALLEST
    chip, found = read(text, tmp_path, interface)
    assert (chip is not None) == sound == (found == [])
    assert jsonschema.Draft7Validator(schema).is_valid(yaml.safe_load(text)) == sound


def test_the_schema_is_generated_with_the_others(interface: Interface, schema: dict[str, Any]) -> None:
    assert json.loads(emit(interface, ROOT / "templates")["schema/chip.schema.json"]) == schema


def test_droplet_is_as_its_design_says(interface: Interface, schema: dict[str, Any]) -> None:
    sink = Sink()
    chip = read_chip(DROPLET, "droplet.yaml", interface, sink)
    assert chip is not None and len(sink) == 0
    assert jsonschema.Draft7Validator(schema).is_valid(yaml.safe_load(DROPLET.read_text(encoding="utf-8")))
    assert set(chip.dtypes) == {"float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"}
    written = check_vendor(
        spec_interface(interface), workspace(str(ROOT / "specs")), DROPLET.parent / "impl/droplet", Sink()
    )
    generated = {function.name for function in expressible(interface)}
    native = {one.name for one in chip.operators}
    # What makes and ends communicators launches nothing that a chip could lack.
    launched = {name for name in written if not re.search("Comm|UniqueId", name)}
    assert launched <= native <= launched | generated
    assert len(native) >= 60
    for one in chip.operators:
        is_image = "Conv" in one.name or "Pool" in one.name
        assert one.layouts == (("NHWC",) if is_image else ()), one.name
