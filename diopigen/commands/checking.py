"""All rules of `diopigen check`, with the findings of a tree without errors from the cache."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diopigen.collection import no_collection
from diopigen.console import PLAN, Session, project
from diopigen.spec.text_file import files_read_once

if TYPE_CHECKING:
    from diopigen.diagnostics import Diagnostic
    from diopigen.emit.plan import Plan
    from diopigen.header.cdecl import CInterface
    from diopigen.ir.parts import Parts

_Checked = tuple[Sequence["Diagnostic"], str]
"""Findings, and the counts of what was checked."""


def checked(session: Session, published: CInterface | None, *, each: bool) -> _Checked:
    """The findings about spec, model tables, targets and completeness. Those without errors are cached under a digest
    of all that was read: spec, templates, sources of the reference libraries, the interface that was generated last and
    the severities of the project. Errors in the spec itself end the command. Files of all targets without findings are
    cached for `generate`."""
    from diopigen.output import cache

    where = session.workspace()
    tables = cache.Parts("tables", (str(where.spec.absolute()),))
    if cache.folder() is None:
        return _work(session, published, tables, each)[0]
    folders, words = _inputs(session, each)
    with files_read_once():
        try:
            key = cache.key_of(folders, words)
            plan_key = session.key((where.spec, where.templates), ())
        except OSError:
            return _work(session, published, tables, each)[0]  # reports what is wrong
        known: _Checked | None = cache.read("check", key)
        if known is not None:
            return known
        result, plan = _work(session, published, tables, each)
    try:
        unchanged = _inputs(session, each) == (folders, words) and cache.key_of(folders, words) == key
    except OSError:
        unchanged = False
    if unchanged:
        tables.save()
        if not session.sink.has_errors:
            cache.write("check", key, (session.sink.sorted(), result[1]))
        if plan is not None:
            cache.write(PLAN, plan_key, plan)
    return result


def _inputs(session: Session, each: bool) -> tuple[list[Path], list[str]]:
    """The folders that `check` reads, and what else its findings follow from."""
    from diopigen.completeness.sources import FORMS_FILE

    where, settings = session.workspace(), project()
    folders = [where.spec, where.templates, *(path for path in (where.root / "impl",) if path.is_dir())]
    read = (where.root / "generated" / "diopi.json", where.root / FORMS_FILE)
    words = [where.spec_name, str(each), str(session.strict), str(where.root.absolute()), sys.platform]
    words += [path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "" for path in read]
    words.append(repr(sorted(settings.severity.items(), key=str)) + settings.file if settings else "")
    return folders, words


def _work(session: Session, published: CInterface | None, tables: Parts, each: bool) -> tuple[_Checked, Plan | None]:
    """Checks everything; findings are in the session's sink. The plan is None where there is a finding about it."""
    from diopigen import api
    from diopigen.conformance.cases.tables import check_tables

    where = session.workspace()
    interface = session.load(fresh=True, published=published).interface
    with no_collection():
        plan = api.check_targets(interface, where, session.sink)
        plan = plan if session.sink.reported == 0 else None
        count = check_tables(interface, where.spec, where.spec_name, tables, session.sink)
    if not session.sink.has_errors:
        api.check_completeness(interface, where, published, session.sink, each=each)
    counts = f"{len(interface.functions)} functions in {len(interface.files)} files, {count} model tables"
    return ((), counts), plan
