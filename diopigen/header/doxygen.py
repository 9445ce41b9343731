"""Reads a documentation comment: its brief text, its parameters, and the functions that it names.

Knows `/** */`, `/*! */`, `///` and `//!` comments and commands with `@` or `\\`. Columns count characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from diopigen.diagnostics import Span
from diopigen.header.cdecl import CDoc, CDocParam

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"

# Commands that begin a block of their own, and so end the text of a parameter or of the brief.
_BLOCK_COMMANDS = (
    "addtogroup|attention|authors|author|brief|bug|code|copydoc|copyright|date|defgroup|deprecated|details|endcode"
    "|endverbatim|example|file|fn|headerfile|ingroup|internal|invariant|name|note|param|par|post|pre|remarks|remark"
    "|results|result|returns|return|retval|sa|see|short|since|test|throws|throw|todo|tparam|verbatim|version"
    "|warning|weakgroup"
)
# The look behind comes after the character: a pattern that begins with a set is searched several times faster.
_BLOCK = re.compile(
    rf"[@\\](?<![\\@\w].)(?P<command>{_BLOCK_COMMANDS})(?![A-Za-z0-9_])"
    # A name may stand directly behind the bracket, but without one there must be white space.
    rf"(?:(?<=param)[ \t]*(?:\[(?P<direction>[^\]\n]*)\][ \t]*|(?<=[ \t]))(?P<names>{_NAME}(?:,{_NAME})*))?",
    re.ASCII,
)
_FUNCTION = re.compile(r"diopi(?<!\w.{5})[A-Z0-9]\w*", re.ASCII)
_REF = re.compile(rf"[@\\]ref[ \t]+(?:::)?({_NAME})\(\)", re.ASCII)
# "Other parameters refer to diopiRelu()", in any command.
_ELSEWHERE = re.compile(r"\bparam(?:eter)?s?\b[^.\n]{0,40}?\brefers?\s+to\s+(?:[@\\]ref\s+)?(diopi\w+)", re.IGNORECASE)
DTYPE_LIST = re.compile(r"\btypes?\s*=\s*\[([^\]]*)\]\.?")
"""The dtypes of a parameter, as comments list them."""
_INLINE = re.compile(r"[@\\](?<![\\@\w].)(?:ref|link|p|c|a|b|e|em)[ \t]+", re.ASCII)
_OPENING = re.compile(r"/\*[*!]*<?(?!/)|//[/!]*<?")
_BLOCK_DECORATION = re.compile(r"\n[ \t]*\*+(?!/)")
_LINE_DECORATION = re.compile(r"\n[ \t]*//[/!]*<?")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_LITERAL = re.compile(r"[@\\](?<![\\@\w].)(code|verbatim)\b.*?(?:[@\\]end\1\b|\Z)", re.DOTALL | re.ASCII)


def parse_comment(raw: str, start: Span) -> CDoc:
    """Reads `raw`, a comment with its marks, that is at `start` (file, line and column of its first character).

    Every span is exact: that of a parameter covers its name, that of a reference the function's name. Several
    names in one command (`@param x,y`) give one entry each. Text between `@code` and `@endcode` is left out.
    """
    line_starts = [0]
    while (newline := raw.find("\n", line_starts[-1])) >= 0:
        line_starts.append(newline + 1)

    def span(offset: int, length: int) -> Span:
        line = bisect_right(line_starts, offset)
        column = offset - line_starts[line - 1] + (start.column if line == 1 else 1)
        number = start.line + line - 1
        return Span(start.file, number, column, number, column + length)

    text = _undecorated(raw)
    blocks = list(_BLOCK.finditer(text))
    brief = _paragraph(text, 0, blocks[0].start() if blocks else len(text))
    has_brief = False
    params: list[CDocParam] = []
    for index, block in enumerate(blocks):
        end = blocks[index + 1].start() if index + 1 < len(blocks) else len(text)
        command = block["command"]
        if command in ("brief", "short"):
            words = _paragraph(text, block.end(), end)
            brief = f"{brief} {words}" if has_brief else words
            has_brief = True
        elif block["names"]:
            words = _paragraph(text, block.end(), end).lstrip(",: ")
            direction = (block["direction"] or "").strip()
            listed = DTYPE_LIST.search(words)
            dtypes = tuple(filter(None, re.split(r"[,\s]+", listed[1]))) if listed else ()
            offset = block.start("names")
            for name in block["names"].split(","):
                params.append(CDocParam(name, direction, words, span(offset, len(name)), dtypes))
                offset += len(name) + 1
    last = span(len(raw), 0)
    comment_span = Span(start.file, start.line, start.column, last.line, last.column)
    elsewhere = tuple(dict.fromkeys(_ELSEWHERE.findall(text))) if "refer" in text else ()
    return CDoc(brief, tuple(params), _references(text, span), comment_span, elsewhere)


def _undecorated(raw: str) -> str:
    """The comment with blanks in place of its marks and of literal text, so that every offset stays."""
    opening = _OPENING.match(raw)
    skipped = opening.end() if opening else 0
    text = " " * skipped + raw[skipped:]
    if raw.startswith("/*"):
        body = text.rstrip().removesuffix("*/").rstrip("*")
        # The usual decoration first: replacing a fixed text is much faster than a pattern.
        text = _BLOCK_DECORATION.sub(_blank, body.replace("\n * ", "\n   "))
    else:
        text = _LINE_DECORATION.sub(_blank, text)
    if "code" in text or "verbatim" in text:
        text = _LITERAL.sub(_blank, text)
    return text.replace("\r", " ")


def _blank(found: re.Match[str]) -> str:
    """White space in place of what was found; line ends stay."""
    return "".join("\n" if character == "\n" else " " for character in found[0])


def _paragraph(text: str, start: int, end: int) -> str:
    """The words from `start` to the next blank line, at most to `end`, with single spaces."""
    piece = text[start:end]
    if start == 0:
        piece = piece.lstrip()
    if piece.count("\n") > 1:
        blank = _BLANK_LINE.search(piece)
        if blank:
            piece = piece[: blank.start()]
    if "@" in piece or "\\" in piece:
        piece = _INLINE.sub("", piece)
    return " ".join(piece.split())


def _references(text: str, span: Callable[[int, int], Span]) -> tuple[tuple[str, Span], ...]:
    """Names of the interface's form wherever they stand, and other names that `@ref` marks as functions."""
    found = [(match.start(), match[0]) for match in _FUNCTION.finditer(text)]
    if "ref" in text:
        known = {offset for offset, _ in found}
        found += [(match.start(1), match[1]) for match in _REF.finditer(text) if match.start(1) not in known]
        found.sort()
    return tuple((name, span(offset, len(name))) for offset, name in found)
