"""The time of a case does not depend on what else the machine does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from diopigen.conformance.run import clock
from diopigen.conformance.run.clock import CaseClock


def passing(monkeypatch: pytest.MonkeyPatch, name: str, *moments: float) -> None:
    """Lets a clock of `time` show these moments, one after the other."""
    shown: Iterator[float] = iter(moments)
    monkeypatch.setattr(time, name, lambda: next(shown))


def test_what_the_host_computes_takes_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    passing(monkeypatch, "thread_time", 1.0, 1.25)
    passing(monkeypatch, "perf_counter", 0.0, 900.0)
    assert CaseClock(on_host=True).seconds() == 0.25


def test_a_device_takes_the_time_without_waits_for_a_processor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    waited = tmp_path / "schedstat"
    waited.write_text("123 1000000000 4\n")
    monkeypatch.setattr(clock, "_WAITED", str(waited))
    passing(monkeypatch, "perf_counter", 5.0, 12.0)
    found = CaseClock(on_host=False)
    waited.write_text("456 6500000000 9\n")
    assert found.seconds() == 1.5


def test_a_system_that_does_not_tell_the_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(clock, "_WAITED", str(tmp_path / "none"))
    passing(monkeypatch, "perf_counter", 5.0, 7.0, 9.0, 9.5)
    found = CaseClock(on_host=False)
    assert found.seconds() == 2.0
    found.start()
    assert found.seconds() == 0.5
