"""Writes the table of likely causes to docs/conformance.md.

.venv/bin/python tools/write_cause_table.py
"""

from __future__ import annotations

from pathlib import Path

from diopigen.conformance.report.cause_table import as_markdown

PAGE = Path(__file__).resolve().parents[1] / "docs/conformance.md"


def main() -> None:
    """Entry of the program."""
    lines = PAGE.read_text(encoding="utf-8").splitlines(keepends=True)
    first, second = as_markdown().splitlines(keepends=True)[:2]
    start = lines.index(first)
    assert lines[start + 1] == second
    end = next(index for index in range(start, len(lines)) if not lines[index].startswith("|"))
    PAGE.write_text("".join([*lines[:start], as_markdown(), *lines[end:]]), encoding="utf-8")


if __name__ == "__main__":
    main()
