"""docs/bring-up.md, run as a new user would: every `sh` block in order, and what the page says that they print."""

from __future__ import annotations

from pathlib import Path

import pytest
from artefacts import artefact
from page_runs import blocks, differences, run, syntax_errors

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/bring-up.md"


def test_every_command_of_the_page_is_shell() -> None:
    assert syntax_errors(blocks(PAGE)) == "" and len(blocks(PAGE)) >= 14


@pytest.mark.slow
def test_the_page_is_true(tmp_path: Path) -> None:
    reference = artefact("libdiopi_impl.so")
    page = [
        # Minutes; the tests of the CPU library build it by the same lines.
        (f"export DIOPI_REFERENCE_LIBRARY={reference}\n", text)
        if '-S "$DIOPIGEN_DIR/impl/cpu"' in commands
        else (commands, text)
        for commands, text in blocks(PAGE)
    ]
    printed = run(page, tmp_path, {"DIOPIGEN_DIR": str(ROOT)})
    assert differences(page, printed) == {}
