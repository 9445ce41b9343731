"""The console: what every command shares to read options, show findings and choose the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from diopigen.diagnostics import Severity, Sink

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
        self._loaded: Loaded | None = None

    def workspace(self) -> Workspace:
        from diopigen import api

        return api.workspace(self.spec, self.templates)

    def load(self) -> Loaded:
        """The checked interface, read once; findings end the command with 1."""
        from diopigen import api

        if self._loaded is None:
            self._loaded = api.load(self.workspace(), self.sink)
            if self.sink.has_errors or (self.strict and self.sink.count(Severity.WARNING)):
                self.finish()
        return self._loaded

    def finish(self, summary: str = "", *, clean: str = "") -> NoReturn:
        """Shows the findings and ends the command with 0 or 1.

        `summary` closes a run that did its work, `clean` one that found neither errors nor warnings.
        """
        warned = self.sink.count(Severity.WARNING) > 0
        failed = self.sink.has_errors or (self.strict and warned)
        found = self.sink.sorted()
        as_text = self.output_format == "text"
        if found or not as_text:
            show_findings(found, self.output_format)
        closing = summary or ("" if warned else clean)
        if closing and as_text and not failed:
            click.echo(closing)
        sys.exit(1 if failed else 0)


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
