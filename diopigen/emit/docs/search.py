"""The index of the search: a script, since a page that was opened from a file cannot fetch data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """An entry of the search: `kind` is a label of the frame, `names` match as names, `words` as other words.

    `href` is relative to the root of the site, `about` a line that is shown with the result.
    """

    title: str
    kind: str
    href: str
    about: str
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def index_script(entries: Iterable[SearchEntry]) -> bytes:
    """`window.DIOPI_INDEX`: a list of [title, kind, href, about, names, words]; names and words in lower case."""
    rows = [[one.title, one.kind, one.href, one.about, _joined(one.names), _joined(one.words)] for one in entries]
    lines = ",\n".join(json.dumps(row, ensure_ascii=True) for row in rows)
    return f"window.DIOPI_INDEX = [\n{lines}\n];\n".encode()


def _joined(words: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(word.lower() for word in words))
