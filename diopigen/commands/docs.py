"""The command that writes the operator reference as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from diopigen.commands.combinations import combinations, excludes
from diopigen.commands.writing import carry_out, writing_options
from diopigen.console import Session, common_options
from diopigen.diagnostics import Failure, Sink, Span, failure

if TYPE_CHECKING:
    from diopigen.emit.docs.facts import Changes, Document, Facts

RULES = {"docs-unreadable": "The documents of the reference site can be read."}

_AT_ROOT = ("README.md", "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")


@click.command("docs")
@click.option("--out", default="site", show_default=True, metavar="DIR", help="Folder to write.")
@click.option(
    "--coverage", "reports", multiple=True, metavar="FILE", help="What `coverage --json` wrote (may be repeated)."
)
@click.option("--against", metavar="OLD", help="A page of changes since this version: anything that `breaking` reads.")
@click.option("--cases", "counted", is_flag=True, help="Count the conformance cases (seconds, then cached).")
@click.option("--documents", metavar="DIR", help="Project with README.md and docs/ (default: that of the spec).")
@click.option("--no-documents", is_flag=True, help="Leave the documents out.")
@writing_options(differs="the site is not up to date", edited="files that were")
@common_options
@combinations(excludes("documents", "no_documents"))
def docs(
    out: str,
    reports: tuple[str, ...],
    against: str | None,
    counted: bool,
    documents: str | None,
    no_documents: bool,
    mode: str | None,
    force: bool,
    session: Session,
) -> None:
    """Write the operator reference: a static site that opens from a file, with a page for each operator, family and
    document, a search, and on request the changes since another version."""
    from diopigen.emit.docs.pages import COMMAND, site

    facts = _facts(session, reports, against, counted, _documents(session, documents, no_documents))
    plan = site(session.load().interface, facts, session.workspace().templates)
    checked = f"{out}: {len(plan)} files, all up to date"
    changed = carry_out(session, plan, Path(out), mode, force=force, command=f"{COMMAND} --out {out}", checked=checked)
    session.finish(f"{out}: {changed}")


def _facts(
    session: Session, reports: tuple[str, ...], against: str | None, counted: bool, documents: list[Document]
) -> Facts:
    from diopigen.conformance.cases.stored import StoredCases
    from diopigen.conformance.report.reference import case_counts, oracle_names, samples
    from diopigen.emit.docs.facts import Facts
    from diopigen.rulebook.rules import all_rules
    from diopigen.vendor.coverage import STATES
    from diopigen.vendor.coverage_file import read_coverage

    interface = session.load().interface
    where = session.workspace()
    vendors = tuple(read_coverage(Path(report)) for report in reports)
    return Facts(
        rules=all_rules(),
        models=session.models(),
        samples=session.cached("samples", (where.spec,), (where.spec_name,), lambda: samples(interface)),
        oracles=oracle_names(interface),
        cases=case_counts(interface, StoredCases(interface, session.interface_key).of) if counted else None,
        vendors=vendors,
        states=STATES,
        documents=documents,
        changes=_changes(session, against) if against else None,
    )


def _changes(session: Session, against: str) -> Changes:
    from diopigen.emit.docs.facts import Changes
    from diopigen.header.check import Version, read_version
    from diopigen.header.contract_changes import version_changes
    from diopigen.header.signature import c_interface

    old = read_version(Path(against), session.sink)
    if old is None:
        session.give_up()
    found = Sink()
    interface = session.load().interface
    version_changes(old, Version(c_interface(interface), interface), found)
    return Changes(against, tuple(found.sorted()))


def _documents(session: Session, named: str | None, none: bool) -> list[Document]:
    """The Markdown files of a project: those at its root, then those of docs/, sorted. A spec that has no project
    around it has none."""
    from diopigen.emit.docs.facts import Document

    if none:
        return []
    root = Path(named) if named is not None else session.workspace().spec.absolute().parent
    if named is not None and not root.is_dir():
        raise failure("docs-unreadable", "is no folder", Span(named), "name the folder that has docs/")
    paths = [name for name in _AT_ROOT if (root / name).is_file()]
    for folder in ("docs", "generated/docs"):
        paths += sorted(f"{folder}/{path.name}" for path in (root / folder).glob("*.md") if path.is_file())
    if named is None and not (root / "docs").is_dir():
        return []
    return [Document(path, _text(root / path)) for path in paths]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError | ValueError) -> Failure:
    said = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8"
    return failure("docs-unreadable", f"cannot be read: {said}", Span(str(path)), "correct the file")
