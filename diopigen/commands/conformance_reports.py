"""Commands on conformance that run nothing: show or merge results of earlier runs, say what the cases reach."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance import exit_code
from diopigen.commands.conformance_options import Report, Selection, report_options, selection_options, with_options
from diopigen.commands.grouped import Grouped
from diopigen.console import Session, show_findings, spec_option

if TYPE_CHECKING:
    pass


class _Reports(click.Group):
    """A group that shows a file where no command is named: `report A.json` is `report show A.json`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Puts the name of the default command in front."""
        first = args[0] if args else "--help"
        if first not in self.commands and first not in ("-h", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Reports)
def report() -> None:
    """Show the results of an earlier run (`report RESULTS.json`), or merge those of several machines."""


def _forms(command: click.decorators.FC) -> click.decorators.FC:
    no_times = click.option(
        "--no-times", is_flag=True, help="Write all times as 0: equal results then give equal files."
    )
    return with_options(command, report_options, no_times, spec_option)


@report.command(cls=Grouped)
@click.argument("file", metavar="RESULTS")
@_forms
def show(
    file: str,
    report: Report,
    no_times: bool,
    session: Session,
) -> None:
    """Show results that `conformance run --json` wrote, in any form."""
    from diopigen.conformance.run.merging import without_times
    from diopigen.conformance.run.reading import read_results

    results = read_results(Path(file))
    results = without_times(results) if no_times else results
    report.write(session, results)
    report.show(results)
    sys.exit(exit_code(results))


@report.command(cls=Grouped)
@click.argument("files", metavar="RESULTS...", nargs=-1, required=True)
@click.option("--allow-missing", is_flag=True, help="Merge although shards or cases are missing; they are named.")
@_forms
def merge(
    files: tuple[str, ...],
    allow_missing: bool,
    report: Report,
    no_times: bool,
    session: Session,
) -> None:
    """Put the results of several machines together. Missing shards, cases without a result and cards that differ from
    others are findings."""
    from diopigen.conformance.run.merging import merge as merge_results
    from diopigen.conformance.run.merging import without_times
    from diopigen.conformance.run.reading import read_results

    parts = {file: read_results(Path(file)) for file in files}
    results = merge_results(parts, session.sink, allow_missing=allow_missing)
    if session.sink.has_errors:
        session.finish()
    if len(session.sink):
        show_findings(session.sink.sorted(), "text")
    results = without_times(results) if no_times else results
    report.write(session, results)
    report.show(results)
    sys.exit(exit_code(results))


@click.command(cls=Grouped)
@selection_options()
@click.option("--by", type=click.Choice(("dtype", "axis")), default="dtype", show_default=True, help="Table columns.")
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Form.")
@click.option("--holes", is_flag=True, help="Only the functions that have holes.")
@click.option("--strict", is_flag=True, help="Let holes without a known reason fail the command.")
@spec_option
def coverage(
    selection: Selection,
    by: str,
    output_format: str,
    holes: bool,
    strict: bool,
    session: Session,
) -> None:
    """Say what the cases reach, function by dtype by axis, and name every hole."""
    from diopigen.conformance.cases.suite import matching, select
    from diopigen.conformance.report.coverage import coverage as coverage_of
    from diopigen.conformance.report.coverage import summary, text, to_record

    interface = session.load().interface
    tables = session.models()
    cases = select(
        interface, ops=selection.ops, families=selection.family, dtypes=selection.dtype, axes=selection.axis,
        tables=tables, models=selection.model,
    )  # fmt: skip
    # A function without cases counts where it is named: that it has none is the hole.
    functions = matching(interface, selection.ops, selection.family)
    if selection.dtype or selection.axis or selection.model:
        reached = {case.function for case in cases}
        functions = [function for function in functions if function.name in reached]
    found = coverage_of(functions, cases, interface.not_covered)
    shown = [row for row in found if row.holes or not holes]
    if output_format == "json":
        document = {"summary": summary(found), "functions": [to_record(row) for row in shown]}
        click.echo(json.dumps(document, indent=1))
    else:
        click.echo(text(found, by=by, holes_only=holes), nl=False)
    sys.exit(1 if strict and any(row.unknown for row in found) else 0)


@click.command("device-configs")
@click.argument("file", metavar="EXCEPTIONS")
@click.option("--out", metavar="FILE", help="Write the file (default: print it).")
@spec_option
def device_configs(file: str, out: str | None, session: Session) -> None:
    """Known exceptions (YAML) as device_configs.py, for test runners that read diopi_configs.py."""
    from diopigen.conformance.report.device_configs import device_configs as text_of
    from diopigen.conformance.run.exceptions import read
    from diopigen.output.depfile import write_if_changed

    interface = session.load().interface
    known = read(Path(file), file, session.sink)
    if session.sink.has_errors:
        session.finish()
    text = text_of(interface, known, file, session.sink)
    if out is None:
        click.echo(text, nl=False)
        session.finish()
    write_if_changed(Path(out), text.encode())
    session.finish(f"{out}: {len(known)} known exceptions")
