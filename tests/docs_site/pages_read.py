"""The command, and its pages as a browser reads them: elements, anchors and links, and what is not well formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest

from diopigen.cli import main

VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})


@dataclass
class Page:
    """Content of a page. `loaded` are the files that a browser fetches for it."""

    anchors: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    text: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if len(values) != len(attrs):
            self.page.faults.append(f"line {self.getpos()[0]}: <{tag}> repeats an attribute")
        self.page.tags.append(tag)
        if values.get("id") is not None:
            self.page.anchors.append(values["id"] or "")
        if tag == "a" and values.get("href") is not None:
            self.page.links.append(values["href"] or "")
        if tag == "link" or "src" in values:
            self.page.loaded.append(values.get("src") or values.get("href") or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.page.faults.append(f"line {self.getpos()[0]}: </{tag}> within {self.open[-3:]}")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.page.text += data


def docs(*arguments: str | Path) -> int:
    """The exit code of `diopigen docs`."""
    with pytest.raises(SystemExit) as ended:
        main(["docs", *map(str, arguments)])
    return int(ended.value.code or 0)


def read_page(path: Path) -> Page:
    """A page of the site."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    page = reader.page
    if reader.open:
        page.faults.append(f"never closed: {reader.open}")
    page.faults += [
        f"the id '{name}' is there twice" for name in {n for n in page.anchors if page.anchors.count(n) > 1}
    ]
    return page


def read_site(root: Path) -> dict[str, Page]:
    """All pages by their path."""
    return {path.relative_to(root).as_posix(): read_page(path) for path in sorted(root.rglob("*.html"))}
