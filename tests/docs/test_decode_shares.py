"""The table of docs/serving.md that says what a vendor writes first is the one that the models have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["serving.md", "serving.zh-CN.md"])
def test_the_shares_of_a_step_of_decoding_are_those_of_the_tables(page: str) -> None:
    done = subprocess.run(
        [sys.executable, "tools/decode_shares.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.count("\n") >= 5
    assert f"DeepSeek V3 |\n| --- | ---: | ---: | ---: | ---: |\n{done.stdout}\n" in (ROOT / "docs" / page).read_text()
