"""The parameters of a definition as a vendor wrote them, and what they become under another signature.

A body uses the names that its vendor chose, and a parameter that the body does not use has no name: compilers that are
told so refuse one. So names stay, and so does their absence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from diopigen.emit.c_text import declarator
from diopigen.header.cdecl import CParam, canonical_type

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
"""Comments and strings."""

_ATTRIBUTE = re.compile(r"\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)")
_LEADING = re.compile(r"\s*((?:\[\[.*?\]\]\s*)*)")
_TOKEN = re.compile(r"(?:::)?[A-Za-z_]\w*(?:::\w+)*|[*&]+|\[[^\]]*\]")
_COMMENTED = re.compile(r"/\*\s*([A-Za-z_]\w*)\s*\*/")
_QUALIFIERS = frozenset({"const", "volatile", "struct", "enum", "union"})
_NO_NAMES = _QUALIFIERS | {"unsigned", "signed", "long", "short", "int", "char", "float", "double", "bool", "void"}


@dataclass(frozen=True, slots=True)
class Written:
    """A parameter in a source: canonical type, name (empty for none), the name in a comment, leading attributes."""

    type: str
    name: str
    commented: str = ""
    attributes: str = ""


def plain(text: str) -> str:
    """The text with blanks for comments and strings; every offset stays."""
    return NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def written_params(text: str) -> list[Written]:
    """The parameters in the text between the parentheses of a definition."""
    bare = plain(text)
    pieces, depth, start = [], 0, 0
    for index, character in enumerate(bare):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            pieces.append((start, index))
            start = index + 1
    pieces.append((start, len(bare)))
    found = [_written(text[begin:end], bare[begin:end]) for begin, end in pieces]
    return [] if len(found) == 1 and found[0].type in ("", "void") else found


def _written(text: str, bare: str) -> Written:
    leading = _LEADING.match(bare)
    attributes = leading[1].strip() if leading else ""
    bare = _ATTRIBUTE.sub(lambda match: " " * len(match[0]), bare).split("=")[0]
    tokens = list(_TOKEN.finditer(re.sub(r"<.*>", lambda match: "_" * len(match[0]), bare)))
    arrays = [token for token in tokens if token[0].startswith("[")]
    words = [token for token in tokens if not token[0].startswith("[")]
    name = words[-1] if words else None
    if name is not None:
        typed = [word for word in words[:-1] if word[0] not in _QUALIFIERS]
        if name[0] in _NO_NAMES or name[0][0] in "*&" or not typed:
            name = None
    rest = bare if name is None else bare[: name.start()] + " " + bare[name.end() :]
    pointer = " *" if arrays else ""
    commented = _COMMENTED.search(text)
    c_type = canonical_type(re.sub(r"\[[^\]]*\]", "", rest) + pointer)
    return Written(c_type, name[0] if name else "", commented[1] if commented else "", attributes)


def updated_params(written: Sequence[Written], expected: Sequence[CParam]) -> list[str]:
    """The parameters that a definition should have, each as its vendor would write it.

    A parameter that is there already keeps its name, or goes on without one. A new one is named, so that a compiler
    says that the body does not use it yet; where no parameter has a name, neither has the new one.
    """
    source = _sources(written, expected)
    nameless = bool(written) and not any(param.name for param in written)
    names = {param.name for param in expected}
    results = []
    for index, param in enumerate(expected):
        old = source.get(index)
        name, comment, attributes = param.name, "", ""
        if old is None and nameless:
            name, comment = "", param.name
        elif old is not None:
            attributes = f"{old.attributes} " if old.attributes else ""
            if not old.name:
                name, comment = "", old.commented
            elif old.type == canonical_type(param.type) and old.name not in names:
                name = old.name
        results.append(f"{attributes}{declarator(param.type, name)}" + (f" /*{comment}*/" if comment else ""))
    return results


def _sources(written: Sequence[Written], expected: Sequence[CParam]) -> dict[int, Written]:
    """For each parameter that is wanted, by index, the one that it was: of the same name, else by type and order."""
    by_name = {param.name or param.commented: param for param in written if param.name or param.commented}
    found = {index: by_name[param.name] for index, param in enumerate(expected) if param.name in by_name}
    taken = {id(param) for param in found.values()}
    rest = [param for param in written if id(param) not in taken]
    left = [index for index in range(len(expected)) if index not in found]
    types = [canonical_type(expected[index].type) for index in left]
    for kind, a, b, c, d in SequenceMatcher(None, [p.type for p in rest], types, autojunk=False).get_opcodes():
        if kind in ("equal", "replace"):
            found.update(zip(left[c:d], rest[a:b], strict=False))
    return found
