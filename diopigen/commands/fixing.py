"""`check --fix`: fixes that leave no choice are written, the others stay findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

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


def _note(edit: Edit) -> Diagnostic:
    """What was fixed, where it stood before."""
    finding = edit.finding
    assert isinstance(finding.fix, Correction)
    wrong, right = finding.fix.wrong, finding.fix.right
    what = f"'{wrong}' became '{right}'" if right.strip() else f"'{wrong}' was removed"
    if wrong == "\t":
        what = "tabs became spaces"
    return Diagnostic("fixed", Severity.NOTE, f"{finding.code}: {what}", finding.span)
