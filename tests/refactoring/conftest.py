"""A tree for each test, and the commands in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import trees
from click.testing import CliRunner, Result

from diopigen.cli import cli

Run = Callable[..., Result]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    trees.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run() -> Run:
    return lambda *arguments: CliRunner().invoke(cli, arguments)


def left(result: Result) -> list[str]:
    """Where something is left to a person, warnings and notes apart, without columns."""
    lines = [line for line in result.stderr.splitlines() if "[left-by-hand]" in line]
    return [f"{line.split(':')[0]}:{line.split(':')[1]} {line.split(': ')[1].split('[')[0]}" for line in lines]
