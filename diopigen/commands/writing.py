"""Shared by commands that generate: writing a plan, checking it, showing it as a diff, or listing it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from diopigen.console import Session

if TYPE_CHECKING:
    from diopigen.emit.plan import Plan


_Command = TypeVar("_Command", bound=Callable[..., Any])


def writing_options(*, differs: str, edited: str) -> Callable[[_Command], _Command]:
    """The options that say what becomes of a plan: `mode`, as `carry_out` takes it, and `force`. A check fails where
    `differs`; `edited` is what is not overwritten otherwise."""
    options = (
        click.option("--check", "mode", flag_value="check", help=f"Write nothing; fail where {differs}."),
        click.option("--diff", "mode", flag_value="diff", help="Write nothing; show what would change."),
        click.option("--dry-run", "mode", flag_value="dry-run", help="Write nothing; list what would be written."),
        click.option("--force", is_flag=True, help=f"Overwrite {edited} edited by hand."),
    )

    def added(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return added


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
