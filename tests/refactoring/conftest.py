"""A tree for each test, and the commands in it."""

from __future__ import annotations

from pathlib import Path

import naming_trees as trees
import pytest
from click.testing import CliRunner

from diopigen.cli import cli


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    trees.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> trees.Run:
    return lambda *arguments: CliRunner().invoke(cli, arguments)
