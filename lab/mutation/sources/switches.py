"""Writes many faults into one source, each behind a switch, so that it is compiled once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.mutation.sources.model import Point


def switched(data: bytes, points: Mapping[int, Point]) -> bytes:
    """The source with `points`, by their numbers, behind switches. Lines stay where they are.

    An expression E that becomes R reads `(on(7) ? (R) : (E))`, a statement `{ if (on(7)) { R } else { E } }`. Places
    within one another are nested; R has none within itself.
    """
    order = sorted(points, key=lambda number: (points[number].start, -points[number].end, points[number].statement))
    text, last = _filled(data, points, order, 0, len(data), 0)
    assert last == len(order), "the places of faults overlap without one being within the other"
    return text


def _filled(
    data: bytes, points: Mapping[int, Point], order: Sequence[int], start: int, end: int, at: int
) -> tuple[bytes, int]:
    """The bytes from `start` to `end` with those points of `order`, from place `at` on, that are there."""
    parts = []
    while at < len(order) and points[order[at]].end <= end:
        number = order[at]
        point = points[number]
        parts.append(data[start : point.start])
        inner, at = _filled(data, points, order, point.start, point.end, at + 1)
        parts.append(_switch(number, point, inner))
        start = point.end
    return b"".join([*parts, data[start:end]]), at


def _switch(number: int, point: Point, inner: bytes) -> bytes:
    becomes = " ".join(point.replacement.split()).encode()
    choice = f"::diopi_fault::on({number})".encode()
    if point.statement:
        return b"{ if (" + choice + b") { " + becomes + b" } else { " + inner + b" } }"
    if point.replacement in ("true", "false"):  # the condition may be of a class that is tested
        inner = b"static_cast<bool>(" + inner + b")"
    return b"(" + choice + b" ? (" + becomes + b") : (" + inner + b"))"


def injected(data: bytes, point: Point) -> bytes:
    """The source with this fault alone, without a switch."""
    becomes = point.replacement.encode()
    wrapped = becomes if point.statement else b"(" + becomes + b")"
    return data[: point.start] + wrapped + data[point.end :]
