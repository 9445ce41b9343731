"""Loss curves as an SVG: a panel for each model, with axes, a title and a legend."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

Losses = Mapping[str, Sequence[float]]
"""By the name of the device."""

WIDTH, HEIGHT = 520, 360
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 48, 48
COLOURS = ("#1f77b4", "#ff7f0e")


@dataclass(frozen=True)
class Panel:
    """`lines` follow the title. The first curve is a line, every other one consists of dots, so that one that
    covers the first leaves it visible."""

    title: str
    subtitle: str
    losses: Losses


def ticks(largest: float, count: int = 5) -> list[float]:
    """Round numbers from 0 up to at most `largest`, `count` of them or a few more. `largest` is positive."""
    rough = largest / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    return [index * step for index in range(int(largest / step + 1e-9) + 1)]


@dataclass(frozen=True)
class _Axes:
    """Position of a step and a loss in a panel, in pixels."""

    steps: int
    highest: float

    def x(self, step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / max(self.steps, 1)

    def y(self, loss: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / self.highest


def _text(x: float, y: float, words: str, anchor: str = "middle", size: int = 12, rotated: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if rotated else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{turn}>{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _frame(axes: _Axes) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    created = []
    for loss in ticks(axes.highest):
        created.append(_line(LEFT, axes.y(loss), right, axes.y(loss), "#e5e5e5"))
        created.append(_text(LEFT - 6, axes.y(loss) + 4, f"{loss:g}", "end"))
    for step in ticks(axes.steps):
        created.append(_line(axes.x(step), bottom, axes.x(step), bottom + 4, "black"))
        created.append(_text(axes.x(step), bottom + 18, f"{step:g}"))
    created += [_line(LEFT, bottom, right, bottom, "black"), _line(LEFT, TOP, LEFT, bottom, "black")]
    created.append(_text((LEFT + right) / 2, HEIGHT - 8, "training step"))
    created.append(_text(16, (TOP + bottom) / 2, "cross-entropy of the batch", rotated=True))
    return created


def _panel(panel: Panel) -> list[str]:
    longest = max(len(curve) for curve in panel.losses.values())
    finite = [loss for curve in panel.losses.values() for loss in curve if math.isfinite(loss)]
    axes = _Axes(longest, max([*finite, 1e-6]) * 1.05)
    created = [_text(WIDTH / 2, 20, panel.title, size=15), _text(WIDTH / 2, 38, panel.subtitle), *_frame(axes)]
    for index, ((name, curve), colour) in enumerate(zip(panel.losses.items(), COLOURS, strict=False)):
        points = [(axes.x(step), axes.y(loss)) for step, loss in enumerate(curve, start=1) if math.isfinite(loss)]
        height = TOP + 16 + 18 * index
        if index == 0:
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            created.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
            created.append(_line(WIDTH - 160, height - 4, WIDTH - 140, height - 4, colour))
        else:
            created += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8" fill="{colour}"/>' for x, y in points]
            created.append(f'<circle cx="{WIDTH - 150}" cy="{height - 4}" r="3" fill="{colour}"/>')
        last = f", at last {curve[-1]:.3f}" if curve else ""
        created.append(_text(WIDTH - 134, height, f"{name}{last}", "start"))
    return created


def picture(panels: Sequence[Panel]) -> str:
    """The panels from left to right, as the text of an SVG file."""
    size = f'width="{WIDTH * len(panels)}" height="{HEIGHT}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">']
    lines.append('<rect width="100%" height="100%" fill="white"/>')
    for index, panel in enumerate(panels):
        lines += [f'<g transform="translate({WIDTH * index} 0)">', *_panel(panel), "</g>"]
    return "\n".join([*lines, "</svg>", ""])
