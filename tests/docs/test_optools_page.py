"""docs/optools.md: every block is run, and prints what the page says."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import page_runs
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = page_runs.blocks(ROOT / "docs/optools.md")


def test_the_page_has_blocks_and_they_are_shell() -> None:
    assert len(PAGE) >= 9 and page_runs.syntax_errors(PAGE) == ""


@pytest.mark.slow
def test_every_block_prints_what_the_page_says(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed: pip install 'diopigen[torch]'")
    path = os.pathsep.join([str(ROOT / "optools/src"), str(ROOT)])
    printed = page_runs.run(PAGE, tmp_path, {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"})
    assert page_runs.differences(PAGE, printed) == {}
    assert "<svg" in (tmp_path / "report.html").read_text()
