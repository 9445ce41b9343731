"""What commands that generate share: to write a plan, or to check it, show it as a diff, or list it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.console import Session

if TYPE_CHECKING:
    from diopigen.emit.plan import Plan


def carry_out(
    session: Session, plan: Plan, root: Path, mode: str | None, *, force: bool, command: str, checked: str
) -> str:
    """Writes a plan, and says how many files changed. The modes `check`, `diff` and `dry-run` write nothing and end
    the command; `checked` is what a check without findings says."""
    from diopigen.output.apply import apply
    from diopigen.output.check import check, diff, dry_run, listing

    if mode == "check":
        check(plan, root, session.sink, command=command)
        session.finish(checked)
    if mode == "diff":
        click.echo(diff(plan, root), nl=False)
        session.finish()
    if mode == "dry-run":
        click.echo(listing(dry_run(plan, root, session.sink, force=force, command=command), dry=True), nl=False)
        session.finish()
    result = apply(plan, root, session.sink, force=force, command=command)
    return f"{len(result.written)} written, {len(result.removed)} removed, {len(result.unchanged)} unchanged"
