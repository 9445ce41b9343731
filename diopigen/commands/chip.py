"""The command that reads what a chip can do and writes it for the simulated device: chip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.writing import carry_out, writing_options
from diopigen.console import Session, common_options
from diopigen.diagnostics import Sink, Span

if TYPE_CHECKING:
    from diopigen.chip.model import Chip
    from diopigen.ir.model import Interface

_SHOWN = 4
"""Functions in a row of the table."""

RULES = {"chip-other-folder": "The folder of a chip's header holds no other generated files, which a run would remove."}


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--out", metavar="DIR", help="Folder to write NAME_chip.h to (default: the file is only checked).")
@writing_options(differs="the header differs", edited="a header that was")
@common_options
def chip(
    file: str,
    out: str | None,
    mode: str | None,
    force: bool,
    session: Session,
) -> None:
    """Check the file of a chip (dtypes, layouts, native operators), and write the table for the simulated device.

    With an error nothing is written. The folder holds nothing else that diopigen generates. For each entry of
    `accuracy` the functions are listed whose results are held to it.
    """
    from diopigen.chip.reader import read_chip
    from diopigen.emit.chip.header import emit_chip
    from diopigen.output.table import ruled

    if mode and out is None:
        raise click.UsageError(f"--{mode} needs --out, which says where the header lies")
    interface = session.load().interface
    found = read_chip(Path(file), file, interface, session.sink)
    if found is None:
        session.finish()
    summary = f"{found.name}: {len(found.operators)} native operators, {len(found.dtypes)} dtypes"
    where = session.workspace()
    if where.has_own_spec:
        summary += f" (spec: {where.spec_name})"
    if found.accuracy and session.output_format == "text":
        click.echo("\n".join(ruled(_accuracy(found, interface), left=(0, 2))))
    if out is None:
        session.finish(clean=summary)
    command = f"diopigen chip {Path(file).name}"
    plan = emit_chip(found, where.templates, command)
    root = Path(out)
    _check_folder(root, session.sink)
    if session.sink.has_errors:
        session.finish()
    checked = f"{out}: as {file} says"
    changed = carry_out(session, plan, root, mode, force=force, command=command, checked=checked)
    session.finish(f"{summary}; {out}: {changed}")


def _accuracy(chip: Chip, interface: Interface) -> list[tuple[str, ...]]:
    """The rows of a table: each entry, and the functions whose results are held to it."""
    from diopigen.chip.accuracy import covered

    native = {one.name for one in chip.operators}
    functions = [one for one in interface.functions if one.name in native or not native]
    rows: list[tuple[str, ...]] = [("accuracy", "functions", "of them")]
    for entry in chip.accuracy:
        names = covered(entry, chip.accuracy, functions)
        rest = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        rows.append((str(entry), str(len(names)), ", ".join(names[:_SHOWN]) + rest))
    return rows


def _check_folder(root: Path, sink: Sink) -> None:
    """Reports a folder that something else was generated into: its files would be taken for stale ones."""
    from diopigen.emit.plan import MANIFEST_NAME
    from diopigen.spec.text_file import read_regular

    path = root / MANIFEST_NAME
    try:
        files = json.loads(read_regular(path))["files"]
        others = [str(entry["path"]) for entry in files if not str(entry["path"]).endswith("_chip.h")]
    except (OSError, ValueError, KeyError, TypeError):
        return  # no folder yet, or one that the writer of files has its own words for
    if others:
        message = f"'{root}' holds other generated files, such as {others[0]}"
        sink.error("chip-other-folder", message, Span(str(path)), fix="give a folder of its own with --out")
