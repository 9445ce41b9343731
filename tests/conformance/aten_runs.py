"""Runs of cases on torch's CPU, as `conformance aten` has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from diopigen.conformance.aten.caller import AtenCaller
from diopigen.conformance.aten.forms import through_overloads
from diopigen.conformance.aten.known import with_known
from diopigen.conformance.model import Case, Results
from diopigen.conformance.run.execution import Execution
from diopigen.conformance.run.runner import run
from diopigen.ir.model import Interface


def torch_results(interface: Interface, cases: Iterable[Case], jobs: int = 1) -> Results:
    """The results of cases through all overloads of their functions; known failures are excepted."""
    called = list(through_overloads(interface, cases))
    execution, caller = Execution(is_confined=False), AtenCaller("cpu")
    found = run(called, interface, Path("cpu"), Path(), jobs=jobs, memory_limit=0, caller=caller, execution=execution)
    return with_known(found, "cpu")[0]


def failures(results: Results) -> dict[str, Sequence[Any]]:
    """The failures that are not known, for an assertion."""
    return {one.case.id: [f"{fault.kind}: {fault.message}" for fault in one.faults] for one in results.failures}
