"""Shared by tests of `diopigen adaptors`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from adaptors_cli import Adaptors, created
from test_generate import ROOT

from diopigen import api
from diopigen.cli import main
from diopigen.diagnostics import Sink
from diopigen.header.cdecl import CInterface
from diopigen.ir.load import Loaded

SPEC = ("--spec", str(ROOT / "specs"))
_load = api.load


@pytest.fixture
def vendor(tmp_path: Path) -> Path:
    """A vendor's tree in a folder of its own: impl/chip with five functions and a configuration."""
    return created(tmp_path, "chip")


@pytest.fixture
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process get the spec that was read for the first of them."""

    def load(where: api.Workspace, sink: Sink, *, check: bool = True, published: CInterface | None = None) -> Loaded:
        return _the_spec() if where.spec == ROOT / "specs" else _load(where, sink, check=check, published=published)

    monkeypatch.setattr(api, "load", load)


class _Commands:
    """The command in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, vendor: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
        return self.command([f"impl/{vendor.name}", *arguments], vendor.parent.parent, code)

    def command(self, arguments: list[str], folder: Path, code: int) -> tuple[str, str]:
        self.monkeypatch.chdir(folder)
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["adaptors", *arguments, *(() if "--spec" in arguments else SPEC)])
        done = self.capsys.readouterr()
        assert (ended.value.code or 0) == code, done
        return done.out, done.err


@pytest.fixture
def adaptors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], read_once: None) -> Adaptors:
    """Runs the command in the folder of a vendor's impl/; returns what it printed to both streams.

    In this process, where the spec is read once for all tests; `run` shows the same from the shell.
    """
    return _Commands(monkeypatch, capsys)


@cache
def _the_spec() -> Loaded:
    return _load(api.Workspace(ROOT / "specs", ROOT / "templates", "specs"), Sink())
