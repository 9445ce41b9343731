"""Members of the arguments of kernels in handwritten C++: `args.dim` in what has `const SumArgs& args`, by tokens.

A function that takes the arguments of any operator (a template) is not changed: its lines are returned for a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from diopigen.spec.text_edits import TextEdit

_NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Scope:
    """A function that takes the arguments of a kernel: their type, what they are called, and where it is."""

    type: str
    variable: str
    start: int
    stop: int


def without_comments(text: str) -> str:
    """The text with blanks for comments and quoted texts, so that positions stay."""
    return _NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def includes(text: str) -> list[str]:
    """Quoted includes of a source."""
    return _INCLUDE.findall(text)


def member_edits(text: str, types: Sequence[str], old: str, new: str) -> list[TextEdit]:
    """The edits that rename a member of some types of arguments."""
    code = without_comments(text)
    edits = set()
    for scope in _scopes(code):
        if scope.type in types:
            for match in re.compile(rf"\b{scope.variable}\s*\.\s*({old})\b").finditer(code, scope.start, scope.stop):
                edits.add(TextEdit(match.start(1), match.end(1), new))
    return sorted(edits)


def members_of_any(text: str, name: str) -> list[int]:
    """The positions of a member of arguments outside of functions that take those of one operator."""
    code = without_comments(text)
    scopes = [scope for scope in _scopes(code) if scope.type != "Args"]
    return [
        match.start(1)
        for match in re.finditer(rf"\bargs_?\s*\.\s*({name})\b", code)
        if not any(scope.start <= match.start() < scope.stop for scope in scopes)
    ]


def _scopes(code: str) -> Iterator[_Scope]:
    """The definitions of functions with a parameter `const ...Args&`, from the parameter to the closing brace."""
    for match in re.finditer(r"\bconst\s+(?:\w+::)*(\w*Args)\s*&\s*(\w+)", code):
        opening = _closing(code, match.end(), "(", ")", depth=1)
        body = re.compile(r"[^;{]*\{").match(code, opening)
        if body is not None:
            yield _Scope(match[1], match[2], match.start(), _closing(code, body.end(), "{", "}", depth=1))


def _closing(code: str, start: int, opens: str, closes: str, *, depth: int) -> int:
    """The position behind the bracket that closes `depth` open ones; the end of the text where none does."""
    for position in range(start, len(code)):
        depth += (code[position] == opens) - (code[position] == closes)
        if depth == 0:
            return position + 1
    return len(code)
