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


def _never(key: str) -> float:
    raise AssertionError(f"{key} is measured again")


def test_rows_within_the_tolerance_pass(startup: ModuleType) -> None:
    assert (
        startup.compared({"check, cold": 19.9, "check, warm": 0.5}, {"check, cold": 10.0, "check, warm": 1.0}, _never)
        == []
    )


def test_a_slower_row_fails(startup: ModuleType) -> None:
    ratios = {"check, cold": 20.1, "check, warm": 1.0}
    lines = startup.compared(ratios, {"check, cold": 10.0, "check, warm": 1.0}, lambda _: 20.2)
    assert lines == ["check, cold: 20.10, more than 2.0 times the 10.00 released"]


def test_a_row_that_seemed_slower_once_passes(startup: ModuleType) -> None:
    measured = iter([20.3, 11.0])
    assert startup.compared({"check, cold": 25.0}, {"check, cold": 10.0}, lambda _: next(measured)) == []


def test_a_missing_row_fails_on_either_side(startup: ModuleType) -> None:
    assert startup.compared({"check, cold": 1.0}, {}, _never) == ["check, cold: without a released figure"]
    assert startup.compared({}, {"check, cold": 1.0}, _never) == ["check, cold: released, and not measured"]


def test_the_exit_code_says_it(
    startup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = tmp_path / "startup.yaml"
    monkeypatch.setattr(startup, "BASELINE", baseline)
    monkeypatch.setattr(startup, "measure", lambda name, kind: (1.0, 2.0))
    monkeypatch.setattr(sys, "argv", ["startup", "--compare"])
    assert startup.main() == 1  # nothing is released
    monkeypatch.setattr(sys, "argv", ["startup", "--write"])
    assert startup.main() == 0
    monkeypatch.setattr(sys, "argv", ["startup", "--compare"])
    assert startup.main() == 0
    monkeypatch.setattr(startup, "measure", lambda name, kind: (1.0, 4.1))
    capsys.readouterr()
    assert startup.main() == 1
    assert "check, cold: 4.10, more than 2.0 times the 2.00 released" in capsys.readouterr().out


def test_released_figures_are_of_the_rows(startup: ModuleType) -> None:
    released = yaml.safe_load((ROOT / "benchmarks/startup.yaml").read_text(encoding="utf-8"))
    rows = {f"{name}, {kind}" for name, row in startup.ROWS.items() for kind in ("cold", "warm") if getattr(row, kind)}
    assert set(released) == rows
