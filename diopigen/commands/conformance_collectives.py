"""The command that runs the suite of collectives."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands import completion
from diopigen.commands.conformance_options import libraries_of, ops_option, tested_options
from diopigen.console import Session, spec_option
from diopigen.ir.model import Interface

if TYPE_CHECKING:
    from diopigen.conformance.collectives.model import CollectiveCase, CollectiveResult


@click.command()
@tested_options
@click.option("-n", "--ranks", type=click.IntRange(2, 64), default=4, show_default=True, help="Processes that meet.")
@ops_option
@completion.names_option("--dtype", metavar="D", what="A dtype", complete=completion.dtypes)
@click.option("--axis", multiple=True, metavar="A", help="An axis, such as sizes or order (may be repeated).")
@click.option("--failures", type=click.IntRange(0), default=20, show_default=True, help="Failures shown in full.")
@click.option("--json", "json_file", metavar="FILE", help="Write all results as JSON.")
@spec_option
def collectives(
    lib: str,
    runtime: str | None,
    seed: int,
    time_limit: float,
    ranks: int,
    ops: tuple[str, ...],
    dtype: tuple[str, ...],
    axis: tuple[str, ...],
    failures: int,
    json_file: str | None,
    session: Session,
) -> None:
    """Run the cases of collectives, with a process for each rank, and print what came of them."""
    from diopigen.conformance.collectives.cases import cases, ended
    from diopigen.conformance.collectives.launch import run
    from diopigen.conformance.collectives.report import text, to_json
    from diopigen.conformance.collectives.worker import RankSetup

    interface = session.load().interface
    bare = _bare(interface)
    library, host = libraries_of(session, lib, runtime)
    selected = _selected(cases(interface, ranks), ops, dtype, axis)
    ending = _selected(ended(interface), ops, dtype, axis)
    if not selected and not ending:
        raise click.UsageError("no case of a collective is selected: leave out --ops, --dtype or --axis")
    setups = [RankSetup(bare, library, host, seed, rank, ranks, time_limit * 0.8) for rank in range(ranks)]
    done = 0

    def progress(result: CollectiveResult) -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            click.echo(f"\r{done} of {len(selected) + len(ending)}  {result.case.id[:60]:<60}", nl=False, err=True)

    results = run(setups, selected, ending, time_limit, progress)
    if sys.stderr.isatty():
        click.echo(f"\r{'':<80}\r", nl=False, err=True)
    click.echo(text(results, ranks, library.name, failures), nl=False)
    if json_file:
        content = to_json(results, ranks, library.name, seed)
        Path(json_file).write_text(content, encoding="utf-8")
    sys.exit(int(any(result.status == "failed" for result in results)))


def _bare(interface: Interface) -> Interface:
    """The part of an interface that ranks read at their start."""
    headers = tuple(
        replace(header, functions=tuple(function for function in header.functions if function.is_collective))
        for header in interface.headers
    )
    return Interface(
        interface.version, interface.types_header, interface.enums, interface.structs, interface.handles,
        interface.dtypes, interface.dtype_sets, headers, interface.device_functions,
    )  # fmt: skip


def _selected(
    found: Sequence[CollectiveCase], ops: Sequence[str], dtypes: Sequence[str], axes: Sequence[str]
) -> list[CollectiveCase]:
    def is_selected(case: CollectiveCase) -> bool:
        short = case.function.removeprefix("diopi")
        named = not ops or any(fnmatchcase(case.function, op) or fnmatchcase(short, op) for op in ops)
        typed = not dtypes or case.dtype in dtypes
        return named and typed and (not axes or case.axis in axes)

    return [case for case in found if is_selected(case)]
