"""The guide of docs/serving.md: its commands are run, from the file of a new chip to the server."""

from __future__ import annotations

import sys
from pathlib import Path

import page_runs
import pytest

ROOT = Path(__file__).resolve().parents[2]
ENGLISH, CHINESE = (page_runs.blocks(ROOT / f"docs/{name}") for name in ("serving.md", "serving.zh-CN.md"))
DROPLET = ("TORCH_DROPLET_LIBRARIES", "DIOPI_VENDOR_LIBRARY", "DIOPI_REFERENCE_LIBRARY")


def test_both_pages_have_the_same_commands() -> None:
    assert len(ENGLISH) == 4 and ENGLISH == CHINESE and page_runs.syntax_errors(ENGLISH) == ""


def test_the_commands_of_the_guide_lead_to_a_server(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in DROPLET:
        monkeypatch.delenv(name, raising=False)
    # Trees of two runs, each in a folder of its own, have the same objects.
    cached = {"CCACHE_BASEDIR": str(tmp_path), "CCACHE_NOHASHDIR": "1"}
    quiet = {name: environment[name] for name in ("VLLM_NO_USAGE_STATS", "HF_HUB_OFFLINE", "OMP_NUM_THREADS")}
    variables = {"DIOPIGEN_DIR": str(ROOT), "PYTHONPATH": "", **cached, **quiet}
    # The environment that the tests run in, which may be that of another torch.
    own = str(Path(sys.prefix).relative_to(ROOT))
    page = [(commands.replace("build/serving", own), output) for commands, output in ENGLISH]
    printed = page_runs.run(page, tmp_path, variables)
    assert page_runs.differences(page, printed) == {}
