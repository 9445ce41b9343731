"""The comparison of `benchmarks.startup` with the last release, and that the released figures are those of its rows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", name="startup")
def _startup() -> ModuleType:
    spec = importlib.util.spec_from_file_location("startup_of_benchmarks", ROOT / "benchmarks/startup.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it
    spec.loader.exec_module(module)
    return module


def test_rows_within_the_tolerance_pass(startup: ModuleType) -> None:
    assert startup.compared({"check, cold": 1099, "check, warm": 5}, {"check, cold": 1000, "check, warm": 10}) == []


def test_a_row_with_more_work_fails(startup: ModuleType) -> None:
    lines = startup.compared({"check, cold": 1101, "check, warm": 10}, {"check, cold": 1000, "check, warm": 10})
    assert lines == ["check, cold: 1,101 calls, more than 1.1 times the 1,000 released"]


def test_a_missing_row_fails_on_either_side(startup: ModuleType) -> None:
    assert startup.compared({"check, cold": 1}, {}) == ["check, cold: without a released figure"]
    assert startup.compared({}, {"check, cold": 1}) == ["check, cold: released, and not measured"]


def test_the_exit_code_says_it(
    startup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(option: str, counted: int) -> int:
        monkeypatch.setattr(startup, "calls", lambda name, cache, folder: counted)
        monkeypatch.setattr(sys, "argv", ["startup", option])
        return int(startup.main())

    monkeypatch.setattr(startup, "BASELINE", tmp_path / "startup.yaml")
    monkeypatch.setattr(startup, "run", lambda *_: 0.0)
    assert main("--compare", 1000) == 1  # nothing is released
    assert main("--write", 1000) == 0
    assert main("--compare", 1000) == 0
    capsys.readouterr()
    assert main("--compare", 1101) == 1
    assert "check, cold: 1,101 calls, more than 1.1 times the 1,000 released" in capsys.readouterr().out
    monkeypatch.setattr(startup, "PYTHON", "3.99")
    assert main("--compare", 1101) == 0
    assert "not compared: the released figures are of Python" in capsys.readouterr().out


def test_calls_are_counted_alike(startup: ModuleType, tmp_path: Path) -> None:
    startup.seconds("adaptors", str(tmp_path), ROOT)
    counts = [startup.calls("adaptors", str(tmp_path), ROOT) for _ in range(2)]
    assert abs(counts[0] - counts[1]) < 0.01 * counts[0]


def test_released_figures_are_of_the_rows(startup: ModuleType) -> None:
    released = yaml.safe_load((ROOT / "benchmarks/startup.yaml").read_text(encoding="utf-8"))
    kinds = ("cold", "warm", "changed")
    rows = {f"{name}, {kind}" for name, row in startup.ROWS.items() for kind in kinds if getattr(row, kind)}
    assert set(released["calls"]) == rows
