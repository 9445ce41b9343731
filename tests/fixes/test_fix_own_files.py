"""`check --fix` of a chip's file and a configuration: what is mechanical is changed, and comments stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from diopigen.cli import cli

CHIP = """\
# The chip of this year.
chip: pebble
doc: A small chip.
dtypes: [float32, float16, float32]     # twice
max_rank: 4
alignment: 32
operators:
  - doc: The first.
    names:
      - diopiAdd
      - diopiMul      # a product
      - diopiAdd      # again
  - names: [diopiConvolution2d, diopiFormer, diopiGeluu]
    layouts: [NHWC]
"""
FIXED_CHIP = (
    CHIP.replace("float16, float32]", "float16]")
    .replace("      - diopiAdd      # again\n", "")
    .replace("diopiFormer", "diopiRelu")
    .replace("diopiGeluu", "diopiGelu")
)
CONFIG = """\
# What follows from nothing else.
- common_config:
    dtype: (double)->float32
- diopiConvolution2d:
    layout: NHWC
- diopiFormer:           # the old name
    layout: NHWC, NHWC   # images
"""
FIXED_CONFIG = """\
# What follows from nothing else.
- common_config:
    dtype: (float64)->float32
- diopiRelu:           # the old name
    layout: NHWC   # images
"""


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pebble.yaml").write_text(CHIP)
    (tmp_path / "convert_config.yaml").write_text(CONFIG)
    _generated_before_a_rename(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _generated_before_a_rename(tree: Path) -> None:
    """The built-in spec, whose last diopi.json has another name for Relu."""
    root = Path(__file__).resolve().parents[2]
    (tree / "specs").symlink_to(root / "specs")
    (tree / "generated").mkdir()
    published = (root / "generated/diopi.json").read_text()
    assert json.loads(published)
    (tree / "generated/diopi.json").write_text(published.replace('"diopiRelu"', '"diopiFormer"'))


def check(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["check", *arguments])


def test_a_chip_and_a_configuration_are_fixed_and_comments_stay(tree: Path) -> None:
    done = check("--fix", "pebble.yaml")
    assert (tree / "pebble.yaml").read_text() == FIXED_CHIP, done.output
    assert done.exit_code == 0
    assert "note[fixed]: chip-operator-twice: 'diopiAdd' was removed" in done.output
    assert "note[fixed]: chip-unknown-operator: 'diopiFormer' became 'diopiRelu'" in done.output
    done = check("--fix", "convert_config.yaml")
    assert (tree / "convert_config.yaml").read_text() == FIXED_CONFIG, done.output
    assert "config-repeats-common: the entry '- diopiConvolution2d:' was removed" in done.output
    again = check("--fix", "pebble.yaml", "convert_config.yaml")
    assert "note[fixed]" not in again.output


def test_a_diff_writes_nothing(tree: Path) -> None:
    done = check("--fix", "--diff", "pebble.yaml")
    assert "--- a/pebble.yaml\n+++ b/pebble.yaml\n" in done.output
    assert (tree / "pebble.yaml").read_text() == CHIP
    (tree / "pebble.yaml").write_text(FIXED_CHIP)
    done = check("--fix", "--diff", "convert_config.yaml")
    assert "\n-- diopiConvolution2d:\n" in done.output
    assert (tree / "convert_config.yaml").read_text() == CONFIG


def test_without_fix_the_findings_are_shown(tree: Path) -> None:
    done = check("pebble.yaml")
    assert done.exit_code == 1
    assert "error[chip-unknown-operator]: there is no operator 'diopiFormer'" in done.output
    assert "fix: it was renamed to 'diopiRelu'" in done.output
    assert check("nowhere.yaml").exit_code != 0


def test_an_entry_with_a_comment_stays(tree: Path) -> None:
    commented = FIXED_CONFIG + "- diopiConvolution2d:\n    layout: NHWC     # for now\n"
    (tree / "convert_config.yaml").write_text(commented)
    (tree / "pebble.yaml").write_text(FIXED_CHIP)
    done = check("--fix", "convert_config.yaml")
    assert (tree / "convert_config.yaml").read_text() == commented
    assert "only repeats the chip's file\n    6 | - diopiConvolution2d:" in done.output
