"""Origins of the kernels of overloads, in a report of calls of ATen."""

from __future__ import annotations

import textwrap

from diopigen.conformance.aten.coverage import KINDS
from diopigen.conformance.model import Results

_LISTED = ("cpu", "absent", "missing")
"""Origins whose overloads are named: those that the device does not compute itself."""
_MOST = 40


def overloads_of(results: Results) -> list[tuple[str, tuple[str, ...]]]:
    """The origins with the names of their overloads, without those that have none."""
    return [(text, tuple(sorted(results.coverage[kind]))) for kind, text in KINDS.items() if results.coverage.get(kind)]


def coverage_text(results: Results) -> list[str]:
    """The number of overloads of each origin, and the names of those that the device does not compute."""
    counted = [f"{len(names)} {text}" for text, names in overloads_of(results)]
    if not counted:
        return []
    lines = [f"overloads: {', '.join(counted)}"]
    for kind in _LISTED:
        names = results.coverage.get(kind, ())
        more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
        if names:
            text = f"{KINDS[kind]}: {', '.join(sorted(names)[:_MOST])}{more}"
            lines += textwrap.wrap(text, 116, initial_indent="  ", subsequent_indent="    ")
    return ["\n".join(lines)]
