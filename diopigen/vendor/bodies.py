"""Recognizes skeletons among a vendor's definitions: functions that only return that there is no kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from diopigen.header.vendor_file import VendorFunction

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_REFUSAL = re.compile(r"return\s+(?:[\w:]+::)?(?:notImplemented\s*\([^;{}]*\)|diopiNoImplement)\s*;")


def skeletons(functions: Iterable[VendorFunction]) -> frozenset[str]:
    """The names of the functions whose whole body is `return diopiNoImplement;` or a call of `notImplemented`."""
    texts: dict[str, str] = {}
    found = set()
    for item in functions:
        span = item.function.span
        if span is None or span.line is None:
            continue
        if span.file not in texts:
            texts[span.file] = Path(span.file).read_text(errors="replace")
        if _is_refusal(texts[span.file], span.line, item.function.name):
            found.add(item.function.name)
    return frozenset(found)


def _is_refusal(text: str, line: int, name: str) -> bool:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    # Comments and strings are blanked, so that braces in them do not count.
    rest = _NOISE.sub(" ", text[start:])
    begin = rest.find("{", rest.find(name))
    return (
        begin >= 0
        and re.match(r"\s*(?:\w+\s*\(void\)[^;]*;\s*)*" + _REFUSAL.pattern + r"\s*\}", rest[begin + 1 :]) is not None
    )
