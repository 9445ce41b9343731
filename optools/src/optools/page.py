"""The elements of the report as HTML: the page itself, verdicts, findings and tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

MOST = 40
"""Rows of a table, and boxes of a timeline in hundreds."""
STYLE = """
:root { --paper: #fff; --ink: #1d2433; --soft: #5b6577; --line: #d9dee7; --panel: #f5f7fa; --bad: #c62f3b;
  --good: #1c7c4a; --one: #2f6fde; --two: #d9822b; --three: #2a9d7f; --four: #8f5bd0; --five: #b0406f; --six: #6b7a8f;
  color-scheme: light; }
@media (prefers-color-scheme: dark) { :root { --paper: #151a23; --ink: #e6eaf2; --soft: #9aa5b8; --line: #303949;
  --panel: #1d2430; --bad: #ff6b74; --good: #57c98b; --one: #6ea1ff; --two: #f0a55a; --three: #56c9a9; --four: #b48bf0;
  --five: #e57da6; --six: #9aa8bd; color-scheme: dark; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 980px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", "Noto Sans CJK SC", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 4px; } h2 { font-size: 1.15rem; margin: 36px 0 8px; }
p.about { color: var(--soft); margin: 0 0 20px; overflow-wrap: anywhere; } p.none { color: var(--soft); }
figure { margin: 16px 0; } figcaption { font-weight: 600; font-size: 14px; } .chart { overflow-x: auto; }
.verdict { padding: 12px 16px; margin: 8px 0; border-radius: 8px; background: var(--panel);
  border-left: 5px solid var(--good); }
.verdict.bad { border-color: var(--bad); } .verdict b { font-family: ui-monospace, monospace; }
.verdict pre, .finding pre { margin: 6px 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font-size: 13px; }
.finding { border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; margin: 8px 0; }
.finding summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { background: var(--panel); color: var(--soft); font-weight: 600; } th.left, td.left { text-align: left; }
tr.bad td { color: var(--bad); font-weight: 600; } tr:last-child td { border-bottom: 0; }
svg { width: 100%; min-width: 560px; height: auto; display: block; margin: 8px 0; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
svg .axis { fill: var(--soft); font-size: 11px; } svg .value { fill: var(--soft); }
svg .grid { stroke: var(--line); } svg .limit { stroke: var(--bad); stroke-dasharray: 5 4; stroke-width: 1.5; }
"""


def document(title: str, about: str, parts: Sequence[str]) -> str:
    """The page: its title, a line below it, and its parts, which are HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main>"
        f'<h1>{escape(title)}</h1><p class="about">{escape(about)}</p>{"".join(parts)}</main></body></html>'
    )


def verdict(bad: bool, text: str, more: str = "") -> str:
    """The answer of one tool; `text` is HTML."""
    details = f"<pre>{escape(more)}</pre>" if more else ""
    return f'<div class="verdict{" bad" if bad else ""}">{text}{details}</div>'


def heading(text: str, folder: Path) -> str:
    """The head of what one tool wrote to a folder."""
    return f'<h2>{escape(text)}</h2><p class="about">{escape(str(folder))}</p>'


def finding(title: str, text: str) -> str:
    """One finding, closed until it is asked for."""
    return f'<details class="finding"><summary>{escape(title)}</summary><pre>{escape(text)}</pre></details>'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, bad: Sequence[int] = ()) -> str:
    """A table that scrolls by itself; `bad` are the rows at fault."""

    def cells(values: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{' class=left' if index < left else ''}>{escape(value)}</{tag}>"
            for index, value in enumerate(values)
        )

    body = "".join(
        f"<tr{' class=bad' if index in bad else ''}>{cells(row, 'td')}</tr>" for index, row in enumerate(rows[:MOST])
    )
    more = f'<p class="about">and {len(rows) - MOST} more</p>' if len(rows) > MOST else ""
    name = escape(f"table: {', '.join(heads)}")
    box = f'<div class="scroll" tabindex="0" role="group" aria-label="{name}">'
    return f"{box}<table><tr>{cells(heads, 'th')}</tr>{body}</table></div>{more}"
