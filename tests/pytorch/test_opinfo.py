"""Every entry of PyTorch's operator database on the device and on the CPU: forward, backward, `out=`, gaps, errors.

What ran where is written to build/tests/pytorch/operators.jsonl, a line per entry; `python tests/pytorch/report.py`
sums it up. `DIOPIGEN_TORCH_TESTS=whole` takes all samples instead of two.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest
from exclusions import LISTED, assert_only_excluded, assert_well_formed, is_random
from opinfo_checks import Way, collected, dtypes, errors, forward, outputs, strided, words
from run_kind import WHOLE
from torch.testing._internal.common_methods_invocations import op_db
from what_ran import Functions, note

CHECKS = {"forward": forward, "strided": strided, "outputs": outputs}
REFUSALS = {"errors": errors, "words": words}


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def findings(op: Any, way: Way) -> dict[str, list[str]]:
    """Differences by check. What raises where results are read is one as well."""
    found = {name: collected(partial(check, op, way)) for name, check in REFUSALS.items()}
    found |= {name: [] for name in CHECKS}
    for dtype, (name, check) in itertools.product(dtypes(op), CHECKS.items()):
        texts = collected(partial(check, op, dtype, way))
        found[name] += [f"{str(dtype).removeprefix('torch.')}, {text}" for text in texts]
    return found


def way_of(name: str, device: Any) -> Way:
    fixed, unrun = LISTED["fixed"].get(name, {}), frozenset(LISTED["unrun"].get(name, ()))
    return Way(device, WHOLE, not is_random("operators", name), fixed, unrun)


@pytest.mark.parametrize("op", op_db, ids=name_of)
@pytest.mark.filterwarnings("ignore")
def test_entry(op: Any, droplet: Any, fallbacks: Any) -> None:
    name, functions = name_of(op), Functions()
    found = findings(op, way_of(name, droplet))
    note("operators", {"entry": name, "operators": fallbacks(), "functions": functions.since(), "findings": found})
    assert_only_excluded("operators", name, found)


def test_every_exclusion_names_an_entry_and_a_reason() -> None:
    names = {name_of(op) for op in op_db}
    assert set(LISTED["fixed"]) <= set(LISTED["random"]["operators"])
    assert set(LISTED["unrun"]) <= names
    assert_well_formed("operators", names, [*CHECKS, *REFUSALS])
