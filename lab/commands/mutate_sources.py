"""The command that injects faults into the sources of a library, and counts those that the cases find."""

from __future__ import annotations

import time
from pathlib import Path

import click

from diopigen.console import Session
from lab.options import campaign_options, finish


@click.command("mutate-sources")
@click.option("--root", default=".", metavar="DIR", help="Folder of the project (default: the current one).")
@click.option("--project", default="impl/cpu", show_default=True, metavar="DIR", help="What CMake builds.")
@click.option(
    "--sources", multiple=True, default=("impl/core", "impl/cpu", "generated/cpu"), show_default=True, metavar="DIR",
    help="Folders whose sources may be changed (may be repeated).",
)  # fmt: skip
@click.option("--sample", type=click.IntRange(0), default=640, show_default=True, help="Faults to inject; 0 for all.")
@click.option("--seed", type=click.IntRange(0), default=14, show_default=True, help="Seed of the choice.")
@click.option("--family", multiple=True, metavar="F", help="A folder of functions, common or generated.")
@click.option("--unit", multiple=True, metavar="GLOB", help="Sources: 'impl/cpu/src/*' (may be repeated).")
@click.option("--kind", multiple=True, metavar="K", help="A kind of fault (may be repeated).")
@click.option("--ops", multiple=True, metavar="GLOB", help="Functions whose cases are run (default: all).")
@click.option(
    "--quick", is_flag=True, help="Each case in one of its dtypes; survivors are not compiled to see if they matter."
)
@click.option("--only-named", is_flag=True, help="Inject the faults of the list alone.")
@click.option("--named", metavar="FILE", help="Faults with a name (default: PROJECT/faults/named.yaml).")
@click.option("--waivers", metavar="FILE", help="Changes that are no faults (default: PROJECT/faults/waivers.yaml).")
@campaign_options("build/source-faults", "Where to work.", "List the faults and inject none.")
def mutate_sources(
    root: str,
    project: str,
    sources: tuple[str, ...],
    sample: int,
    seed: int,
    family: tuple[str, ...],
    unit: tuple[str, ...],
    kind: tuple[str, ...],
    ops: tuple[str, ...],
    quick: bool,
    only_named: bool,
    named: str | None,
    waivers: str | None,
    jobs: int,
    folder: str,
    json_file: str | None,
    only_list: bool,
    session: Session,
) -> None:
    """Inject faults into the sources of a library, one at a time, and let the cases that reach them look for them.

    All faults are compiled into one library, each behind a switch. A run that was cut off goes on where it ended. The
    exit code is 1 where fewer than 92 per cent are found of those that are not shown to change nothing.
    """
    from diopigen.conformance.cases.suite import select
    from lab.mutation.sources.model import REQUIRED, score
    from lab.mutation.sources.report import text, to_json
    from lab.mutation.sources.run import Plan, Workshop
    from lab.mutation.sources.sampling import one_dtype_each

    interface = session.load().interface
    cases = select(interface, ops=ops, small=session.small_calls())
    cases = one_dtype_each(cases) if quick else cases
    lists = Path(root, project, "faults")
    plan = Plan(
        -1 if only_named else sample, seed, family, unit, kind,
        _existing(named, lists / "named.yaml"), _existing(waivers, lists / "waivers.yaml"),
    )  # fmt: skip
    started = time.monotonic()

    def say(line: str) -> None:
        click.echo(f"{time.monotonic() - started:6.0f} s  {line}", err=True)

    workshop = Workshop(Path(root), Path(folder), project, sources, jobs, say)
    points, known = workshop.points(plan, session.sink)
    if session.sink.has_errors:
        session.finish()
    if only_list:
        for point in points:
            click.echo(point.id)
        return
    outcome = workshop.run(points, known, cases, interface, explain=not quick)
    about = {"seed": seed, "sample": sample, "cases": len(cases), "unsound": outcome.unsound}
    status = 0 if score(outcome.results).fraction >= REQUIRED else 1
    finish(to_json(outcome.results, about), text(outcome.results, outcome.files), json_file, status)


def _existing(provided: str | None, usual: Path) -> Path | None:
    """The file that is named, else the usual one where there is one."""
    return Path(provided) if provided else usual if usual.is_file() else None
