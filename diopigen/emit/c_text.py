"""C and C++ text laid out as clang-format would (Google style, 120 columns): emitted files need no formatter."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

COLUMNS = 120


def declarator(c_type: str, name: str) -> str:
    """A type with a name: `T* name`, pointers at the type."""
    spelt = c_type.replace(" **", "**").replace(" *", "*")
    return f"{spelt} {name}".rstrip()


def call_lines(head: str, items: Sequence[str], tail: str, indent: int = 0) -> str:
    """`head(items)tail` on one line, or with items filled up and aligned behind the parenthesis."""
    one_line = f"{head}({', '.join(items)}){tail}"
    if indent + len(one_line) <= COLUMNS or not items:
        return one_line
    column = indent + len(head) + 1
    lines: list[str] = []
    current = f"{head}("
    length = column
    for position, item in enumerate(items):
        last = position == len(items) - 1
        piece = item + (f"){tail}" if last else ",")
        glue = "" if current.endswith("(") or not current.strip() else " "
        if length + len(glue) + len(piece) > COLUMNS and current.strip() and not current.endswith("("):
            lines.append(current)
            current, length, glue = " " * column, column, ""
        current += glue + piece
        length += len(glue) + len(piece)
    lines.append(current)
    return "\n".join(lines)


def wrapped(text: str, first: str, rest: str) -> list[str]:
    """Text in lines of at most 120 columns: `first` stands before the first line, `rest` before the others."""
    return textwrap.wrap(
        text,
        COLUMNS,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


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
