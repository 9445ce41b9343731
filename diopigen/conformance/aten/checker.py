"""Checks of calls of ATen: values by the oracles; which calls are legal, by PyTorch's own meta functions."""

from __future__ import annotations

from diopigen.conformance.aten.forms import CPU, META, UNLIKE, elsewhere
from diopigen.conformance.model import ANY_STATUS, SUCCESS, Case, Fault
from diopigen.conformance.oracles import Call
from diopigen.conformance.run.execute import ELSEWHERE, Calls, Checker, Done
from diopigen.conformance.run.frames import Answer
from diopigen.ir.model import Function


class AtenChecker(Checker):
    """Checks calls of overloads.

    The spec says which calls of the C interface are legal. Of PyTorch its meta functions say it: what they refuse, a
    device must refuse, and what they accept, it may accept.
    """

    not_its_own = "falls back to the CPU"

    def _check(self, case: Case, function: Function, calls: Calls) -> tuple[str, list[Fault]]:
        frame, ready = self.preparer.frame(case, function)
        self.values = ready.values
        done = self._called(case.called, frame, ready, calls)
        status, said = self.statuses.get(done.answer.status, "an unknown status"), done.answer.text
        if status == SUCCESS and case.expect in (SUCCESS, ANY_STATUS):
            faults = self._memory(function, ready, written=True)
            if case.expect == ANY_STATUS:
                return ("failed" if faults else "passed"), faults
            call = Call(function, ready.values, ready.dtypes, ready.shapes)
            return self._verified(case, done, call, calls, faults)
        faults = [fault for fault in self._memory(function, ready, written=True) if fault.kind != "input changed"]
        if case.expect == ANY_STATUS:
            return ("failed" if faults else "passed"), faults
        if status == SUCCESS:
            return self._accepted(case, function, calls, faults)
        self.reason = said
        if case.expect != SUCCESS:
            return ("failed" if faults else "passed"), faults
        return self._refused(case, function, calls, status, faults)

    def _verified(
        self, case: Case, done: Done, call: Call, calls: Calls, faults: list[Fault]
    ) -> tuple[str, list[Fault]]:
        outcome, found = super()._verified(case, done, call, calls, faults)
        lacks = next((one.without for one in call.function.aten if one.name == case.overload), frozenset())
        left = [fault for fault in found if fault.parameter not in lacks]
        return (outcome if left or not found else "passed"), left

    def _accepted(self, case: Case, function: Function, calls: Calls, faults: list[Fault]) -> tuple[str, list[Fault]]:
        """A call that the spec forbids has succeeded."""
        meta = self._elsewhere(case, function, calls, META)
        if self._is_error(meta) and not meta.text.startswith(UNLIKE):
            message = f"the call is accepted, and its meta function refuses it ({meta.text})"
            faults.insert(0, Fault("status", "", message, "an error", SUCCESS))
        self.reason = "" if faults else "PyTorch has no rule against it: its meta function accepts it"
        return ("failed" if faults else "inapplicable"), faults

    def _refused(
        self, case: Case, function: Function, calls: Calls, status: str, faults: list[Fault]
    ) -> tuple[str, list[Fault]]:
        """A call that the spec allows has failed."""
        said = self.reason
        meta = self._elsewhere(case, function, calls, META)
        if said.startswith(UNLIKE):
            if meta.text == said or self.statuses.get(meta.status) in ELSEWHERE:
                self.reason = f"{said}: the case is about another result"
                return "inapplicable", faults
            promised = f"; its meta function has it otherwise ({meta.text})" if meta.text else ""
            faults.insert(0, Fault("metadata", "", f"{said}{promised}"))
            return "failed", faults
        if self._is_error(meta):
            self.reason = f"PyTorch's meta function refuses it: {meta.text}"
            return ("failed" if faults else "inapplicable"), faults
        cpu = self._elsewhere(case, function, calls, CPU)
        if self.statuses.get(cpu.status) == SUCCESS:
            if status in ELSEWHERE:
                return ("failed" if faults else "unimplemented"), faults
            message = f"the call is refused, and PyTorch's CPU takes it ({said})"
            faults.insert(0, Fault("status", "", message, SUCCESS, status))
            return "failed", faults
        return ("failed" if faults else "unimplemented"), faults

    def _elsewhere(self, case: Case, function: Function, calls: Calls, device: str) -> Answer:
        frame, ready = self.preparer.frame(case, function)
        return calls.call(elsewhere(case.called, device), frame, ready.arguments, self.limit)

    def _is_error(self, meta: Answer) -> bool:
        """Returns whether a meta function has refused; one that is not there has not."""
        status = self.statuses.get(meta.status, "")
        return status != SUCCESS and status not in ELSEWHERE
