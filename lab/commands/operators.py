"""The command that measures the suite for devices of PyTorch: faults in a library of custom operators."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from diopigen.console import Session
from lab.options import campaign_options, finish

_SHARE = 0.93
"""Share of the faults that has to be found: 28 of 30."""


@click.command()
@click.option("--fault", multiple=True, metavar="GLOB", help="Faults by name or operator (may be repeated).")
@click.option("--python", metavar="PATH", default=sys.executable, help="The Python that has torch (default: this one).")
@campaign_options("build/operators", "Where to write reports.", "List the faults and inject none.")
def operators(
    fault: tuple[str, ...],
    python: str,
    jobs: int,
    folder: str,
    json_file: str | None,
    only_list: bool,
    session: Session,
) -> None:
    """Inject faults into custom operators for PyTorch, and let `conformance aten --register` look for them.

    The exit code is 1 where fewer than 93 per cent of the faults are found, or where a call fails without a fault.
    """
    from lab.operators.campaign import Campaign, selected
    from lab.operators.report import text, to_json

    injected = selected(fault)
    if only_list:
        for one in injected:
            click.echo(f"{one.name} ({one.operator}): {one.sentence}")
        return
    campaign = Campaign(session.load().interface, Path(folder), python=python, jobs=jobs)
    control, outcomes = campaign.run(injected, _show if sys.stderr.isatty() else None)
    found = sum(one.is_found for one in outcomes)
    good = not control and found >= _SHARE * len(outcomes)
    finish(to_json(control, outcomes), text(control, outcomes), json_file, int(not good))


def _show(done: int, total: int) -> None:
    end = "\n" if done == total else ""
    click.echo(f"\r\033[K{done} of {total} runs{end}", err=True, nl=False)
