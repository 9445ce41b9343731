"""Coverage by dtype and layout: what follows from a chip's file and the rules of shims, and the forms of the report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from diopigen.chip.reader import parse_chip
from diopigen.cli import cli
from diopigen.config.reader import parse_config
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface
from diopigen.vendor.coverage import cover
from diopigen.vendor.coverage_types import TypeCoverage, cover_types, totals
from diopigen.vendor.shims import resolved_for

ROOT = Path(__file__).resolve().parents[2]
CHIP = """\
chip: pebble
doc: A chip.
dtypes: [float32, float16]
max_rank: 4
alignment: 16
operators:
  - names: [diopiRelu, diopiCastDtype, diopiCopyInp]
  - names: [diopiConvolution2d]
    layouts: [NHWC]
  - names: [diopiMm]
    contiguous: true
"""
CONFIG = "- diopiRelu:\n    dtype: (bfloat16, int16)->float32\n"
IMPLEMENTED = ("diopiRelu", "diopiCastDtype", "diopiCopyInp", "diopiConvolution2d", "diopiMm", "diopiSum", "diopiEq")


def covered(interface: Interface) -> dict[str, TypeCoverage]:
    sink = Sink()
    chip = parse_chip(CHIP, "pebble.yaml", interface, sink)
    config = parse_config(CONFIG, "convert_config.yaml", sink)
    assert chip is not None and config is not None
    resolved = resolved_for(interface, "pebble", config, IMPLEMENTED, sink, chip)
    rules = {rule.function: rule for rule in resolved.functions}
    report = cover(interface, "pebble", IMPLEMENTED, (), rules, (), ())
    return {item.name: item for item in cover_types(interface, report, chip, rules)}


def test_dtypes_are_native_cast_or_left_to_the_fallback(interface: Interface) -> None:
    found = covered(interface)
    assert found["diopiRelu"].dtypes["float32"] == found["diopiRelu"].dtypes["float16"] == "native"
    assert found["diopiRelu"].dtypes["bfloat16"] == "shim"
    assert found["diopiRelu"].dtypes["float64"] == "fallback"
    assert found["diopiMm"].dtypes["bfloat16"] == "fallback"  # only the entry of Relu casts
    assert set(found["diopiGelu"].dtypes.values()) == {"fallback"}
    assert set(found["diopiNmsMmcv"].dtypes.values()) == {"fallback"}


def test_a_dtype_whose_result_the_chip_cannot_hold_is_left_to_the_fallback(interface: Interface) -> None:
    found = covered(interface)  # the sum of integers is int64, which the chip does not have, and of int16 with float32
    assert found["diopiSum"].dtypes["float32"] == "native"
    assert found["diopiSum"].dtypes["int32"] == found["diopiSum"].dtypes["int16"] == "fallback"
    assert set(found["diopiEq"].dtypes.values()) == {"fallback"}  # a bool in any case


def test_layouts_follow_from_the_chip(interface: Interface) -> None:
    found = covered(interface)
    assert found["diopiRelu"].layouts == {"row-major": "native", "channels-last": "native", "strided": "native"}
    assert found["diopiConvolution2d"].layouts == {"row-major": "shim", "channels-last": "native", "strided": "shim"}
    assert found["diopiMm"].layouts == {"row-major": "native", "channels-last": "shim", "strided": "shim"}


def test_totals_count_every_function_once(interface: Interface) -> None:
    found = tuple(covered(interface).values())
    by_layout = totals(found, "layouts")
    assert {sum(counts.values()) for counts in by_layout.values()} == {len(found)}
    assert by_layout["row-major"]["native"] == 6 and by_layout["row-major"]["shim"] == 1
    by_dtype = totals(found, "dtypes")
    assert by_dtype["bfloat16"]["shim"] == 1
    assert sum(by_dtype["float32"].values()) == sum("float32" in item.dtypes for item in found)


@pytest.fixture
def kestrel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    words = ["scaffold", "--chip", str(ROOT / "examples/kestrel/kestrel.yaml"), "--out", str(tmp_path / "kestrel")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    monkeypatch.chdir(tmp_path)
    return tmp_path / "kestrel"


def test_the_command_shows_tables_and_json(kestrel: Path) -> None:
    command = ["coverage", "kestrel/impl/kestrel", "--model", "resnet50", "--next", "0"]
    done = CliRunner().invoke(cli, [*command, "--functions"])
    assert done.exit_code == 0, done.output
    assert re.search(r"^dtype +functions  native  shim  fallback  missing$", done.output, re.M)
    assert re.search(r"^diopiConvolution2d +float16 float32 +- +bfloat16 float64 ", done.output, re.M)
    done = CliRunner().invoke(cli, [*command, "--format", "json"])
    document = json.loads(done.output)
    assert document["vendor"] == "kestrel" and "diagnostics" in document
    types = {item["name"]: item for item in document["types"]}
    assert types["diopiFlashAttention"]["dtypes"] == {"float16": "native", "bfloat16": "fallback"}
    assert document["layouts"]["strided"]["shim"] >= 8
    (kestrel / "kestrel.yaml").unlink()
    without = CliRunner().invoke(cli, command)
    assert "\ndtype " not in without.output
    assert CliRunner().invoke(cli, [*command, "--functions"]).exit_code == 2
