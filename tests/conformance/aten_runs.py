"""Runs of cases on torch's CPU, as `conformance aten` has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from diopigen.conformance.aten.caller import AtenCaller
from diopigen.conformance.aten.forms import through_overloads
from diopigen.conformance.model import Case, Results
from diopigen.conformance.run.execution import Execution
from diopigen.conformance.run.runner import CaseRunner, run
from diopigen.ir.model import Interface

_UNCONFINED = Execution(is_confined=False)


def torch_results(interface: Interface, cases: Iterable[Case], jobs: int = 1) -> Results:
    """The results of cases through all overloads of their functions; known failures are excepted."""
    called = list(through_overloads(interface, cases))
    caller = AtenCaller("cpu")
    found = run(called, interface, Path("cpu"), Path(), jobs=jobs, memory_limit=0, caller=caller, execution=_UNCONFINED)
    return caller.excepting.with_known(found)[0]


class TorchRunner:
    """The same for one case after the other, in a process that stays."""

    def __init__(self, interface: Interface) -> None:
        every = [Case("", function.name, function.family, "", "", {}) for function in interface.functions]
        self.interface, self.caller = interface, AtenCaller("cpu")
        self.runner = CaseRunner(
            every, interface, Path("cpu"), Path(), memory_limit=0, caller=self.caller, execution=_UNCONFINED
        )

    def results(self, case: Case) -> Results:
        """The results of a case through all overloads of its function; known failures are excepted."""
        found = self.runner.check_all(list(through_overloads(self.interface, [case])))
        return self.caller.excepting.with_known(Results(tuple(found), 0.0, 0, "cpu"))[0]


def failures(results: Results) -> dict[str, Sequence[Any]]:
    """The failures that are not known, for an assertion."""
    return {one.case.id: [f"{fault.kind}: {fault.message}" for fault in one.faults] for one in results.failures}
