"""quartz brought up as its page says: from the chip's file, with the files of its asynchronous device."""

from __future__ import annotations

import shutil
from pathlib import Path

from click.testing import CliRunner

from diopigen.cli import cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/quartz"


def scaffolded(tree: Path) -> None:
    """The tree at a new folder, before a person has touched it."""
    words = ["scaffold", "--chip", EXAMPLE / "quartz.yaml", "--out", tree, "--with-torch", "--spec", ROOT / "specs"]
    done = CliRunner().invoke(cli, list(map(str, words)))
    assert done.exit_code == 0, done.output


def bring_up(tree: Path) -> None:
    """The tree at a new folder, with the files that the example has in place of the starts."""
    scaffolded(tree)
    shutil.copytree(EXAMPLE / "impl", tree / "impl", dirs_exist_ok=True)
