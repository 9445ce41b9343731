"""The branches of `#if` in a source file: which one a position is in, and the text with another one chosen."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

# A comment, a raw string or a string, in which no directive is.
_QUIET = re.compile(
    rb'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"',
    re.DOTALL,
)
_DIRECTIVE = re.compile(
    rb"^[ \t]*#[ \t]*(?P<word>if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(?P<rest>(?:\\\r?\n|[^\n])*)",
    re.MULTILINE,
)
_NAME = re.compile(rb"\b[A-Za-z_]\w*\b")
_NOT_MACROS = frozenset({b"defined", b"true", b"false"})

Path = tuple[tuple[int, int], ...]
"""The conditionals around a position, the outermost first: the offset of each, and the index of the branch."""


@dataclass(frozen=True, slots=True)
class _Branch:
    """A directive that begins a branch, from `start` to `end`, and the macros that its condition names."""

    word: bytes
    start: int
    end: int
    macros: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Conditional:
    branches: tuple[_Branch, ...]
    end: int

    @property
    def macros(self) -> frozenset[str]:
        return frozenset().union(*(branch.macros for branch in self.branches))


class Branches:
    """The conditionals of a text; what has no `#endif` ends with the text."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.plain = _QUIET.sub(_blank, data)
        """The text with comments and strings blanked, each character at its offset."""
        self._conditionals = _conditionals(self.plain)

    def path(self, offset: int) -> Path:
        """The branches around a position."""
        found = []
        for first, conditional in self._conditionals.items():
            if conditional.branches[0].end <= offset < conditional.end:
                index = sum(branch.end <= offset for branch in conditional.branches) - 1
                found.append((first, index))
        return tuple(sorted(found))

    def is_open(self, path: Path, fixed: Collection[str]) -> bool:
        """Returns whether macros choose all branches of a path, and none of the macros is in `fixed`."""
        macros = [self._conditionals[first].macros for first, _ in path]
        return bool(macros) and all(each and not each & set(fixed) for each in macros)

    def choosing(self, path: Path) -> bytes:
        """The text with the branches of a path chosen, each character outside of directives at its offset."""
        data = bytearray(self._data)
        for first, index in path:
            for number, branch in enumerate(self._conditionals[first].branches):
                if branch.word != b"else":
                    word = b"elif" if number else b"if"
                    directive = b"#" + word + (b" 1" if number == index else b" 0")
                    lines = bytes(data[branch.start : branch.end]).count(b"\n")
                    data[branch.start : branch.end] = _padded(directive, branch.end - branch.start, lines)
        return bytes(data)


def exclude_each_other(one: Path, other: Path) -> bool:
    """Returns whether no text has both positions: they are in two branches of one conditional."""
    branches = dict(one)
    return any(branches.get(first, index) != index for first, index in other)


def _padded(directive: bytes, length: int, lines: int) -> bytes:
    """A directive that takes the room of one with line continuations."""
    rest = length - len(directive) - 2 * lines
    return directive + b" " * rest + b"\\\n" * lines if rest >= 0 else directive.ljust(length)


def _blank(match: re.Match[bytes]) -> bytes:
    return re.sub(rb"[^\n]", b" ", match[0])


def _conditionals(plain: bytes) -> dict[int, _Conditional]:
    found: dict[int, _Conditional] = {}
    opened: list[list[_Branch]] = []

    def close(end: int) -> None:
        branches = opened.pop()
        found[branches[0].start] = _Conditional(tuple(branches), end)

    for match in _DIRECTIVE.finditer(plain):
        word = match["word"]
        start = match.start() + (len(match[0]) - len(match[0].lstrip()))
        macros = frozenset(name.decode() for name in _NAME.findall(match["rest"]) if name not in _NOT_MACROS)
        branch = _Branch(word, start, match.end(), macros)
        if word.startswith(b"if"):
            opened.append([branch])
        elif opened and word == b"endif":
            close(match.start())
        elif opened:
            opened[-1].append(branch)
    while opened:
        close(len(plain))
    return found


def paths_of(branches: Branches, offsets: Sequence[int], fixed: Collection[str]) -> list[Path]:
    """The paths, each once, of positions that another choice of macros can reach."""
    paths = dict.fromkeys(map(branches.path, offsets))
    return [path for path in paths if branches.is_open(path, fixed)]
