"""Options of the lab's commands, and how they report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from diopigen.commands.conformance_options import with_options
from diopigen.console import spec_option

if TYPE_CHECKING:
    from lab.mutation.model import Mutant

_Command = TypeVar("_Command", bound=Callable[..., Any])


def passing_library_options(what: str) -> Callable[[_Command], _Command]:
    """The options that name a library which passes; `what` is wrapped around it."""
    return lambda command: with_options(
        command,
        click.option(
            "--lib", required=True, metavar="PATH", help=f"A library that passes: {what} are wrapped around it."
        ),
        click.option(
            "--runtime", metavar="PATH", help="libdiopirt.so (default: from the library's folder, else built)."
        ),
    )


def campaign_options(folder: str, purpose: str, listing: str) -> Callable[[_Command], _Command]:
    """The options that every campaign ends with: processes, the build folder (its default, and what it is for), the
    report, whether only to list, and the spec."""
    jobs = "Processes (default: the number of processors)."
    return lambda command: with_options(
        command,
        click.option("-j", "--jobs", type=click.IntRange(1), callback=_processors, help=jobs),
        click.option("--build", "folder", default=folder, show_default=True, metavar="DIR", help=purpose),
        click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON."),
        click.option("--list", "only_list", is_flag=True, help=listing),
        spec_option,
    )


def _processors(_context: click.Context, _param: click.Parameter, jobs: int | None) -> int:
    return jobs or os.cpu_count() or 1


def show_mutants(found: Iterable[Mutant]) -> None:
    """Lists the faults of a campaign, one a line."""
    for mutant in found:
        click.echo(f"{mutant.name} ({mutant.kind}): {mutant.sentence}; in {len(mutant.functions)} functions")


def finish(as_json: str, as_text: str, json_file: str | None, status: int) -> NoReturn:
    """Writes the report where a file is named, shows it, and ends the command."""
    from diopigen.output.depfile import write_if_changed

    if json_file:
        write_if_changed(Path(json_file), as_json.encode())
    click.echo(as_text, nl=False)
    sys.exit(status)
