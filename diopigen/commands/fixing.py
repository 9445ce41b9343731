"""`check --fix`: fixes that leave no choice are written, the others stay findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from diopigen.console import Session
from diopigen.diagnostics import Correction, Diagnostic, Severity, Sink

if TYPE_CHECKING:
    from diopigen.fixes.edits import Edit
    from diopigen.header.cdecl import CInterface


def fix_spec(session: Session, published: CInterface | None, *, diff: bool) -> None:
    """Fixes the files of the spec and reports each fix as a note. With `diff` nothing is written: the changes are
    shown, what is left is reported, and the command ends."""
    from diopigen import api
    from diopigen.fixes.spec import fix
    from diopigen.output.disk import file_mode, write_file

    where = session.workspace()

    def findings(folder: Path) -> Sequence[Diagnostic]:
        found = Sink()
        copy = replace(where, spec=folder)
        loaded = api.load(copy, found, published=published)
        if not found.has_errors:
            api.check_models(loaded.interface, api.models(copy, found).values(), found)
        return found.sorted()

    fixed = fix(where.spec, where.spec_name, findings)
    if diff:
        click.echo(fixed.diff(where.spec_name), nl=False)
        session.sink.extend(fixed.left)
        session.finish()
    for path, text in sorted(fixed.texts.items()):
        file = where.spec / path
        write_file(file, text.encode("utf-8"), file_mode(file))
    session.sink.extend(map(_note, fixed.done))


def check_files(
    session: Session, files: Sequence[str], published: CInterface | None, *, fixes: bool, diff: bool
) -> NoReturn:
    """Checks chips' files and configurations, and ends the command. With `fixes` they are fixed, with `diff` it is only
    shown how."""
    from diopigen.fixes.text import fix_text
    from diopigen.header.renames import renames
    from diopigen.header.signature import c_interface
    from diopigen.output.disk import file_mode, write_file
    from diopigen.spec.text_file import read_text
    from diopigen.vendor.own_files import checker

    interface = session.load().interface
    renamed = renames(published, c_interface(interface)) if published is not None else {}
    for name in files:
        text = read_text(Path(name), name)
        check = checker(name, text, interface, session.workspace(), renamed)
        fixed = fix_text(text, name, check) if fixes else None
        session.sink.extend(check(text) if fixed is None else fixed.left)
        if fixed is None:
            continue
        if diff:
            click.echo(fixed.diff(""), nl=False)
            continue
        for path, new in fixed.texts.items():
            write_file(Path(path), new.encode("utf-8"), file_mode(Path(path)))
        session.sink.extend(map(_note, fixed.done))
    session.finish(clean=f"{', '.join(files)}: nothing found")


def _note(edit: Edit) -> Diagnostic:
    """Fixed findings, at their positions before the fix."""
    finding = edit.finding
    assert isinstance(finding.fix, Correction)
    wrong, right = finding.fix.wrong, finding.fix.right
    what = f"'{wrong}' became '{right}'" if right.strip() else f"'{wrong}' was removed"
    if wrong.endswith(":") and not right:
        what = f"the entry '{wrong}' was removed"
    if wrong == "\t":
        what = "tabs became spaces"
    return Diagnostic("fixed", Severity.NOTE, f"{finding.code}: {what}", finding.span)
