"""The command line: options in, exit codes out. What the commands do is in `api` and the packages below it.

Exit codes: 0 nothing found, 1 findings, 2 wrong usage or work that could not be done. Imports are inside the
commands, so that `--help` does not wait for libclang, NumPy or the spec.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from diopigen import __version__
from diopigen.collection import freeze_what_stays
from diopigen.commands import (
    adaptors,
    chip,
    conformance,
    conformance_aten,
    conformance_batch,
    conformance_collectives,
    conformance_history,
    conformance_large,
    conformance_order,
    conformance_reports,
    conformance_speed,
    conformance_unbound,
    conformance_verify,
    docs,
    elementwise,
    headers,
    init,
    new_operator,
    overview,
    refactoring,
    scaffold,
    serve,
    spec,
    vendor_tree,
    watch,
)
from diopigen.console import FORMATS, INTERRUPTED, show_findings
from diopigen.diagnostics import Failure


class _Commands(click.Group):
    """The group of all commands. An interrupt that a command does not handle ends it with `INTERRUPTED`."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("diopigen: interrupted", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="diopigen")
@click.option("--config", metavar="FILE", help="Settings of the project (default: diopigen.yaml of this folder).")
@click.pass_context
def cli(context: click.Context, config: str | None) -> None:
    """One operator spec; headers, vendor trees and conformance suite generated from it and checked against it.

    Exit codes: 0 fine, 1 findings, 2 wrong usage or work that could not be done, 130 interrupted.
    """
    path = Path(config or "diopigen.yaml")
    if config is not None or path.exists():
        from diopigen.project.file import read_project
        from diopigen.project.options import defaults

        context.obj = read_project(path)
        context.default_map = defaults(context.obj, cli)


for command in (
    spec.check,
    spec.generate,
    spec.explain,
    watch.watch,
    headers.check_proto,
    headers.check_impl,
    headers.import_proto,
    headers.breaking,
    refactoring.rename,
    refactoring.remove,
    init.init,
    new_operator.new_operator,
    scaffold.scaffold,
    scaffold.cmake_dir,
    adaptors.adaptors,
    vendor_tree.coverage,
    chip.chip,
    elementwise.elementwise,
    vendor_tree.doctor,
    overview.overview,
    vendor_tree.sync,
    docs.docs,
    conformance.conformance,
    serve.serve,
    serve.submit,
):
    cli.add_command(command)
conformance.conformance.add_command(conformance_reports.report)
conformance.conformance.add_command(conformance_verify.verify)
conformance.conformance.add_command(conformance_speed.speed)
conformance.conformance.add_command(conformance_batch.batch)
conformance.conformance.add_command(conformance_unbound.unbound)
conformance.conformance.add_command(conformance_large.large)
conformance.conformance.add_command(conformance_order.bisect_order)
conformance_reports.report.add_command(conformance_history.diff)
conformance_reports.report.add_command(conformance_history.balance)
conformance.conformance.add_command(conformance_history.history)
conformance.conformance.add_command(conformance_reports.coverage)
conformance.conformance.add_command(conformance_aten.aten)
conformance.conformance.add_command(conformance_collectives.collectives)
conformance.conformance.add_command(conformance_reports.device_configs)


def main(arguments: Sequence[str] | None = None, commands: click.Group = cli) -> None:
    """The console script of diopigen, or of another group of commands. No input ends in a traceback: what went wrong
    is said in a line, with exit code 2."""
    if arguments is None:
        freeze_what_stays()
    try:
        _main(arguments, commands)
    except OSError as error:
        if not _is_of_output(error):
            raise
        # What waits to be written is dropped: the interpreter would try it again at its end.
        _drop_output()
        from diopigen.output.disk import fault

        findings = fault(error, Path("standard output"), "write to").diagnostics
        show_findings([replace(one, span=None) for one in findings], "text")
        sys.exit(2)


def _main(arguments: Sequence[str] | None, commands: click.Group) -> None:
    output_format = _format_of(sys.argv[1:] if arguments is None else arguments)
    try:
        commands.main(args=list(arguments) if arguments is not None else None, standalone_mode=True)
    except Failure as fault:
        show_findings(list(fault.diagnostics), output_format)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); it does not want to hear about it.
        _drop_output()
        sys.exit(2)
    except Exception as error:
        if "DIOPIGEN_TRACEBACK" in os.environ or _is_of_output(error):
            raise
        click.echo(f"diopigen: error[internal]: {type(error).__name__}: {error}", err=True)
        click.echo("  fix: this is a fault of diopigen; set DIOPIGEN_TRACEBACK=1 and report what it prints", err=True)
        sys.exit(2)


def _is_of_output(error: Exception) -> bool:
    """Returns whether standard output could not be written. Files that commands write are described by `output.disk`,
    and what cannot be opened is named by the error."""
    numbers = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return isinstance(error, OSError) and error.errno in numbers and error.filename is None


def _drop_output() -> None:
    """Leads standard output to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _format_of(arguments: Sequence[str]) -> str:
    """The value of --format, found without parsing, so that a failure is shown in it as well."""
    for position, argument in enumerate(arguments):
        value = argument.removeprefix("--format=") if argument.startswith("--format=") else None
        if argument == "--format" and position + 1 < len(arguments):
            value = arguments[position + 1]
        if value in FORMATS:
            return value
    return "text"


if __name__ == "__main__":
    main()
