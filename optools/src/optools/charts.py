"""SVG charts without scripts: bars, lines over steps, a timeline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH = 720
COLOURS = ("var(--one)", "var(--two)", "var(--three)", "var(--four)", "var(--five)", "var(--six)")
Point = tuple[float, float]


def _svg(height: int, body: Sequence[str], label: str) -> str:
    return (
        f"<figure><figcaption>{escape(label)}</figcaption>"
        f'<div class="chart" tabindex="0" role="group" aria-label="{escape(label)}">'
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">{"".join(body)}</svg>'
        "</div></figure>"
    )


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    own = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{own}>{escape(text)}</text>'


def bars(rows: Sequence[tuple[str, float, str]], label: str, limit: float | None = None) -> str:
    """Horizontal bars on a logarithmic scale, each with what is written behind it; `limit` is marked."""
    positive = [value for _, value, _ in rows if 0 < value < math.inf]
    if not positive:
        return f'<p class="none">{escape(label)}: nothing to show</p>'
    low = math.floor(math.log10(min([*positive, limit or math.inf])))
    high = math.ceil(math.log10(max([*positive, limit or 0]))) if max([*positive, limit or 0]) > 0 else low
    high = max(high, low + 1)
    left, right = 250, WIDTH - 90

    def at(value: float) -> float:
        share = (math.log10(value) - low) / (high - low) if value > 0 else 0.0
        return left + (right - left) * min(max(share, 0.0), 1.0)

    body = []
    height = 22 * len(rows) + 26
    for power in range(low, high + 1, max(1, (high - low) // 6)):
        x = at(10.0**power)
        body.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 20}"/>')
        body.append(_text(x, height - 6, f"1e{power}", "middle", "axis"))
    for number, (name, value, text) in enumerate(rows):
        y = 22 * number
        end = right if value == math.inf else at(value)
        colour = "var(--bad)" if limit is not None and value > limit else "var(--one)"
        body.append(_text(left - 8, y + 15, name if len(name) <= 34 else name[:31] + "...", "end"))
        body.append(
            f'<rect x="{left}" y="{y + 4}" width="{max(end - left, 1):.1f}" height="14" rx="3" fill="{colour}"/>'
        )
        body.append(_text(max(end, left) + 6, y + 15, text, "start", "value"))
    if limit is not None:
        x = at(limit)
        body.append(f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height - 20}"/>')
    return _svg(height, body, label)


def lines(
    series: Mapping[str, Sequence[Point]], label: str, logarithmic: bool = False, limit: float | None = None
) -> str:
    """Values over steps, one line for each name; `limit` is marked."""
    usable = {
        name: [(x, y) for x, y in points if math.isfinite(y) and (y > 0 or not logarithmic)]
        for name, points in series.items()
    }
    points = [point for own in usable.values() for point in own]
    if not points:
        return f'<p class="none">{escape(label)}: nothing to show</p>'

    def scaled(value: float) -> float:
        return math.log10(value) if logarithmic else value

    values = [scaled(y) for _, y in points] + ([scaled(limit)] if limit else [])
    low, high = min(values), max(values)
    if high - low < 1e-12 * max(abs(high), 1.0):
        low, high = low - 0.5, high + 0.5
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    left, right, top, bottom = 70, WIDTH - 12, 10, 190

    def position(x: float, y: float) -> Point:
        across = (x - first) / (last - first) if last > first else 0.5
        return left + (right - left) * across, bottom - (bottom - top) * (scaled(y) - low) / (high - low)

    body = []
    for number in range(5):
        y = bottom - (bottom - top) * number / 4
        value = low + (high - low) * number / 4
        body.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        body.append(_text(left - 8, y + 4, f"{10**value:.2g}" if logarithmic else f"{value:.4g}", "end", "axis"))
    body += [
        _text(left, bottom + 16, f"step {first:g}", "start", "axis"),
        _text(right, bottom + 16, f"{last:g}", "end", "axis"),
    ]
    if limit:
        y = position(first, limit)[1]
        body.append(f'<line class="limit" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
    x = float(left)
    row = bottom + 38
    for number, (name, own) in enumerate(usable.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = ' stroke-dasharray="6 4"' if number >= len(COLOURS) else ""
        path = " ".join("{:.1f},{:.1f}".format(*position(*point)) for point in own)
        if len(own) == 1:
            across, up = position(*own[0])
            body.append(f'<circle cx="{across:.1f}" cy="{up:.1f}" r="3" fill="{colour}"/>')
        else:
            body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        wide = 26 + 7.2 * len(name)
        if x + wide > right:
            x, row = float(left), row + 18
        body.append(f'<rect x="{x:.1f}" y="{row - 9}" width="12" height="9" rx="2" fill="{colour}"/>')
        body.append(_text(x + 17, row, name))
        x += wide
    return _svg(row + 10, body, label)


def timeline(calls: Sequence[tuple[str, str, float, float, bool]], label: str) -> str:
    """Calls as boxes in lanes: lane, name, start and length in microseconds, whether it is at fault."""
    if not calls:
        return f'<p class="none">{escape(label)}: nothing to show</p>'
    lanes = list(dict.fromkeys(lane for lane, *_ in calls))
    start = min(began for _, _, began, _, _ in calls)
    length = max(began + took for _, _, began, took, _ in calls) - start or 1.0
    left, right = 90, WIDTH - 10
    height = 34 * len(lanes) + 24
    names = list(dict.fromkeys(name for _, name, *_ in calls))
    body = []
    for number, lane in enumerate(lanes):
        body.append(_text(left - 8, 34 * number + 21, lane, "end"))
        body.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{34 * number + 31}" y2="{34 * number + 31}"/>')
    for lane, name, began, took, bad in calls:
        x = left + (right - left) * (began - start) / length
        wide = max((right - left) * took / length, 0.6)
        colour = "var(--bad)" if bad else COLOURS[names.index(name) % len(COLOURS)]
        y = 34 * lanes.index(lane) + 4
        about = escape(f"{name}, {took:.1f} us")
        body.append(
            f'<rect x="{x:.2f}" y="{y}" width="{wide:.2f}" height="24" fill="{colour}"><title>{about}</title></rect>'
        )
    body += [
        _text(left, height - 6, "0", "start", "axis"),
        _text(right, height - 6, f"{length / 1e3:.4g} ms", "end", "axis"),
    ]
    return _svg(height, body, label)
