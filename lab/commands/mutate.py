"""The command that measures the suite itself: inject faults into a library that passes, and count those it finds."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance_options import family_option, libraries_of, ops_option
from diopigen.commands.conformance_running import select_held_out
from diopigen.console import Session
from lab.options import campaign_options, finish, passing_library_options, show_mutants

if TYPE_CHECKING:
    from lab.mutation.model import MutantVerdict

_SEED = 0
_HELD_OUT = 8
"""Held-out calls of each function."""


@click.command()
@passing_library_options("faults")
@click.option("--fault", multiple=True, metavar="GLOB", help="Faults by name or kind (may be repeated).")
@ops_option
@family_option
@click.option(
    "--axes", "axes_file", metavar="FILE", help="Try the cases of every axis, held-out calls too, and write its kills."
)
@campaign_options("build/mutant", "Where it is built.", "List the faults and inject none.")
def mutate(
    lib: str,
    runtime: str | None,
    fault: tuple[str, ...],
    ops: tuple[str, ...],
    family: tuple[str, ...],
    axes_file: str | None,
    jobs: int,
    folder: str,
    json_file: str | None,
    only_list: bool,
    session: Session,
) -> None:
    """Inject faults into a library, one at a time, and let the suite look for them.

    A library that forwards every function to the true one is built once. The exit code is 1 where fewer than 95 per
    cent of the faults are found, or of all places in which they act. Ctrl-C ends the run: what is known by then is
    reported and written, and the exit code is 130.
    """
    from diopigen.conformance.cases.suite import select
    from lab.mutation.build import build
    from lab.mutation.campaign import Campaign, mutants, selected
    from lab.mutation.report import axes_text, axes_to_json, text, to_json

    interface = session.load().interface
    true, host = libraries_of(session, lib, runtime)
    cases = select(interface, ops=ops, families=family)
    mutant = build(interface, session.workspace().templates, Path(folder), jobs=jobs)
    if only_list:
        show_mutants(selected(mutants(mutant, host)[0], fault))
        return
    if axes_file:
        cases += select_held_out(session, ops, family, (), _SEED, _HELD_OUT)
    campaign = Campaign(cases, interface, true, mutant, host, jobs=jobs, seed=_SEED, by_axis=bool(axes_file))
    with _Progress(sys.stderr.isatty()) as progress:
        report = campaign.run(selected(campaign.found, fault), progress.show)
    shown = text(report)
    if axes_file:
        selection = [f"--{name} {shlex.quote(one)}" for name, of in (("fault", fault), ("ops", ops)) for one in of]
        selection += [f"--family {one}" for one in family]
        command = " ".join(["python -m lab mutate", *selection, "--axes", axes_file])
        written = {"command": command, "date": time.strftime("%Y-%m-%d", time.gmtime())}
        Path(axes_file).write_text(axes_to_json(report, written))
        shown = axes_text(report) + shown
    finish(to_json(report), shown, json_file, 130 if report.not_run else int(not report.strong))


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

    def show(self, done: int, total: int, verdict: MutantVerdict) -> None:
        """Called after each fault."""
        self.missed += verdict.outcome not in ("killed", "partly")
        now = time.monotonic()
        if now - self.last < (0.1 if self.terminal else 10):
            return
        self.last = now
        line = f"{done} of {total} faults, {self.missed} not killed"
        click.echo(f"\r\033[K{line}" if self.terminal else line, err=True, nl=not self.terminal)
