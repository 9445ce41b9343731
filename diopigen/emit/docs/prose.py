"""Markdown documents as pages: headings get the anchors that GitHub gives them, links among documents stay links."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from markupsafe import Markup

from diopigen.diagnostics import Span, failure
from diopigen.emit.docs.facts import Document
from diopigen.emit.docs.labels import scrolls
from diopigen.emit.docs.links import document_path, operator_path, slug, to

RULES = {
    "docs-needs-markdown": "The library that reads the documents of the reference site is installed.",
    "docs-link-outside": "A link of a document leads to a file of the project.",
}

_EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_CHINESE = ".zh-CN"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document."""

    level: int
    text: str
    anchor: str


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A document as HTML. `language` is that of its text, `other` the path of the page in the other language."""

    source: str
    path: str
    title: str
    language: str
    other: str
    headings: tuple[Heading, ...]
    body: Markup


def document_pages(documents: Sequence[Document], operators: Mapping[str, str]) -> list[DocumentPage]:
    """The pages of all documents, in their order. `operators` has the operator of each C name: code that is such a name
    becomes a link. A link to a file that is no document of the site becomes plain text.

    Raises `Failure` where the library for Markdown is missing.
    """
    if not documents:
        return []
    parser = _parser()
    sources = {document.path for document in documents}
    return [_Page(document, sources, operators).rendered(parser) for document in documents]


def _parser() -> Any:
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        fix = "pip install 'diopigen[docs]', or leave the documents out with --no-documents"
        raise failure("docs-needs-markdown", "markdown-it-py is not installed", fix=fix) from None
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


class _Page:
    def __init__(self, document: Document, sources: set[str], operators: Mapping[str, str]) -> None:
        self.document = document
        self.path = document_path(document.path)
        self.sources = sources
        self.operators = operators
        self.headings: list[Heading] = []
        self.taken: set[str] = set()

    def rendered(self, parser: Any) -> DocumentPage:
        tokens = parser.parse(self.document.text)
        for number, token in enumerate(tokens):
            if token.type == "heading_open":
                self._heading(token, tokens[number + 1])
            if token.type == "inline":
                self._inline(token)
        body = parser.renderer.render(_scrolling(tokens), parser.options, {})
        body = body.replace("<pre>", f"<pre {scrolls('code')}>")  # text has no tags of its own
        source = self.document.path
        is_chinese = source.endswith(f"{_CHINESE}.md")
        other = source.replace(_CHINESE, "") if is_chinese else source.replace(".md", f"{_CHINESE}.md")
        return DocumentPage(
            source=source,
            path=self.path,
            title=next((one.text for one in self.headings), source),
            language="zh-CN" if is_chinese else "en",
            other=document_path(other) if other in self.sources else "",
            headings=tuple(self.headings),
            body=Markup(body),  # html is off in the parser: what is in the text is escaped
        )

    def _heading(self, token: Any, inline: Any) -> None:
        text = "".join(child.content for child in inline.children if child.type in ("text", "code_inline"))
        anchor = slug(text, self.taken)
        token.attrSet("id", anchor)
        self.headings.append(Heading(int(token.tag[1:]), text, anchor))

    def _inline(self, token: Any) -> None:
        """Links are resolved, names of functions become links, pictures their texts: the site loads nothing else."""
        found: list[Any] = []
        inside = 0
        for child in token.children:
            if child.type == "link_open":
                inside += 1
                self._resolve(child, token)
            elif child.type == "link_close":
                inside -= 1
            if child.type == "image":
                child.type, child.tag = "text", ""
            if child.type == "code_inline" and child.content in self.operators and not inside:
                found += self._linked(child)
            else:
                found.append(child)
        token.children = found

    def _linked(self, code: Any) -> list[Any]:
        opening, closing = type(code)("link_open", "a", 1), type(code)("link_close", "a", -1)
        opening.attrSet("href", to(operator_path(self.operators[code.content]), self.path, code.content))
        return [opening, code, closing]

    def _resolve(self, link: Any, inline: Any) -> None:
        target = str(link.attrGet("href") or "")
        if _EXTERNAL.match(target) or target.startswith("#"):
            return
        path, _, anchor = unquote(target).partition("#")
        source = posixpath.normpath(posixpath.join(posixpath.dirname(self.document.path), path))
        if source in self.sources:
            link.attrSet("href", to(document_path(source), self.path, anchor))
            return
        if source.startswith(".."):
            line = (inline.map or [0])[0] + 1
            fix = "link to a file of the project"
            raise failure(
                "docs-link-outside", f"'{target}' leads out of the project", Span(self.document.path, line), fix
            )
        # A file of the repository that is no page: its name stays.
        del link.attrs["href"]
        link.attrSet("title", source)


def _scrolling(tokens: Sequence[Any]) -> list[Any]:
    """Tables in boxes that scroll by themselves, so that the page does not on a phone."""
    found: list[Any] = []
    for token in tokens:
        if token.type == "table_open":
            box = type(token)("html_block", "", 0)
            box.content = f'<div class="scroll" {scrolls("table")}>\n'
            found.append(box)
        found.append(token)
        if token.type == "table_close":
            box = type(token)("html_block", "", 0)
            box.content = "</div>\n"
            found.append(box)
    return found
