"""Every entry of PyTorch's optimizer database on the device and on the CPU: all its arguments, every way to step,
states that are loaded. What ran where is written to build/tests/pytorch/optimizers.jsonl.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest
from exclusions import assert_only_excluded, assert_well_formed
from opinfo_checks import collected
from optim_checks import DTYPES, loaded, steps
from run_kind import WHOLE
from torch.testing._internal.common_optimizers import optim_db
from what_ran import Functions, note

CHECKS = {"steps": steps, "loaded": loaded}


def findings(info: Any, device: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in CHECKS}
    dtypes = [dtype for dtype in DTYPES if info.supports_complex or not dtype.is_complex]
    for dtype, (name, check) in itertools.product(dtypes, CHECKS.items()):
        texts = collected(partial(check, info, dtype, device, WHOLE))
        found[name] += [f"{str(dtype).removeprefix('torch.')}, {text}" for text in texts]
    return found


@pytest.mark.parametrize("info", optim_db, ids=lambda info: info.name)
@pytest.mark.filterwarnings("ignore")
def test_entry(info: Any, droplet: Any, fallbacks: Any) -> None:
    functions = Functions()
    found = findings(info, droplet)
    note(
        "optimizers", {"entry": info.name, "operators": fallbacks(), "functions": functions.since(), "findings": found}
    )
    assert_only_excluded("optimizers", info.name, found)


def test_every_exclusion_names_an_entry_and_a_reason() -> None:
    assert_well_formed("optimizers", {info.name for info in optim_db}, CHECKS)
