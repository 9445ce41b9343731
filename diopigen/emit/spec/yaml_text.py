"""Scalars of the YAML that `import-proto` writes."""

from __future__ import annotations

import re

OPEN = "To be described."
"""The documentation of what a header does not explain."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.()/-]*(?: [A-Za-z0-9_.()/-]+)*\Z")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})


def quoted(text: str) -> str:
    """A YAML scalar for a text: plain where that is safe, single quotes elsewhere."""
    flat = "".join(character for character in " ".join(text.split()) if character.isprintable())
    if _PLAIN.match(flat) and flat.lower() not in _WORDS:
        return flat
    return "'" + flat.replace("'", "''") + "'"


def c_text(c_type: str) -> str:
    """A YAML scalar for a C type, in words that C and C++ share."""
    return quoted(re.sub(r"\brestrict\b", "__restrict", c_type))


def sentence(text: str) -> str:
    """The text with a full stop."""
    flat = " ".join(text.split())
    return flat if flat.endswith(".") else f"{flat}."
