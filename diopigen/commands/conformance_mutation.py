"""The command that measures the suite itself: plant faults into a library that passes, and count those it finds."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance import spec_option
from diopigen.console import Session

if TYPE_CHECKING:
    from diopigen.conformance.mutation.model import Mutant, Verdict


@click.command()
@click.option("--lib", required=True, metavar="PATH", help="A library that passes: faults are planted around it.")
@click.option("--runtime", metavar="PATH", help="libdiopirt.so (default: sought beside the library).")
@click.option("--fault", multiple=True, metavar="GLOB", help="Faults by name or kind (may be repeated).")
@click.option("--ops", multiple=True, metavar="GLOB", help="Functions: diopiAdd, 'Conv*' (may be repeated).")
@click.option("--family", multiple=True, metavar="F", help="A family (may be repeated).")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes (default: the number of processors).")
@click.option("--build", "folder", default="build/mutant", show_default=True, metavar="DIR", help="Where it is built.")
@click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON.")
@click.option("--list", "only_list", is_flag=True, help="List the faults and plant none.")
@spec_option
def mutate(
    lib: str,
    runtime: str | None,
    fault: tuple[str, ...],
    ops: tuple[str, ...],
    family: tuple[str, ...],
    jobs: int | None,
    folder: str,
    json_file: str | None,
    only_list: bool,
    spec: str | None,
) -> None:
    """Plant faults into a library, one at a time, and let the suite look for them.

    A library that forwards every function to the true one is built once. The exit code is 1 where fewer than 95 per
    cent of the faults are found, or of all places in which they act. Ctrl-C ends the run: what is known by then is
    reported and written, and the exit code is 130.
    """
    from diopigen.conformance.cases import select
    from diopigen.conformance.locate import library_and_runtime
    from diopigen.conformance.mutation.build import build
    from diopigen.conformance.mutation.campaign import Campaign, chosen, mutants
    from diopigen.conformance.mutation.report import text, to_json
    from diopigen.output.depfile import write_if_changed

    session = Session(spec, None, "text", False)
    interface = session.load().interface
    true, host = library_and_runtime(lib, runtime)
    workers = jobs or os.cpu_count() or 1
    cases = select(interface, ops=ops, families=family)
    mutant = build(interface, session.workspace().templates, Path(folder), jobs=workers)
    if only_list:
        _list(chosen(mutants(mutant, host)[0], fault))
        return
    campaign = Campaign(cases, interface, true, mutant, host, jobs=workers)
    with _Progress(sys.stderr.isatty()) as progress:
        report = campaign.run(chosen(campaign.found, fault), progress.show)
    if json_file:
        write_if_changed(Path(json_file), to_json(report).encode())
    click.echo(text(report), nl=False)
    sys.exit(130 if report.not_run else int(not report.strong))


def _list(found: list[Mutant]) -> None:
    for mutant in found:
        click.echo(f"{mutant.name} ({mutant.kind}): {mutant.sentence}; in {len(mutant.functions)} functions")


class _Progress:
    """A line that counts, on a terminal; a line every ten seconds elsewhere."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal
        self.last = time.monotonic()
        self.missed = 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.terminal:
            click.echo("\r\033[K", err=True, nl=False)

    def show(self, done: int, total: int, verdict: Verdict) -> None:
        """Called after each fault."""
        self.missed += verdict.outcome not in ("killed", "partly")
        now = time.monotonic()
        if now - self.last < (0.1 if self.terminal else 10):
            return
        self.last = now
        line = f"{done} of {total} faults, {self.missed} not killed"
        click.echo(f"\r\033[K{line}" if self.terminal else line, err=True, nl=not self.terminal)
