"""The command that measures the suite's false alarms: legal variants of functions must pass all cases."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.conformance_options import libraries_of, ops_option
from diopigen.console import Session
from lab.options import campaign_options, finish, passing_library_options, show_mutants

if TYPE_CHECKING:
    from lab.variants.model import VariantVerdict


@click.command()
@passing_library_options("variants")
@click.option("--variant", multiple=True, metavar="GLOB", help="Variants by name or kind (may be repeated).")
@ops_option
@campaign_options("build/variants", "Where to build.", "List the variants and run none.")
def variants(
    lib: str,
    runtime: str | None,
    variant: tuple[str, ...],
    ops: tuple[str, ...],
    jobs: int,
    folder: str,
    json_file: str | None,
    only_list: bool,
    session: Session,
) -> None:
    """Replace results by those of other algorithms that are as right, and see that the suite accepts them.

    A library that forwards every function to the given one is built once. The exit code is 1 where a case fails because
    of a variant, or a variant writes no result in a function that it replaces.
    """
    from diopigen.conformance.cases.suite import select
    from lab.mutation.campaign import mutants, selected
    from lab.variants.campaign import Campaign, build_variants
    from lab.variants.report import text, to_json

    interface = session.load().interface
    true, host = libraries_of(session, lib, runtime)
    library = build_variants(interface, session.workspace().templates, Path(folder), jobs=jobs)
    if only_list:
        show_mutants(selected(mutants(library, host)[0], variant))
        return
    campaign = Campaign(select(interface, ops=ops), interface, true, library, host, jobs=jobs)
    report = campaign.run(variant, _show if sys.stderr.isatty() else None)
    finish(to_json(report), text(report), json_file, 0 if report.accepted else 1)


def _show(done: int, total: int, verdict: VariantVerdict) -> None:
    end = "\n" if done == total else ""
    click.echo(f"\r\033[K{done} of {total} variants, {verdict.variant.name}{end}", err=True, nl=False)
