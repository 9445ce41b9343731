"""The CPU library takes calls in the forms in which frameworks make them (tests/host_calls)."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_calls import calls

from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface


@pytest.mark.suite
def test_every_call_form_of_hosts_succeeds(libraries: tuple[Path, Path], interface: Interface) -> None:
    """No call is refused, and each gives what the oracle of its function knows."""
    cases = [call.case for call in calls(interface)]
    results = run(cases, interface, libraries[1], libraries[0], jobs=2)
    wrong = [
        f"{result.case.id}: {result.outcome} {result.faults}"
        for result in results.results
        if result.outcome != "passed"
    ]
    assert wrong == []
    assert len(cases) > 1_000
