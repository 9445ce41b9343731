"""Topk selects before it sorts: of equal elements the first are taken, NaN is above all numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cuda_build import results_of
from sampling import first
from selection_program import CALLS, row

PROGRAM = Path(__file__).with_name("selection_program.py")


@pytest.mark.parametrize("order", first(["reversed", "forward"]))
def test_rows_of_several_parts(emulated: tuple[Path, Path], tmp_path: Path, order: str) -> None:
    """Against a stable sort of the full rows."""
    found = results_of(PROGRAM, emulated, tmp_path / "found.npz", order)
    values = row()
    above_all = np.where(np.isnan(values), np.inf, values)
    for name, (count, largest) in CALLS.items():
        right = np.argsort(-above_all if largest else above_all, axis=-1, kind="stable")[:, :count]
        np.testing.assert_array_equal(found[f"{name}/indices"], right)
        np.testing.assert_array_equal(found[f"{name}/values"], np.take_along_axis(values, right, axis=-1))
