"""The command that measures whom the suite cannot be deceived by: libraries that are wrong and try to be accepted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.console import Session
from lab.options import campaign_options, finish

if TYPE_CHECKING:
    from lab.cheats.model import Trial


@click.command()
@click.option("--only", multiple=True, metavar="GLOB", help="Cheats by name or kind (may be repeated).")
@click.option("--runtime", metavar="PATH", help="libdiopirt.so (default: built from the sources of the package).")
@click.option("--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Form.")
@campaign_options("build/cheats", "Where to build and run.", "List the cheats and run none.")
def cheats(
    only: tuple[str, ...],
    runtime: str | None,
    output_format: str,
    jobs: int,
    folder: str,
    json_file: str | None,
    only_list: bool,
    session: Session,
) -> None:
    """Build libraries that try to be accepted without being right, and run the suite over each.

    The exit code is 1 if one is accepted, changes something outside of its run, or is not named as its source requires.
    """
    from diopigen.conformance.run.host_runtime import host_runtime
    from lab.cheats.campaign import Campaign
    from lab.cheats.model import cheats as selected_cheats
    from lab.cheats.report import text, to_json

    selected = selected_cheats(only)
    if only_list:
        for cheat in selected:
            click.echo(f"{cheat.name} ({cheat.kind}): {cheat.tries}")
        return
    if runtime is None:
        runtime = str(host_runtime(session.load().interface, session.workspace().templates))
    campaign = Campaign(Path(folder), Path(runtime), jobs=jobs)
    trials = campaign.run(selected, _show if sys.stderr.isatty() else None)
    as_json = to_json(trials)
    finish(
        as_json,
        as_json if output_format == "json" else text(trials),
        json_file,
        0 if all(t.good for t in trials) else 1,
    )


def _show(done: int, total: int, trial: Trial) -> None:
    end = "\n" if done == total else ""
    click.echo(f"\r\033[K{done} of {total} cheats, {trial.cheat.name}{end}", err=True, nl=False)
