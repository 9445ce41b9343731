"""`conformance large`: calls with more elements than an index of 32 bits counts."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance_options import Tested, family_option, library_options, ops_option
from diopigen.commands.conformance_running import one_setup, results_of
from diopigen.commands.grouped import Grouped, group
from diopigen.console import INTERRUPTED, Session, spec_option

if TYPE_CHECKING:
    from diopigen.conformance.run.execution import Execution


@click.command("large", cls=Grouped)
@library_options
@ops_option
@family_option
@click.option(
    "--elements",
    default=1 << 31,
    show_default=True,
    type=click.IntRange(1, 1 << 40),
    metavar="N",
    help="A tensor of each call has more than N elements.",
)
@group("--output", "Write all results: json=FILE", {"json": "--json"}, metavar="FORM=FILE")
@click.option("--json", "json_file", metavar="FILE", hidden=True)
@spec_option
def large(
    tested: Tested,
    execution: Execution,
    ops: tuple[str, ...],
    family: tuple[str, ...],
    elements: int,
    json_file: str | None,
    session: Session,
) -> None:
    """Call each function once with a tensor of more than 2^31 elements, of the dtype that needs the least memory.

    The rows of a small call repeat, so that its expected values are those of each repeat. --limit memory=GIB is the
    memory that such a call may take: in bytes, at least twice the elements of an elementwise function.

    The exit code is 1 if a result is wrong or a call does not return.
    """
    from diopigen.conformance.cases.suite import matching
    from diopigen.conformance.report.large import table
    from diopigen.conformance.run.large import LargeCheck

    interface = session.load().interface
    functions = matching(interface, ops, family)
    libraries, names = tested.libraries(session), [one.name for one in functions]
    setup = one_setup(session, libraries, names, tested.seed, tested.limits, execution)
    memory = tested.memory_limit << 30
    check = LargeCheck(interface, seed=tested.seed, elements=elements, memory=memory, limit=tested.time_limit)
    results, is_interrupted = results_of(setup, functions, check.check, json_file)
    click.echo(table(results), nl=False)
    sys.exit(INTERRUPTED if is_interrupted else int(any(one.is_broken for one in results)))
