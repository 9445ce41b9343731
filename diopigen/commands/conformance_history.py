"""Commands on results of several runs: what changed from one to the other, how shards are balanced, the history."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

import click

from diopigen.commands.conformance_cards import costs_of
from diopigen.console import Session, spec_option

_format_option = click.option(
    "--format", "output_format", type=click.Choice(("text", "json")), default="text", help="Form."
)


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@_format_option
def diff(old: str, new: str, output_format: str) -> None:
    """Say what changed between two runs. The exit code is 1 where cases fail that did not before."""
    from diopigen.conformance.report.changes import changes, text, to_record
    from diopigen.conformance.run.reading import read_results

    found = changes(read_results(Path(old)), read_results(Path(new)))
    if output_format == "json":
        click.echo(json.dumps(to_record(found), indent=1, ensure_ascii=False))
    else:
        click.echo(text(found), nl=False)
    sys.exit(1 if found.broken else 0)


@click.command()
@click.argument("costs_file", metavar="RESULTS")
@click.option("--shards", type=click.IntRange(1, 999_999), required=True, metavar="N", help="How many shards.")
@click.option("--against", metavar="RESULTS", help="Another run: how long the same shards take by its times.")
@_format_option
def balance(costs_file: str, shards: int, against: str | None, output_format: str) -> None:
    """Say how equal N shards are by the times of earlier results, with `--costs` and by ids alone."""
    from diopigen.conformance.model import Case
    from diopigen.conformance.run.balance import balance as balance_of
    from diopigen.conformance.run.balance import balanced
    from diopigen.conformance.run.shards import divided

    costs = costs_of(Path(costs_file))
    cases = [Case(name, name.partition("/")[0], "", "", "", {}) for name in sorted(costs)]
    measured = costs_of(Path(against)) if against else costs
    ways = {"--costs": balanced(cases, costs, shards), "ids": divided(cases, shards)}
    record: dict[str, dict[str, float]] = {}
    cost_of_longest, longest_case = 0.0, ""
    for way, parts in ways.items():
        found = balance_of(parts, measured)
        record[way] = {
            "mean": found.mean, "shortest": min(found.loads), "longest": max(found.loads), "deviation": found.deviation,
        }  # fmt: skip
        longest_case, cost_of_longest = found.longest
    if output_format == "json":
        longest = {"case": longest_case, "seconds": cost_of_longest}
        click.echo(json.dumps({"cases": len(cases), "shards": shards, "longest_case": longest, "by": record}, indent=1))
        return
    for way, one in record.items():
        seconds = f"{one['shortest']:.2f} to {one['longest']:.2f} s, {one['mean']:.2f} on average"
        click.echo(f"{shards} shards of {len(cases)} cases by {way}: {seconds}; at most {one['deviation']:.1%} off")
    if cost_of_longest > one["mean"]:
        click.echo(f"{longest_case} alone takes {cost_of_longest:.2f} s, more than a shard on average")


@click.group()
def history() -> None:
    """Keep the results of all runs in one SQLite file, and show how they change."""


@history.command("add")
@click.argument("file", metavar="HISTORY")
@click.argument("results", metavar="RESULTS...", nargs=-1, required=True)
@click.option("--at", metavar="TIME", help="When the runs were, as 2026-01-31T12:00:00+00:00 (default: now).")
@click.option("--host", default="", metavar="NAME", help="Where the runs were (default: this machine).")
def add(file: str, results: tuple[str, ...], at: str | None, host: str) -> None:
    """Add finished runs, such as those that `report merge --json` writes. The file is created where there is none; the
    same results are added once."""
    from diopigen.conformance.history.store import opened
    from diopigen.conformance.run.reading import read_results

    try:
        when = datetime.datetime.fromisoformat(at) if at else datetime.datetime.now(datetime.timezone.utc)
    except ValueError as error:
        raise click.UsageError(f"--at '{at}': {error}") from None
    read = [(name, read_results(Path(name))) for name in results]
    with opened(Path(file), create=True) as store:
        numbers = [store.add(one, when, host) for _, one in read]
    for (name, _), number in zip(read, numbers, strict=True):
        click.echo(f"{name}: {'is there already' if number is None else f'run {number}'}")


@history.command("show")
@click.argument("file", metavar="HISTORY")
@_format_option
def show(file: str, output_format: str) -> None:
    """Show the latest run compared with those before: what broke, what is unsteady, slower, or less exact."""
    from diopigen.conformance.history.store import opened
    from diopigen.conformance.history.trends import text, trends

    with opened(Path(file)) as store:
        found = trends(store)
    click.echo(json.dumps(found, ensure_ascii=False) if output_format == "json" else text(found).rstrip("\n"))


@history.command("page")
@click.argument("file", metavar="HISTORY")
@click.option("--out", required=True, metavar="FILE", help="The page to write: one HTML file.")
@spec_option
def page(file: str, out: str, session: Session) -> None:
    """Write the trends as a page that needs no server."""
    from diopigen.conformance.history.page import to_html
    from diopigen.conformance.history.store import opened
    from diopigen.conformance.history.trends import trends
    from diopigen.output.depfile import write_if_changed

    with opened(Path(file)) as store:
        found = trends(store)
    write_if_changed(Path(out), to_html(found, session.workspace().templates).encode())
    click.echo(f"{out}: {len(found['runs'])} runs")
