"""The command line: options in, exit codes out. What the commands do stands in `api` and the rooms below it.

Exit codes: 0 nothing found, 1 findings, 2 wrong usage or work that could not be done. Imports stand inside the
commands, so that `--help` does not wait for libclang, NumPy or the spec.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from diopigen import __version__
from diopigen.diagnostics import Failure, Severity, Sink

if TYPE_CHECKING:
    from diopigen.api import Workspace
    from diopigen.ir.load import Loaded

FORMATS = ("text", "json", "github", "sarif", "junit")
_Command = TypeVar("_Command", bound=Callable[..., Any])


class Session:
    """What every command shares: where the spec lies, how findings are shown, and how weighty warnings are."""

    def __init__(self, spec: str | None, templates: str | None, output_format: str, strict: bool) -> None:
        self.spec = spec
        self.templates = templates
        self.output_format = output_format
        self.strict = strict
        self.sink = Sink()

    def workspace(self) -> Workspace:
        from diopigen import api

        return api.workspace(self.spec, self.templates)

    def load(self) -> Loaded:
        """The checked interface; findings end the command with 1."""
        from diopigen import api

        loaded = api.load(self.workspace(), self.sink)
        if self.sink.has_errors or (self.strict and self.sink.count(Severity.WARNING)):
            self.finish()
        return loaded

    def finish(self, summary: str = "") -> None:
        """Shows the findings and a closing line, and ends the command with 0 or 1."""
        self.show(summary)
        failed = self.sink.has_errors or (self.strict and self.sink.count(Severity.WARNING) > 0)
        sys.exit(1 if failed else 0)

    def show(self, summary: str = "") -> None:
        found = self.sink.sorted()
        as_text = self.output_format == "text"
        if found or not as_text:
            show_findings(found, self.output_format)
        if summary and as_text:
            click.echo(summary)


def show_findings(found: Sequence[Any], output_format: str) -> None:
    """Findings as text go to standard error, in every other format to standard output."""
    from diopigen.render import render

    as_text = output_format == "text"
    stream = sys.stderr if as_text else sys.stdout
    colour = as_text and stream.isatty() and "NO_COLOR" not in os.environ
    click.echo(render(found, output_format, colour=colour, sources=_source).rstrip("\n"), err=as_text)


def _source(file: str) -> str | None:
    """The text of a file that a finding points at, or None where it cannot be shown."""
    try:
        path = Path(file)
        return path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size < 2**22 else None
    except (OSError, ValueError):
        return None


def common_options(command: _Command) -> _Command:
    """The options that every command takes."""
    options = (
        click.option("--spec", metavar="DIR", help="Folder of the spec (default: ./specs, else the built-in one)."),
        click.option("--templates", metavar="DIR", help="Folder of the templates (default: the built-in ones)."),
        click.option(
            "--format", "output_format", type=click.Choice(FORMATS), default="text", help="How findings are shown."
        ),
        click.option("--strict", is_flag=True, help="Let warnings fail the run."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="diopigen")
def cli() -> None:
    """One operator spec; headers, vendor trees and conformance suite generated from it and checked against it.

    Exit codes: 0 fine, 1 findings, 2 wrong usage or work that could not be done.
    """


@cli.command()
@common_options
def check(spec: str | None, templates: str | None, output_format: str, strict: bool) -> None:
    """Check the spec against every rule (diopigen explain --rules lists them)."""
    session = Session(spec, templates, output_format, strict)
    interface = session.load().interface
    session.finish(f"{len(interface.functions)} functions in {len(interface.files)} files: nothing found")


@cli.command()
@click.option("--out", default="generated", show_default=True, metavar="DIR", help="Folder to write.")
@click.option("--target", "chosen", multiple=True, metavar="NAME", help="Only this target (may be repeated).")
@click.option("--check", "mode", flag_value="check", help="Write nothing; fail where files differ from the spec.")
@click.option("--diff", "mode", flag_value="diff", help="Write nothing; show what would change.")
@click.option("--dry-run", "mode", flag_value="dry-run", help="Write nothing; list what would be written.")
@click.option("--force", is_flag=True, help="Overwrite files that were edited by hand.")
@click.option("--stamp", metavar="FILE", help="Touch this file when done (for build systems).")
@click.option("--depfile", metavar="FILE", help="Write the inputs as a Make dependency file for --stamp.")
@click.option("--list-targets", is_flag=True, help="List the targets and stop.")
@common_options
def generate(
    out: str,
    chosen: tuple[str, ...],
    mode: str | None,
    force: bool,
    stamp: str | None,
    depfile: str | None,
    list_targets: bool,
    spec: str | None,
    templates: str | None,
    output_format: str,
    strict: bool,
) -> None:
    """Write headers, skeleton data and everything else that follows from the spec."""
    from diopigen import api
    from diopigen.output.apply import apply
    from diopigen.output.check import check as check_output
    from diopigen.output.check import diff, dry_run, listing

    if list_targets:
        click.echo("\n".join(api.targets()))
        return
    if depfile and not stamp:
        raise click.UsageError("--depfile needs --stamp: the file that depends on the inputs")
    session = Session(spec, templates, output_format, strict)
    where = session.workspace()
    interface = session.load().interface
    plan = api.plan(interface, where, session.sink, chosen)
    root = Path(out)
    if session.sink.has_errors:
        session.finish()
    if mode == "check":
        check_output(plan, root, session.sink)
        session.finish(f"{out}: {len(plan)} files, all as the spec says")
    if mode == "diff":
        click.echo(diff(plan, root), nl=False)
        session.finish()
    if mode == "dry-run":
        click.echo(listing(dry_run(plan, root, session.sink, force=force), dry=True), nl=False)
        session.finish()
    result = apply(plan, root, session.sink, force=force)
    if not session.sink.has_errors and stamp:
        _write_stamp(where, plan.all_inputs(), Path(stamp), depfile)
    changed = f"{len(result.written)} written, {len(result.removed)} removed, {len(result.unchanged)} unchanged"
    session.finish("" if session.sink.has_errors else f"{out}: {changed}")


def _write_stamp(where: Workspace, inputs: Sequence[str], stamp: Path, depfile: str | None) -> None:
    """The stamp's time is that of this run; the dependency file names every input by its real path."""
    from diopigen.output.depfile import depfile_text, write_if_changed

    write_if_changed(stamp, b"")
    os.utime(stamp)
    if depfile:
        paths = []
        for name in inputs:
            folder, _, rest = name.partition("/")
            root = where.spec if folder == "specs" else where.templates
            paths.append(str((root / rest).absolute()))
        write_if_changed(Path(depfile), depfile_text(str(stamp), paths).encode())


@cli.command()
@click.argument("name", required=False)
@click.option("--rules", is_flag=True, help="List every rule with its purpose.")
@common_options
def explain(
    name: str | None, rules: bool, spec: str | None, templates: str | None, output_format: str, strict: bool
) -> None:
    """Show all that the spec says about a function, or what a rule is for."""
    from diopigen.explain import explain_function, explain_rule, rules_table

    if rules:
        click.echo(rules_table())
        return
    if name is None:
        raise click.UsageError("name a function (diopiAdd) or a rule (unknown-dtype), or use --rules")
    rule = explain_rule(name)
    if rule is not None:
        click.echo(rule)
        return
    session = Session(spec, templates, output_format, strict)
    click.echo(explain_function(session.load().interface, name))


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. No input ends in a traceback: what went wrong is said in a line, with exit code 2."""
    output_format = _format_of(sys.argv[1:] if arguments is None else arguments)
    try:
        cli.main(args=list(arguments) if arguments is not None else None, standalone_mode=True)
    except Failure as fault:
        show_findings(list(fault.diagnostics), output_format)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); it does not want to hear about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except Exception as error:
        if "DIOPIGEN_TRACEBACK" in os.environ:
            raise
        click.echo(f"diopigen: error[internal]: {type(error).__name__}: {error}", err=True)
        click.echo("  fix: this is a fault of diopigen; set DIOPIGEN_TRACEBACK=1 and report what it prints", err=True)
        sys.exit(2)


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
