"""The command that a new operator starts with: new-operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from diopigen.commands import completion
from diopigen.console import Session, common_options

if TYPE_CHECKING:
    from diopigen.api import Workspace
    from diopigen.start.operator import Started

RULES = {
    "new-operator-name": "A new operator has a name of its own that C, C++ and Python accept.",
    "new-operator-like": "`diopigen new-operator` begins an operator like one of the spec that the suite tests.",
    "new-operator-tree": "`diopigen new-operator` writes new files, into a tree with oracles, kernels and tests.",
}


@click.command("new-operator")
@click.argument("name", metavar="NAME")
@click.option(
    "--like",
    required=True,
    metavar="OPERATOR",
    help="The operator that it begins as.",
    shell_complete=completion.functions,
)
@click.option("--no-backward", is_flag=True, help="Only the operator, without gradients like the other one's.")
@click.option("--dry-run", is_flag=True, help="Write nothing; list what would be written.")
@common_options
def new_operator(
    name: str,
    like: str,
    no_backward: bool,
    dry_run: bool,
    session: Session,
) -> None:
    """Begin an operator: its entry in the spec, oracle, kernels and test as skeletons that do not pass.

    It begins with the parameters, constraints and cases of OPERATOR, and with a gradient where OPERATOR has one.
    Nothing is written unless all of it can be.
    """
    from diopigen.start.operator import start

    where = session.workspace()
    started = start(session.load(fresh=True).interface, where, name, like.removeprefix("diopi"), not no_backward)
    if not dry_run:
        _write(started, where)
    session.finish(_summary(started, dry_run))


def _write(started: Started, where: Workspace) -> None:
    """New files first, then the spec; what was written is taken back where the disk refuses."""
    from diopigen.output.disk import discard, file_mode, write_file
    from diopigen.output.once import write_once

    before = {path: (where.spec / path).read_bytes() for path in started.spec}
    written = write_once(started.files, where.root)
    changed: list[str] = []
    try:
        for path, text in started.spec.items():
            write_file(where.spec / path, text.encode("utf-8"), file_mode(where.spec / path))
            changed.append(path)
    except BaseException:
        for path in changed:
            write_file(where.spec / path, before[path], file_mode(where.spec / path))
        discard(where.root / path for path in written)
        raise


def _summary(started: Started, dry_run: bool) -> str:
    verb = "would write" if dry_run else "wrote"
    lines = [f"{verb} the skeleton of {' and '.join(one.name for one in started.operators)}; what is left to write:"]
    lines += [f"  {location.path}: {location.what}" for one in started.operators for location in one.locations]
    lines.append(f"  {started.test}: known values; it fails until then")
    return "\n".join([*lines, f"next: diopigen check, diopigen generate, pytest {started.test}"])
