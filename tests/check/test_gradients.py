"""Dual numbers: every function of kernels, and the pairs of the spec that are compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diopigen.check import gradients
from diopigen.check.duals import SMOOTH
from diopigen.check.rule import Subject
from diopigen.diagnostics import Sink
from diopigen.ir.load import load_interface

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_a_derivative_is_the_limit_of_differences(name: str) -> None:
    function, derivative = SMOOTH[name]
    x = 1.75 if name == "acosh" else 0.375
    difference = (function(x + 1e-6) - function(x - 1e-6)) / 2e-6
    assert derivative(x, function(x)) == pytest.approx(difference, rel=1e-7)


def test_every_backward_kernel_of_the_spec_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    interface = load_interface(ROOT / "specs", Sink(), "specs").interface
    kernels = {f.operator: f for f in interface.functions if f.kernel is not None and f.variant == "base"}
    pairs = {f.name for f in kernels.values() if f.backward_of in kernels}
    compared: dict[str, int] = {}
    values_at = gradients.values_at

    def counted(*arguments: Any) -> object:
        found = values_at(*arguments)
        name = arguments[1].name
        compared[name] = compared.get(name, 0) + (found is not None)
        return found

    monkeypatch.setattr(gradients, "values_at", counted)
    sink = Sink()
    gradients.check(Subject(interface), sink)
    assert len(sink) == 0
    assert len(pairs) >= 8 and set(compared) == pairs
    assert all(count >= 40 for count in compared.values())
