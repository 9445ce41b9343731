"""`rename` and `remove`: a change of the interface reaches all files at once, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from diopigen.commands import completion
from diopigen.console import Session, common_options
from diopigen.diagnostics import Failure, Severity, Sink

if TYPE_CHECKING:
    from diopigen.api import Workspace
    from diopigen.ir.model import Interface
    from diopigen.refactoring.changes import Tree

_OF_TEXTS = frozenset({"doc-form", "doc-reference"})
"""Errors that the checks of targets and tables do not depend on: all errors are shown at once."""

_Plan = Callable[["Tree", "Interface"], str]

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Write nothing; show what would change, and what is left."
)


@click.command()
@click.argument("name", metavar="NAME[.PARAM]", shell_complete=completion.functions)
@click.argument("new", metavar="NEW_NAME")
@dry_run_option
@common_options
def rename(name: str, new: str, dry_run: bool, session: Session) -> None:
    """Rename a parameter of a function and of all its forms, or a function: in the spec, in all tables, in cases and in
    kernels.

    Nothing is written unless the result passes `check`. What a person must do is listed. Then: diopigen generate.
    """
    from diopigen import api
    from diopigen.check.names import KEYWORDS
    from diopigen.refactoring.function import rename_function
    from diopigen.refactoring.parameter import rename_parameter

    function, dot, param = name.partition(".")

    def plan(tree: Tree, interface: Interface) -> str:
        if not dot:
            return rename_function(tree, interface, function, new)
        return rename_parameter(tree, interface, function, param, new, {*KEYWORDS, *api.reserved_names(), "ctx"})

    _carry_out(session, plan, dry_run)


@click.command()
@click.argument("name", metavar="NAME", shell_complete=completion.functions)
@dry_run_option
@common_options
def remove(name: str, dry_run: bool, session: Session) -> None:
    """Remove a function with all its forms, or one form, from the spec and from all tables.

    Nothing is written unless the result passes `check`. What a person must do is listed. Then: diopigen generate.
    """
    from diopigen.refactoring.removal import remove_function

    _carry_out(
        session,
        lambda tree, interface: remove_function(tree, interface, name),
        dry_run,
    )


def _carry_out(session: Session, plan: _Plan, dry_run: bool) -> NoReturn:
    """Plans a change, checks it in a copy of the spec, and writes all files; ends the command."""
    from diopigen.refactoring.changes import Tree
    from diopigen.spec.text_edits import unified_diff

    where = session.workspace()
    if session.spec is None and where.spec != Path("specs"):
        raise click.UsageError("there is no folder 'specs' here: name the spec with --spec")
    interface = session.load().interface
    tree = Tree(where.spec, where.spec_name, where.root)
    said = plan(tree, interface)
    tree.finish()
    wrong = _check(tree, where)
    is_written = not dry_run and not wrong.has_errors
    session.sink.extend(
        replace(one, span=tree.as_it_would_be(one.span)) if is_written and one.span is not None else one
        for one in tree.left
    )
    session.sink.extend(wrong.sorted())
    if dry_run:
        click.echo(unified_diff(tree.before, tree.after), nl=False)
    if wrong.has_errors:
        click.echo("nothing was written: with the change the spec has the errors that follow", err=True)
        session.finish()
    if not dry_run:
        _write(tree)
    count = len(tree.after)
    files = f"{count} file{'' if count == 1 else 's'} {'would change' if dry_run else 'changed'}"
    left = sum(one.severity is Severity.WARNING for one in tree.left)
    by_hand = f", {left} left to a person" if left else ""
    session.finish(f"{said}: {files}{by_hand}; next: diopigen generate")


def _check(tree: Tree, where: Workspace) -> Sink:
    """The errors of the spec with the change, found in a copy."""
    from diopigen import api
    from diopigen.fixes.spec import copied

    found = Sink()
    with copied(where.spec) as folder:
        for file, text in tree.after.items():
            relative = tree.below_spec(file)
            if relative is None:
                continue
            path = folder / relative
            if text is None:
                path.unlink()
            else:
                path.write_bytes(text.encode("utf-8"))
        copy = replace(where, spec=folder)
        try:
            loaded = api.load(copy, found)
            interface = loaded.interface
            if loaded.complete and {one.code for one in found.sorted() if one.severity is Severity.ERROR} <= _OF_TEXTS:
                api.check_models(interface, api.models(copy, found).values(), found)
                api.check_targets(interface, copy, found)
        except Failure as fault:
            found.extend(fault.diagnostics)
    errors = Sink()
    errors.extend(
        replace(one, span=one.span and tree.as_it_was(one.span), notes=())
        for one in found.sorted()
        if one.severity is Severity.ERROR
    )
    return errors


def _write(tree: Tree) -> None:
    """Stages all files before the first one is replaced, so that a full disk leaves all as they were."""
    from diopigen.output.disk import discard, file_mode, publish, remove_file, stage

    staged: dict[Path, Path] = {}
    try:
        for file, text in sorted(tree.after.items()):
            path = tree.path(file).resolve()
            if text is not None:
                staged[path] = stage(path.parent, path, text.encode("utf-8"), file_mode(path))
        for path, temporary in staged.items():
            publish(temporary, path)
    except BaseException:
        discard(staged.values())
        raise
    for file, text in tree.after.items():
        if text is None:
            remove_file(tree.path(file))
