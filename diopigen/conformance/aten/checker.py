"""Checks of calls of ATen: values by the oracles; which calls are legal, by PyTorch's own meta functions."""

from __future__ import annotations

from typing import Any

from diopigen.conformance.aten.forms import CPU, META, UNLIKE, elsewhere
from diopigen.conformance.model import ANY_STATUS, SUCCESS, Case, Fault
from diopigen.conformance.oracles import Call
from diopigen.conformance.run.execute import ELSEWHERE, Calls, Checker, Done
from diopigen.conformance.run.frames import Answer
from diopigen.ir.model import Function, Interface


class AtenChecker(Checker):
    """Checks calls of overloads.

    The spec says which calls of the C interface are legal. Of PyTorch its meta functions say it: what they refuse, a
    device must refuse, and what they accept, it may accept.
    """

    not_its_own = "falls back to the CPU"

    def __init__(self, interface: Interface, *, is_on_cpu: bool, **settings: Any) -> None:
        """`is_on_cpu` holds if calls run on the CPU: a library of custom operators is then no reference for itself. The
        others are as for `Checker`."""
        super().__init__(interface, **settings)
        self.is_on_cpu = is_on_cpu

    def _check(self, case: Case, function: Function, calls: Calls) -> tuple[str, list[Fault]]:
        frame, ready = self.preparer.frame(case, function)
        self.values = ready.values
        done = self._called(case.called, frame, ready, calls)
        status, said = self.statuses.get(done.answer.status, "an unknown status"), done.answer.text
        if case.expect == ANY_STATUS:
            faults = self._memory(function, ready, written=True)
            return ("failed" if faults else "passed"), faults
        if status == case.expect == SUCCESS:
            faults = self._memory(function, ready, written=True)
            call = Call(function, ready.values, ready.dtypes, ready.shapes)
            return self._verified(case, done, call, calls, faults)
        if status == SUCCESS or (case.expect != SUCCESS and said.startswith(UNLIKE)):
            return self._accepted(case, function, calls)
        self.reason = said
        return ("passed", []) if case.expect != SUCCESS else self._rejected(case, function, calls, status)

    def _verified(
        self, case: Case, done: Done, call: Call, calls: Calls | None, faults: list[Fault]
    ) -> tuple[str, list[Fault]]:
        outcome, found = super()._verified(case, done, call, calls, faults)
        lacks = next((one.without for one in call.function.aten if one.name == case.overload), frozenset())
        left = [fault for fault in found if fault.parameter not in lacks]
        return (outcome if left or not found else "passed"), left

    def _accepted(self, case: Case, function: Function, calls: Calls) -> tuple[str, list[Fault]]:
        """A call that the spec forbids has succeeded. Its memory is not looked at: PyTorch resizes outputs, in the
        storage that there is, and lets some of them overlap."""
        meta = self._elsewhere(case, function, calls, META)
        if self._is_error(meta) and not meta.text.startswith(UNLIKE):
            message = f"the call is accepted, and its meta function refuses it ({meta.text})"
            return "failed", [Fault("status", "", message, "an error", SUCCESS)]
        self.reason = "PyTorch has no rule against it: its meta function accepts it"
        return "inapplicable", []

    def _rejected(self, case: Case, function: Function, calls: Calls, status: str) -> tuple[str, list[Fault]]:
        """A call that the spec allows has failed."""
        said = self.reason
        meta = self._elsewhere(case, function, calls, META)
        if said.startswith(UNLIKE):
            if meta.text == said or self.statuses.get(meta.status) in ELSEWHERE:
                self.reason = f"{said}: the case is about another result"
                return "inapplicable", []
            promised = meta.text or "as the case has it"
            return "failed", [Fault("metadata", "", f"{said}; its meta function: {promised}")]
        if self._is_error(meta):
            self.reason = f"PyTorch's meta function refuses it: {meta.text}"
            return "inapplicable", []
        cpu = self._elsewhere(case, function, calls, CPU)
        if self._is_error(cpu) and not (self.is_on_cpu and "::" in case.overload):
            self.reason = f"PyTorch's CPU refuses it: {cpu.text}"
            return "inapplicable", []
        if status in ELSEWHERE or self.statuses.get(cpu.status) in ELSEWHERE:
            return "unimplemented", []
        message = f"the call is refused, and PyTorch's CPU takes it ({said})"
        return "failed", [Fault("status", "", message, SUCCESS, status)]

    def _elsewhere(self, case: Case, function: Function, calls: Calls, device: str) -> Answer:
        frame, ready = self.preparer.frame(case, function)
        return calls.call(elsewhere(case.called, device), frame, ready.arguments, self.limit)

    def _is_error(self, meta: Answer) -> bool:
        """Returns whether a meta function has refused; one that is not there has not."""
        status = self.statuses.get(meta.status, "")
        return status != SUCCESS and status not in ELSEWHERE
