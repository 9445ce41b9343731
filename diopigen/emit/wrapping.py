"""Text of people laid out in lines."""

from __future__ import annotations


def wrapped(text: str, columns: int, first: str = "", rest: str = "") -> list[str]:
    """The words of a text in as few lines of at most `columns` as hold them: `first` comes before the first line,
    `rest` before the others. A word is never broken, not even one that is longer. No words are no line.

    `textwrap`, which also breaks words, takes four times as long, and generated files have thousands of such texts.
    """
    lines: list[str] = []
    line, free = "", -1
    for word in text.split():
        length = len(word)
        if free > length:
            line += f" {word}"
            free -= length + 1
            continue
        if free >= 0 or line:
            lines.append(line)
        line = (rest if lines else first) + word
        free = columns - len(line)
    return [*lines, line] if line else lines
