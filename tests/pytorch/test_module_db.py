"""Every entry of PyTorch's module database on the device and on the CPU: forward and backward, in training and not,
inputs and parameters with gaps, errors. What ran where is written to build/tests/pytorch/modules.jsonl.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest
from exclusions import assert_only_excluded, assert_well_formed, is_random
from module_checks import DTYPES, errors, forward, strided
from opinfo_checks import Way, collected
from run_kind import WHOLE
from torch.testing._internal.common_modules import module_db
from what_ran import Functions, note

CHECKS = {"forward": forward, "strided": strided, "errors": errors}


def findings(info: Any, way: Way, is_random: bool) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {name: [] for name in CHECKS}
    modes = (True, False) if info.train_and_eval_differ else (True,)
    dtypes = [dtype for dtype in DTYPES if dtype in info.dtypes]
    for dtype, training, (name, check) in itertools.product(dtypes, modes, CHECKS.items()):
        own = Way(way.device, way.whole, not (is_random and training))
        texts = collected(partial(check, info, dtype, training, own))
        prefix = f"{str(dtype).removeprefix('torch.')}, {'training' if training else 'evaluation'}"
        found[name] += [f"{prefix}, {text}" for text in texts]
    return found


@pytest.mark.parametrize("info", module_db, ids=lambda info: info.name)
@pytest.mark.filterwarnings("ignore")
def test_entry(info: Any, droplet: Any, fallbacks: Any) -> None:
    functions = Functions()
    found = findings(info, Way(droplet, WHOLE, True), is_random("modules", info.name))
    note("modules", {"entry": info.name, "operators": fallbacks(), "functions": functions.since(), "findings": found})
    assert_only_excluded("modules", info.name, found)


def test_every_exclusion_names_an_entry_and_a_reason() -> None:
    assert_well_formed("modules", {info.name for info in module_db}, CHECKS)
