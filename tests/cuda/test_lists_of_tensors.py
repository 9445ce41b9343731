"""Lists of tensors are launched together; a member that reads what one before it writes waits for it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cuda_build import results_of
from lists_program import members
from sampling import first

PROGRAM = Path(__file__).with_name("lists_program.py")


@pytest.mark.parametrize("order", first(["reversed", "forward"]))
def test_members_that_depend_on_each_other_run_in_order(
    emulated: tuple[Path, Path], tmp_path: Path, order: str
) -> None:
    """And those that do not, of several dtypes and lengths, give what each gives alone."""
    found = results_of(PROGRAM, emulated, tmp_path / "found.npz", order)
    number = np.float32(1.5)
    start = members()
    right = {"chain/0": start[0], "chain/1": start[0] + number, "chain/2": start[0] + number + number}
    right |= {f"others/{k}": array + number for k, array in enumerate(start[3:])}
    right |= {f"scaled/{k}": array / 2 for k, array in enumerate(start)}
    right |= {"scaled/6": np.full(9, 0.5), "scaled/7": np.full(70, 0.5, np.float16)}
    for name, array in right.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    assert found["infinite"] == 0
    for k in range(8):
        norm = np.linalg.norm(right[f"scaled/{k}"].astype(np.float64))
        np.testing.assert_allclose(found[f"norms/{k}"], norm, rtol=1e-3 if k == 7 else 1e-6)
