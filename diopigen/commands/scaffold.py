"""The command that a new vendor starts with: scaffold."""

from __future__ import annotations

from pathlib import Path

import click

from diopigen.commands import completion
from diopigen.console import Session, common_options


@click.command()
@click.option("--vendor", required=True, metavar="NAME", help="Name of the vendor: a C identifier.")
@click.option("--out", required=True, metavar="DIR", help="Folder of the tree: new, empty, or scaffolded before.")
@completion.names_option(
    "--ops", "patterns", metavar="GLOB", what="Operators: Add, 'Conv*'", complete=completion.functions
)
@completion.names_option("--family", "families", metavar="F", what="A whole family", complete=completion.families)
@completion.names_option(
    "--model", "models", metavar="M", what="All that a model calls: resnet50", complete=completion.models
)
@click.option("--all", "everything", is_flag=True, help="Every operator of the interface.")
@click.option("--with-torch", "torch", is_flag=True, help="A backend for PyTorch too: the package torch_NAME.")
@click.option("--dry-run", is_flag=True, help="Write nothing; list what would be written.")
@click.option("--force", is_flag=True, help="Overwrite generated files that were edited; never files of your own.")
@common_options
def scaffold(
    vendor: str,
    out: str,
    patterns: tuple[str, ...],
    families: tuple[str, ...],
    models: tuple[str, ...],
    everything: bool,
    torch: bool,
    dry_run: bool,
    force: bool,
    spec: str | None,
    templates: str | None,
    output_format: str,
    strict: bool,
) -> None:
    """Write a vendor's tree that builds at once, or add to one what is new.

    Without --ops, --family, --model and --all a new tree gets a starter set of operators, and an older one is brought
    up to date. Files that are yours (all but generated/, include/, runtime/, test/operators.inc and vendor.json) are
    written once and never touched again.
    """
    from diopigen.emit.vendor.selection import Selection, require_vendor_name
    from diopigen.output.check import listing
    from diopigen.package import package_data
    from diopigen.vendor.scaffold import scaffold as run

    require_vendor_name(vendor)
    session = Session(spec, templates, output_format, strict)
    interface = session.load().interface
    selected = Selection((*patterns, *_called(session, models)), families, everything)
    done = run(
        interface,
        session.workspace(),
        package_data("runtime"),
        vendor,
        Path(out),
        session.sink,
        selected=selected,
        torch=torch,
        force=force,
        write=not dry_run,
    )
    if dry_run and not session.sink.has_errors:
        click.echo(listing(done.generated, dry=True), nl=False)
        if done.shims is not None:
            click.echo(listing(done.shims, dry=True), nl=False)
        click.echo("".join(f"would start   {path}\n" for path in done.started), nl=False)
        session.finish()
    results = [done.generated] if done.shims is None else [done.generated, done.shims]
    counts = {name: sum(len(getattr(each, name)) for each in results) for name in ("written", "removed", "unchanged")}
    generated = "generated: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    session.finish(f"{out}: {generated}; yours: {len(done.started)} started, {len(done.retained)} kept")


def _called(session: Session, names: tuple[str, ...]) -> tuple[str, ...]:
    """The functions that models call."""
    if not names:
        return ()
    found: dict[str, None] = {}
    for model in session.models_named(names):
        found.update(dict.fromkeys(model.functions()))
    return tuple(found)
