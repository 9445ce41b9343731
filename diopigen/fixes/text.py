"""Carries out fixes in one text until nothing follows any more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diopigen.diagnostics import Diagnostic
from diopigen.fixes.edits import Edit, edits_of
from diopigen.fixes.spec import ROUNDS, Fixed
from diopigen.spec.text_edits import applied


def fix_text(text: str, path: str, check: Callable[[str], Sequence[Diagnostic]]) -> Fixed:
    """Fixes the text of the file `path`, which the spans of the findings of `check` name. The file stays as it is."""
    before, done = text, list[Edit]()
    left = check(text)
    for _ in range(ROUNDS):
        edits = edits_of([one for one in left if one.span is not None and one.span.file == path], text)
        if not edits:
            break
        text = applied(edits, text)
        done += edits
        left = check(text)
    texts = {path: text} if text != before else {}
    return Fixed(texts, {path: before}, done, left)
