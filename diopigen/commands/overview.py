"""The command that puts the reports on a vendor's library together on one page."""

from __future__ import annotations

from pathlib import Path

import click

from diopigen.console import Session, spec_option


@click.command("overview")
@click.argument("files", metavar="RESULTS...", nargs=-1, required=True)
@click.option("--coverage", "coverage_file", metavar="FILE", help="What `coverage --json` wrote.")
@click.option("--trace", "trace_file", metavar="FILE", help="A trace of the device, such as DIOPI_SIM_TRACE writes.")
@click.option("--link", "links", multiple=True, metavar="ADDRESS", help="Another page, seen from this one.")
@click.option("--out", required=True, metavar="FILE", help="The page to write: one HTML file.")
@spec_option
def overview(
    files: tuple[str, ...],
    coverage_file: str | None,
    trace_file: str | None,
    links: tuple[str, ...],
    out: str,
    session: Session,
) -> None:
    """Write one page on a vendor's library: verdict by family, coverage, accuracy, a timeline, and what to do next.

    RESULTS are what `conformance run --json` wrote, one file for each run; a run has the name of its file.
    """
    from diopigen.conformance.run.reading import read_results
    from diopigen.output.disk import write_file
    from diopigen.vendor.coverage_file import read_report
    from diopigen.vendor.overview import to_html
    from diopigen.vendor.timeline import read_trace

    names = [Path(file).stem for file in files]
    if len(set(names)) < len(names):
        raise click.UsageError("runs have the names of their files: two files have the same")
    runs = {name: read_results(Path(file)) for name, file in zip(names, files, strict=True)}
    coverage = read_report(Path(coverage_file)) if coverage_file else None
    trace = read_trace(Path(trace_file)) if trace_file else ()
    addresses = {Path(link).stem: link for link in links}
    write_file(Path(out), to_html(runs, coverage, trace, addresses, session.workspace().templates))
    click.echo(out)
