"""`conformance bisect-order`: cases that fail only after others, and the fewest that must come before."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance_options import Selection, Tested, library_options, selection_options
from diopigen.commands.conformance_running import one_setup
from diopigen.commands.grouped import Grouped
from diopigen.console import Session, spec_option

if TYPE_CHECKING:
    from diopigen.conformance.run.execution import Execution
    from diopigen.conformance.run.order import Dependence


@click.command("bisect-order", cls=Grouped)
@click.argument("case_ids", metavar="[CASE]...", nargs=-1)
@library_options
@selection_options()
@click.option("--order", default=0, show_default=True, help="Seed of the first order.")
@click.option("--orders", type=click.IntRange(1), default=1, show_default=True, help="Orders that are tried.")
@spec_option
def bisect_order(
    case_ids: tuple[str, ...],
    tested: Tested,
    execution: Execution,
    selection: Selection,
    order: int,
    orders: int,
    session: Session,
) -> None:
    """Call cases in one process in a random order, until one fails that passes alone, and reduce the ones before it.

    With CASEs these are called, in this order, and their outcomes are printed. The exit code is 1 where a case fails.
    """
    from diopigen.conformance.cases.suite import find
    from diopigen.conformance.model import FAILURES
    from diopigen.conformance.run.order import results_in_order, search, shuffled
    from diopigen.conformance.run.worker import Bench

    libraries = tested.libraries(session)
    interface = session.load().interface
    if case_ids:
        cases = [find(interface, name, session.models() if "/model-" in name else ()) for name in case_ids]
    else:
        cases = selection.cases(session)
    names = (case.function for case in cases)
    setup = one_setup(session, libraries, names, tested.seed, tested.limits, execution)

    def start() -> Bench:
        return Bench(setup)

    if case_ids:
        results = [result for result, _ in results_in_order(cases, start)]
        for result in results:
            fault = f": {result.faults[0].message}" if result.faults else ""
            click.echo(f"{result.case.id} {result.outcome}{fault}")
        sys.exit(int(any(result.outcome in FAILURES for result in results)))
    is_wrong = False
    for number in range(order, order + orders):
        found = search(shuffled(cases, number), start, lambda text: click.echo(text, err=True))
        is_wrong = is_wrong or bool(found.alone)
        click.echo(f"order {number}: {len(cases)} cases, {len(found.alone)} that fail in any order")
        if found.dependence is not None:
            runtime = ["--runtime", tested.runtime] if tested.runtime else []
            options = ["--lib", tested.lib, *runtime, "--seed", str(tested.seed)]
            click.echo(_text(found.dependence, [*options, *execution.words]))
            sys.exit(1)
    sys.exit(int(is_wrong))


def _text(found: Dependence, options: list[str]) -> str:
    result = found.failing
    fault = f": {result.faults[0].message}" if result.faults else ""
    head = f"{result.case.id} {result.outcome} after {found.seen_after} cases, and passes alone{fault}"
    if not found.before:
        return f"{head}\n  it passed when the same cases were called again: not only their order decides"
    ids = [*(case.id for case in found.before), result.case.id]
    command = shlex.join(["diopigen", "conformance", "bisect-order", *options, *ids])
    lines = [head, f"  these {len(found.before)} before it are enough:", *(f"    {name}" for name in ids[:-1])]
    return "\n".join([*lines, f"  {command}"])
