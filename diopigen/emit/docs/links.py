"""Paths of the pages, and relative links between them, so that the site opens from file://."""

from __future__ import annotations

import posixpath
import re
import unicodedata

INDEX = "index.html"
RULES_PAGE = "rules.html"
TYPES_PAGE = "types.html"
MODELS_PAGE = "models.html"
CHANGES_PAGE = "changes.html"


def operator_path(operator: str) -> str:
    """The page of an operator with all its variants."""
    return f"operators/{operator}.html"


def family_path(family: str) -> str:
    """The page of a family."""
    return f"families/{family}.html"


def document_path(source: str) -> str:
    """The page of a Markdown file of the project: `docs/spec.md` becomes `documents/docs/spec.html`."""
    return f"documents/{source.removesuffix('.md')}.html"


def to(target: str, page: str, anchor: str = "") -> str:
    """The reference from the page at `page` to the one at `target`, both relative to the root of the site."""
    path = posixpath.relpath(target, posixpath.dirname(page) or ".")
    if target == page:
        path = ""
    return f"{path}#{anchor}" if anchor else path or posixpath.basename(page)


def slug(heading: str, taken: set[str]) -> str:
    """The anchor of a heading as GitHub makes it, made unique among `taken`, which it joins."""
    retained = "".join(c for c in heading.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
    base = re.sub(r" ", "-", retained) or "section"
    name, number = base, 0
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    taken.add(name)
    return name
