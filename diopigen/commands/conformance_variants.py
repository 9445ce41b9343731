"""The command that measures the suite's false alarms: legal variants of functions must pass all cases."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance import spec_option
from diopigen.console import Session

if TYPE_CHECKING:
    from diopigen.conformance.variants.model import Verdict


@click.command()
@click.option("--lib", required=True, metavar="PATH", help="A library that passes: variants are planted around it.")
@click.option("--runtime", metavar="PATH", help="libdiopirt.so (default: sought beside the library).")
@click.option("--variant", multiple=True, metavar="GLOB", help="Variants by name or kind (may be repeated).")
@click.option("--ops", multiple=True, metavar="GLOB", help="Functions: diopiAdd, 'Conv*' (may be repeated).")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes (default: the number of processors).")
@click.option("--build", "folder", default="build/variants", show_default=True, metavar="DIR", help="Where to build.")
@click.option("--json", "json_file", metavar="FILE", help="Write everything as JSON.")
@click.option("--list", "only_list", is_flag=True, help="List the variants and run none.")
@spec_option
def variants(
    lib: str,
    runtime: str | None,
    variant: tuple[str, ...],
    ops: tuple[str, ...],
    jobs: int | None,
    folder: str,
    json_file: str | None,
    only_list: bool,
    spec: str | None,
) -> None:
    """Replace results by those of other algorithms that are as right, and see that the suite accepts them.

    A library that forwards every function to the given one is built once. The exit code is 1 where a case fails because
    of a variant, or a variant writes no result in a function that it replaces.
    """
    from diopigen.conformance.cases import select
    from diopigen.conformance.locate import library_and_runtime
    from diopigen.conformance.mutation.campaign import chosen, mutants
    from diopigen.conformance.variants.campaign import Campaign, build_variants
    from diopigen.conformance.variants.report import text, to_json
    from diopigen.output.depfile import write_if_changed

    session = Session(spec, None, "text", False)
    interface = session.load().interface
    (true, host), workers = library_and_runtime(lib, runtime), jobs or os.cpu_count() or 1
    library = build_variants(interface, session.workspace().templates, Path(folder), jobs=workers)
    if only_list:
        for one in chosen(mutants(library, host)[0], variant):
            click.echo(f"{one.name} ({one.kind}): {one.sentence}; in {len(one.functions)} functions")
        return
    campaign = Campaign(select(interface, ops=ops), interface, true, library, host, jobs=workers)
    report = campaign.run(variant, _show if sys.stderr.isatty() else None)
    if json_file:
        write_if_changed(Path(json_file), to_json(report).encode())
    click.echo(text(report), nl=False)
    sys.exit(0 if report.accepted else 1)


def _show(done: int, total: int, verdict: Verdict) -> None:
    end = "\n" if done == total else ""
    click.echo(f"\r\033[K{done} of {total} variants, {verdict.variant.name}{end}", err=True, nl=False)
