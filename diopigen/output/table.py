"""Tables for a terminal: columns as wide as their widest cell."""

from __future__ import annotations

from collections.abc import Collection, Sequence

GAP = "  "


def columns(rows: Sequence[Sequence[str]], left: Collection[int] | None = None) -> list[list[str]]:
    """The cells, padded to the widths of their columns: words to the left and numbers to the right. `left` are the
    columns of words; without it they are those with a cell, below the first row, that is neither a number nor '.'."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if left is None:
        left = [k for k in range(len(widths)) if not all(row[k][:1] in "0123456789." for row in rows[1:])]
    return [
        [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in rows
    ]


def lines(rows: Sequence[Sequence[str]], left: Collection[int] | None = None) -> list[str]:
    """The rows of `columns` as lines."""
    return [GAP.join(row).rstrip() for row in columns(rows, left)]


def ruled(rows: Sequence[Sequence[str]], left: Collection[int] | None = None) -> list[str]:
    """The same, with a rule below the first row, which is the head."""
    head, *others = columns(rows, left)
    return [GAP.join(head).rstrip(), rule(head), *(GAP.join(row).rstrip() for row in others)]


def rule(cells: Sequence[str]) -> str:
    """A rule as long as a row of padded cells."""
    return "-" * len(GAP.join(cells))
