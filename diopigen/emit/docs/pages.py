"""The plan of the whole site: a page for each operator, family and document, and the pages about all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diopigen.diagnostics import Span, failure
from diopigen.emit.docs import links
from diopigen.emit.docs.changes import change_groups
from diopigen.emit.docs.facts import Facts
from diopigen.emit.docs.labels import label, script, scrolls, text
from diopigen.emit.docs.operator import OperatorPage, Pages
from diopigen.emit.docs.prose import DocumentPage, document_pages
from diopigen.emit.docs.search import SearchEntry, index_script
from diopigen.emit.plan import Plan, PlannedFile
from diopigen.emit.sources import spec_files
from diopigen.emit.templates import render
from diopigen.ir.model import Interface

RULES = {"docs-template": "The style and the script of the reference site are in the folder of templates."}

COMMAND = "diopigen docs"
_ASSETS = ("site.css", "site.js")


@dataclass(frozen=True, slots=True)
class FamilyPage:
    """A family with its operators, and how many functions these have."""

    name: str
    path: str
    doc: str
    operators: tuple[OperatorPage, ...]

    @property
    def functions(self) -> int:
        """C functions, variants included."""
        return sum(len(page.forms) for page in self.operators)


def site(interface: Interface, facts: Facts, templates: Path) -> Plan:
    """All files of the site, relative to its root. Deterministic: the same inputs give the same bytes."""
    return Plan(tuple(_Site(interface, facts, templates).files()))


class _Site:
    def __init__(self, interface: Interface, facts: Facts, templates: Path) -> None:
        self.interface = interface
        self.facts = facts
        self.templates = templates
        self.operators = Pages(interface, facts).all()
        grouped: dict[str, list[OperatorPage]] = {}
        for page in self.operators:
            grouped.setdefault(page.family, []).append(page)
        self.families = [
            FamilyPage(name, links.family_path(name), interface.family_docs.get(name, ""), tuple(pages))
            for name, pages in grouped.items()
        ]
        self.operator_of = {form.name: page.name for page in self.operators for form in page.forms}
        self.documents = document_pages(facts.documents, self.operator_of)
        self.frame: Mapping[str, Any] = {
            "label": label,
            "scrolls": scrolls,
            "text": text,
            "families": self.families,
            "documents": self.documents,
            "has_models": bool(facts.models),
            "changes": facts.changes,
            "version": str(interface.version),
            "command": COMMAND,
        }

    def files(self) -> Iterator[PlannedFile]:
        """Every page, then what they load."""
        yield self._page(links.INDEX, "index", self._index_values())
        for page in self.operators:
            yield self._operator(page)
        for family in self.families:
            yield self._page(family.path, "family", {"family": family, "here": family.name})
        yield self._page(links.RULES_PAGE, "rules", {"rules": self.facts.rules})
        yield self._page(links.TYPES_PAGE, "types", {"interface": self.interface})
        if self.facts.models:
            yield self._page(
                links.MODELS_PAGE, "models", {"models": self.facts.models, "operator_of": self.operator_of}
            )
        if self.facts.changes is not None:
            groups = change_groups(self.facts.changes, self.operator_of, self.facts.rules)
            yield self._page(links.CHANGES_PAGE, "changes", {"groups": groups})
        for document in self.documents:
            yield self._page(document.path, "document", {"document": document, "here": document.source})
        for name in _ASSETS:
            yield self._asset(name)
        yield PlannedFile("assets/labels.js", script(), (), COMMAND)
        yield PlannedFile("assets/search-index.js", index_script(self._entries()), self.interface.files, COMMAND)

    def _index_values(self) -> Mapping[str, Any]:
        return {
            "counts": {
                "operators": len(self.operators),
                "functions": sum(len(page.forms) for page in self.operators),
                "families": len(self.families),
            },
            "cases": None
            if self.facts.cases is None
            else sum(sum(counts.values()) for counts in self.facts.cases.values()),
            "vendor_counts": [
                (one.vendor, {state: sum(s == state for s in one.states.values()) for state in self.facts.states})
                for one in self.facts.vendors
            ],
            "states": self.facts.states,
        }

    def _operator(self, page: OperatorPage) -> PlannedFile:
        functions = [one for one in self.interface.functions if one.operator == page.name]
        values = {
            "page": page,
            "here": page.family,
            "states": self.facts.states,
            "counted": self.facts.cases is not None,
        }
        return self._page(page.path, "operator", values, spec_files(self.interface, functions))

    def _page(
        self, path: str, template: str, values: Mapping[str, Any], inputs: Sequence[str] | None = None
    ) -> PlannedFile:
        name = f"docs/{template}.html.j2"

        def to(target: str, anchor: str = "") -> str:
            return links.to(target, path, anchor)

        known = {"here": "", **self.frame, **values, "path": path, "to": to, "links": links}
        content = render(self.templates, name, known, autoescape=True)
        used = ("templates/docs/page.html.j2", f"templates/{name}")
        return PlannedFile(path, content, (*(self.interface.files if inputs is None else inputs), *used), COMMAND)

    def _asset(self, name: str) -> PlannedFile:
        source = self.templates / "docs" / name
        try:
            content = source.read_bytes()
        except OSError as error:
            message = f"cannot be read: {error.strerror}"
            raise failure("docs-template", message, Span(str(source)), "restore it from the package") from None
        return PlannedFile(f"assets/{name}", content, (f"templates/docs/{name}",), COMMAND)

    def _entries(self) -> Iterator[SearchEntry]:
        for page in self.operators:
            names = [page.name, *(form.name for form in page.forms)]
            aten = [name for form in page.forms for name in form.aten]
            params = [row.name for form in page.forms for row in form.parameters]
            words = (page.family, *params)
            yield SearchEntry(page.name, "operator", page.path, page.base.doc, (*names, *aten), words)
        for family in self.families:
            yield SearchEntry(family.name, "family", family.path, family.doc, (family.name,))
        for rule, purpose in self.facts.rules.items():
            yield SearchEntry(rule, "rule", f"{links.RULES_PAGE}#{rule}", purpose, (rule,))
        for document in self.documents:
            yield self._document_entry(document)

    @staticmethod
    def _document_entry(document: DocumentPage) -> SearchEntry:
        words = tuple(heading.text for heading in document.headings)
        return SearchEntry(document.title, "documents", document.path, document.source, (document.title,), words)
