"""Random calls at the extremes of their arguments: no crash, no hang, no write outside of outputs. A few with every
change; `make nightly` makes them for an hour over the sanitized library (`python tests/fuzz`)."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from artefacts import artefact
from random_calls import Calls
from sampling import examples

from diopigen.conformance.model import ANY_STATUS, FAILURES
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface

FOLDER = Path(__file__).parent
SEED = 20261126
COUNT = examples(1100)

# What crashed, wrote out of bounds or did not end, each a call that the library has to reject.
REJECTED = [
    "diopiBatchApplyTemperaturePenaltyInp/range-below-vocab_size/error",
    "diopiBatchApplyTemperaturePenaltyInp/range-above-vocab_size/error",
    "diopiBorderAlignMmcv/range-above-pool_size/error",
    "diopiRoiAlign/range-above-sampling_ratio/error",
]


def test_a_call_follows_from_seed_function_and_number_alone(interface: Interface) -> None:
    names = ["diopiAdd", "diopiIndexSelect", "diopiCat"]
    first, second = Calls(interface, 3, names), Calls(interface, 3, names)
    created = list(itertools.islice(first, 30))
    assert [second.call(name, number) for number in range(10) for name in second.names] == created
    assert created != list(itertools.islice(Calls(interface, 4, names), 30))
    assert {case.expect for case in created} == {ANY_STATUS}
    assert len({case.function for case in created}) == 3


@pytest.mark.build
@pytest.mark.suite
def test_random_calls_return_and_leave_memory_alone(interface: Interface) -> None:
    cases = list(itertools.islice(Calls(interface, SEED), COUNT))
    results = run(cases, interface, artefact("libdiopi_impl.so"), artefact("libdiopirt.so"), jobs=2)
    assert [(r.case.id, r.outcome, r.faults, r.operands) for r in results.results if r.outcome in FAILURES] == []
    # Most are calls that exist, in a library that has the function.
    assert results.counts["passed"] > 0.9 * COUNT


@pytest.mark.build
def test_a_call_that_fails_is_named_with_what_repeats_it(tmp_path: Path) -> None:
    """The tiny library writes past the end of a result when it is asked to."""
    library, runtime = artefact("conformance/libdiopi_impl.so"), artefact("libdiopirt.so")
    command = [
        sys.executable,
        str(FOLDER),
        "--lib",
        str(library),
        "--runtime",
        str(runtime),
        "--ops",
        "Add",
        "--jobs",
        "1",
    ]
    sound = subprocess.run([*command, "--seed", "1", "--calls", "20"], capture_output=True, text=True, check=False)
    assert sound.returncode == 0, sound.stdout + sound.stderr
    faulty = subprocess.run(
        [*command, "--seed", "1", "--calls", "20"], capture_output=True, text=True, check=False,
        env={**os.environ, "TINY_FAULT": "write past the end"},
    )  # fmt: skip
    assert faulty.returncode == 1
    failed = next(line.split()[1] for line in faulty.stdout.splitlines() if line.startswith("FAILED"))
    assert f"--seed 1 --repeat {failed}" in faulty.stdout
    again = subprocess.run(
        [*command, "--seed", "1", "--repeat", failed], capture_output=True, text=True, check=False,
        env={**os.environ, "TINY_FAULT": "write past the end"},
    )  # fmt: skip
    assert again.returncode == 1
    assert f"FAILED {failed}" in again.stdout


@pytest.mark.parametrize("case_id", REJECTED)
def test_what_wrote_out_of_bounds_or_did_not_end_is_a_case_of_the_suite(interface: Interface, case_id: str) -> None:
    from diopigen.conformance.cases.suite import cases_of

    function = interface.function(case_id.split("/")[0])
    assert function is not None
    assert case_id in [case.id for case in cases_of(interface, function)]
