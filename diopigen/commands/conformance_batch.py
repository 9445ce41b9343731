"""`conformance batch`: functions whose results of a row do not depend on the other rows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance_options import Tested, family_option, library_options, ops_option
from diopigen.commands.conformance_running import one_setup, results_of
from diopigen.commands.conformance_vendor import vendor_options, vendor_side
from diopigen.commands.grouped import Grouped
from diopigen.console import INTERRUPTED, Session, spec_option

if TYPE_CHECKING:
    from diopigen.conformance.run.execution import Execution


@click.command("batch", cls=Grouped)
@library_options
@ops_option
@family_option
@vendor_options()
@click.option("--json", "json_file", metavar="FILE", help="Write the calls and differences of each function.")
@spec_option
def batch(
    tested: Tested,
    execution: Execution,
    ops: tuple[str, ...],
    family: tuple[str, ...],
    impl: str | None,
    chip_file: str | None,
    json_file: str | None,
    session: Session,
) -> None:
    """Compute some rows of a batch without the others, and compare the bytes of their results: a table by function.

    The exit code is 1 where results depend on the batch although the chip's file declares that they do not
    (`batch_invariant`), or where a call does not return.
    """
    from diopigen.conformance.cases.suite import matching
    from diopigen.conformance.report.batch import table
    from diopigen.conformance.run.batch import BatchCheck

    interface = session.load().interface
    functions = matching(interface, ops, family)
    declared = vendor_side(session, impl, chip_file).accuracy
    names = [one.name for one in functions]
    setup = one_setup(session, tested.libraries(session), names, tested.seed, tested.limits, execution)
    check = BatchCheck(interface, seed=tested.seed, limit=tested.time_limit, declared=declared)
    results, is_interrupted = results_of(setup, functions, check.check, json_file)
    click.echo(table(results), nl=False)
    sys.exit(INTERRUPTED if is_interrupted else int(any(one.is_wrong for one in results)))
