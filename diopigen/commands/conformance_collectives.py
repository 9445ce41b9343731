"""The suite of collectives, as `diopigen conformance run --collectives` runs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance_options import libraries_of
from diopigen.ir.model import Interface

if TYPE_CHECKING:
    from diopigen.conformance.collectives.model import CollectiveCase, CollectiveResult
    from diopigen.console import Session


@dataclass(frozen=True, slots=True)
class CollectiveRun:
    """What the options say of a run: ranks, the selection, limits, where results go."""

    nranks: int
    seed: int
    time_limit: float
    ops: Sequence[str]
    dtypes: Sequence[str]
    axes: Sequence[str]
    failures: int
    json_file: str | None


def run_collectives(session: Session, lib: str, runtime: str | None, options: CollectiveRun) -> int:
    """Runs the cases, prints what came of them, and gives the exit code."""
    from diopigen.conformance.collectives.cases import cases, ended
    from diopigen.conformance.collectives.launch import run
    from diopigen.conformance.collectives.report import text, to_json
    from diopigen.conformance.collectives.worker import RankSetup

    interface = session.load().interface
    bare = _bare(interface)
    library, host = libraries_of(session, lib, runtime)
    selected = _selected(cases(interface, options.nranks), options)
    ending = _selected(ended(interface), options)
    if not selected and not ending:
        raise click.UsageError("no case of a collective is selected: leave out --ops, --dtype or --axis")
    setups = [
        RankSetup(bare, library, host, options.seed, rank, options.nranks, options.time_limit * 0.8)
        for rank in range(options.nranks)
    ]
    done = 0

    def progress(result: CollectiveResult) -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            click.echo(f"\r{done} of {len(selected) + len(ending)}  {result.case.id[:60]:<60}", nl=False, err=True)

    results = run(setups, selected, ending, options.time_limit, progress)
    if sys.stderr.isatty():
        click.echo(f"\r{'':<80}\r", nl=False, err=True)
    click.echo(text(results, options.nranks, library.name, options.failures), nl=False)
    if options.json_file:
        content = to_json(results, options.nranks, library.name, options.seed)
        Path(options.json_file).write_text(content, encoding="utf-8")
    return int(any(result.status == "failed" for result in results))


def _bare(interface: Interface) -> Interface:
    """What ranks need of an interface: they read it at their start, and most of it is about operators."""
    headers = tuple(
        replace(header, functions=tuple(function for function in header.functions if function.is_collective))
        for header in interface.headers
    )
    return Interface(
        interface.version, interface.types_header, interface.enums, interface.structs, interface.handles,
        interface.dtypes, interface.dtype_sets, headers, interface.device_functions,
    )  # fmt: skip


def _selected(found: Sequence[CollectiveCase], options: CollectiveRun) -> list[CollectiveCase]:
    def is_selected(case: CollectiveCase) -> bool:
        short = case.function.removeprefix("diopi")
        named = not options.ops or any(fnmatchcase(case.function, op) or fnmatchcase(short, op) for op in options.ops)
        typed = not options.dtypes or case.dtype in options.dtypes
        return named and typed and (not options.axes or case.axis in options.axes)

    return [case for case in found if is_selected(case)]
