"""Options that commands on conformance share, and how those that run one fault or variant after another report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from diopigen.commands import completion

if TYPE_CHECKING:
    from diopigen.console import Session

_Command = TypeVar("_Command", bound=Callable[..., Any])


def libraries_of(session: Session, lib: str, runtime: str | None) -> tuple[Path, Path]:
    """The library under test and the host runtime: the one that is named, else the one nearest to the library, else one
    built from the sources that diopigen brings along. Raises `Failure`."""
    from diopigen.conformance.run.host_runtime import host_runtime
    from diopigen.conformance.run.locate import library_and_runtime

    return library_and_runtime(
        lib, runtime, lambda: host_runtime(session.load().interface, session.workspace().templates)
    )


def with_options(command: _Command, *options: Callable[[_Command], _Command]) -> _Command:
    """The command with options, which its help shows in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def ops_option(command: _Command) -> _Command:
    """The option that chooses functions."""
    what = "Functions: diopiAdd, 'Conv*'"
    return completion.names_option("--ops", metavar="GLOB", what=what, complete=completion.functions)(command)


def family_option(command: _Command) -> _Command:
    """The option that chooses families."""
    return completion.names_option("--family", metavar="F", what="A family", complete=completion.families)(command)


def spec_option(command: _Command) -> _Command:
    help_text = "Folder of the spec (default: ./specs, else the built-in one)."
    return click.option("--spec", metavar="DIR", help=help_text)(command)


def selection_options(command: _Command) -> _Command:
    """The options that choose cases."""
    options = (
        ops_option,
        family_option,
        completion.names_option("--dtype", metavar="D", what="A dtype", complete=completion.dtypes),
        completion.names_option(
            "--axis", metavar="A", what="An axis, such as recipe or error", complete=completion.axes
        ),
        completion.names_option(
            "--model", metavar="M", what="The calls of a model: resnet50", complete=completion.models
        ),
    )
    return with_options(command, *options)


def shard_options(command: _Command) -> _Command:
    """The options that choose a part of the cases."""
    shard = "Only the I-th of N parts of the cases, for N machines (`report merge` joins the results)."
    costs = "Earlier results, or a history: parts of --shard then take equally long."
    failures = "Only the cases that count against the library in these earlier results."
    return with_options(
        command,
        click.option("--shard", metavar="I/N", help=shard),
        click.option("--costs", "costs_file", metavar="FILE", help=costs),
        click.option("--only-failures", "failures_file", metavar="FILE", help=failures),
    )


def tested_options(command: _Command) -> _Command:
    """The options that name what is tested, and the seed and the time of each case."""
    return with_options(
        command,
        click.option("--lib", required=True, metavar="PATH", help="The library under test, libdiopi_impl.so."),
        click.option(
            "--runtime", metavar="PATH", help="libdiopirt.so (default: from the library's folder, else built)."
        ),
        click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the drawn values."),
        click.option("--time-limit", default=20.0, show_default=True, help="Seconds that a case may take."),
    )


def library_options(command: _Command) -> _Command:
    """The options that name what is tested and how."""
    memory = "GiB that a process may take; 0 for none, which libraries built with sanitizers need."
    limit = click.option("--memory-limit", type=click.IntRange(0), default=8, show_default=True, help=memory)
    return with_options(command, tested_options, limit)
