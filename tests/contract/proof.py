"""The proof that predicates say what the spec means, over the suite's own cases.

Every accepted case satisfies all predicates of its function. The case that breaks a constraint falsifies the predicate
of that constraint, and no other. By hand: `python tests/contract/proof.py [FAMILY or FUNCTION]...`
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from diopigen.api import load, workspace
from diopigen.conformance.cases.described import described
from diopigen.conformance.cases.suite import cases_of, tested
from diopigen.conformance.model import SUCCESS, Case
from diopigen.contract.evaluate import Arguments
from diopigen.diagnostics import Sink
from diopigen.ir.model import Constraint, Function, Interface
from diopigen.spec.expression import to_text

ROOT = Path(__file__).resolve().parents[2]


def faults(interface: Interface, function: Function) -> Iterator[str]:
    """Contradictions to the predicates of one function."""
    if not function.constraints:
        return
    reported: Counter[str] = Counter()
    for case in cases_of(interface, function):
        blamed = case.breaks
        if case.expect != SUCCESS and not blamed:
            continue
        for line in _contradictions(function, case, blamed):
            key = line.partition(" ")[0] + blamed
            reported[key] += 1
            if reported[key] <= 3:
                yield line


def _contradictions(function: Function, case: Case, blamed: str) -> Iterator[str]:
    arguments = Arguments(function, described(case))
    for constraint in function.constraints:
        if constraint.require is None:
            continue
        try:
            holds = arguments.holds(constraint.require.expression)
        except Exception as error:  # an evaluator that fails is a fault of the predicate or of the evaluator
            yield f"{constraint.id} of {case.id}: '{_text(constraint)}' raises {error!r}"
            continue
        if holds and constraint.id == blamed:
            yield f"{constraint.id} of {case.id}: '{_text(constraint)}' holds, and the case is there to break it"
        elif not holds and constraint.id != blamed:
            what = f"breaks {blamed} only" if blamed else "is accepted"
            yield f"{constraint.id} of {case.id}: '{_text(constraint)}' does not hold, and the case {what}"


def _text(constraint: Constraint) -> str:
    return to_text(constraint.require.expression) if constraint.require is not None else ""


def main(names: list[str]) -> int:
    sink = Sink()
    interface = load(workspace(str(ROOT / "specs")), sink, check=False).interface
    found = missing = 0
    for function in tested(interface):
        if names and not {function.family, function.short_name, function.operator} & set(names):
            continue
        for constraint in function.constraints:
            if constraint.require is None and constraint.untestable is None:
                missing += 1
                print(f"{function.name} {constraint.id}: no predicate ({constraint.note})")
        for line in faults(interface, function):
            found += 1
            print(line)
    print(f"{found} contradictions, {missing} constraints without a predicate")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
