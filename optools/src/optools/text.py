"""Tables for terminals."""

from __future__ import annotations

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns under heads; the first `left` ones begin at the left."""
    widths = [max(len(row[k]) for row in (heads, *rows)) for k in range(len(heads))]
    lines = []
    for row in (heads, *rows):
        cells = [
            text.ljust(width) if k < left else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def shortened(text: str, width: int) -> str:
    """The text, without its middle where it is too long."""
    if len(text) <= width:
        return text
    half = (width - 3) // 2
    return f"{text[: width - 3 - half]}...{text[len(text) - half :]}"
