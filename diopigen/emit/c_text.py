"""C and C++ text laid out as clang-format would (Google style, 120 columns): emitted files need no formatter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from diopigen.emit.escaping import comment_text
from diopigen.emit.wrapping import wrapped as words_wrapped

COLUMNS = 120
_WORDS = re.compile(r"[^\s]+(?: [^\s]+)*")
"""Words with one space between: such a line stays as it is."""


def declarator(c_type: str, name: str) -> str:
    """A type with a name: `T* name`, pointers at the type."""
    spelt = c_type.replace(" **", "**").replace(" *", "*").replace(" &", "&").replace("( *", "(*")
    result, is_function, params = spelt.partition("(")
    if params.startswith("*)"):
        return f"{result.rstrip()} (*{name}{params[1:]}"
    if is_function:
        return f"{result.rstrip()} {name}({params}"
    element, bracket, size = spelt.partition("[")
    if bracket:
        return f"{element.rstrip()} {name}[{size}"
    return f"{spelt} {name}".rstrip()


def call_lines(head: str, items: Sequence[str], tail: str, columns: int = COLUMNS) -> str:
    """`head(items)tail` on one line, or with the items filled up.

    They align behind the parenthesis, or start on a line of their own where that saves three lines or where the
    aligned ones would not fit: the two layouts that clang-format weighs. Fewer `columns` leave room for an indent.
    """
    one_line = f"{head}({', '.join(items)}){tail}"
    if len(one_line) <= columns or not items:
        return one_line
    pieces = [f"{item}," for item in items[:-1]] + [f"{items[-1]}){tail}"]
    column = len(head) + 1
    aligned = _fill(pieces, column, columns)
    below = [f"{head}(", *(" " * 4 + line for line in _fill(pieces, 4, columns))]
    overflows = any(column + len(line) > columns for line in aligned)
    if overflows or len(aligned) - len(below) >= 3:
        return "\n".join(below)
    return "\n".join([f"{head}({aligned[0]}", *(" " * column + line for line in aligned[1:])])


def braced_call_lines(head: str, items: Sequence[str], columns: int = COLUMNS) -> str:
    """`head({items});` with the layouts that clang-format weighs for a braced list."""
    one_line = f"{head}({{{', '.join(items)}}});"
    if len(one_line) <= columns:
        return one_line
    pieces = [f"{item}," for item in items[:-1]] + [f"{items[-1]}}});"]
    column = len(head) + 2
    aligned = _fill(pieces, column, columns)
    below = _fill(pieces, 5, columns)
    overflows = any(column + len(line) > columns for line in aligned)
    if overflows or len(below) == 1 or len(below) + 1 < len(aligned):
        return "\n".join([f"{head}(", f"    {{{below[0]}", *(" " * 5 + line for line in below[1:])])
    return "\n".join([f"{head}({{{aligned[0]}", *(" " * column + line for line in aligned[1:])])


def _fill(pieces: Iterable[str], indent: int, columns: int) -> list[str]:
    """The pieces in as few lines as fit behind an indent."""
    lines: list[str] = []
    for piece in pieces:
        if lines and indent + len(lines[-1]) + 1 + len(piece) <= columns:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """Text in lines of at most 120 columns: `first` comes before the first line, `rest` before the others. In a comment
    it cannot end it."""
    if first.strip() in ("*", "//"):
        text = comment_text(text)
    if len(first) + len(text) <= COLUMNS and _WORDS.fullmatch(text):
        return [first + text]
    return words_wrapped(text, COLUMNS, first, rest)


def doc_comment(paragraphs: Iterable[tuple[str, str]]) -> str:
    """A Doxygen block. Each paragraph is a command such as `@brief ` (empty for plain text) and its text."""
    lines = ["/**"]
    for command, text in paragraphs:
        if command == "" and text == "":
            lines.append(" *")
            continue
        lines += wrapped(command + text, " * ", " * " + " " * (len(command) if len(command) < 16 else 8))
    lines.append(" */")
    return "\n".join(lines)
