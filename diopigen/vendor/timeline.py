"""Timeline of a device: a Chrome trace read, and laid out with shortened pauses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diopigen.diagnostics import Span, failure
from diopigen.spec.json_form import Form, FormFault, read_json

RULES = {"trace-file": "A trace is JSON in the format of Chrome, such as `DIOPI_SIM_TRACE=FILE` makes a program write."}

WIDTH = 1000.0
MOST = 3000
"""Boxes of a timeline: a browser draws more only slowly."""
COLOURS = 8
"""Kernels with a colour of their own; those with the longest total come first."""


@dataclass(frozen=True, slots=True)
class Event:
    """One kernel or copy; times are in microseconds."""

    lane: str
    name: str
    start: float
    duration: float


@dataclass(frozen=True, slots=True)
class Total:
    """All calls of one name, in microseconds. `colour` is below `COLOURS`, or that for all others."""

    name: str
    calls: int
    time: float
    longest: float
    colour: int


@dataclass(frozen=True, slots=True)
class Box:
    """A call in the drawing: its left edge and its width, of `WIDTH`."""

    x: float
    width: float
    colour: int
    text: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The drawing. `lanes` are streams by name; `shown` of `events` calls are drawn. `time` is that from the first to
    the last of those, `busy` that in which at least one ran. Longer pauses than `pause` are drawn as long as that."""

    lanes: tuple[tuple[str, tuple[Box, ...]], ...]
    totals: tuple[Total, ...]
    events: int
    shown: int
    time: float
    busy: float
    pause: float


def read_trace(path: Path) -> tuple[Event, ...]:
    """The complete events of a trace, in the order of time. Raises `Failure` where the file is none."""
    fix = "name a file that a program with DIOPI_SIM_TRACE=FILE wrote; several processes need %p in the name"
    document = read_json(path, "trace-file", fix)
    try:
        records = list((document if isinstance(document.value, list) else document["traceEvents"]).items())
        names = {_key(one): one["args"]["name"].text() for one in records if _kind(one) == "M"}
        events = [
            Event(_lane(one, names), one["name"].text(), one["ts"].number(), _duration(one["dur"]))
            for one in records
            if _kind(one) == "X"
        ]
    except FormFault as error:
        raise failure("trace-file", f"is no trace: {error}", Span(str(path)), fix) from None
    return tuple(sorted(events, key=lambda event: event.start))


def _duration(record: Form) -> float:
    if record.number() < 0:
        raise FormFault(f"{record.way} is below 0")
    return record.number()


def _kind(record: Form) -> str:
    return record["ph"].text()


def _key(record: Form) -> tuple[str, int, int]:
    """Subject of a name: a process or one of its threads."""
    of_thread = record["name"].text() == "thread_name"
    return record["name"].text(), record["pid"].whole(0), record["tid"].whole(0) if of_thread else 0


def _lane(record: Form, names: dict[tuple[str, int, int], str]) -> str:
    process, thread = record["pid"].whole(0), record["tid"].whole(0)
    parts = names.get(("process_name", process, 0)), names.get(("thread_name", process, thread))
    return ", ".join(part for part in parts if part) or f"{process}, {thread}"


def timeline(events: Sequence[Event]) -> Timeline | None:
    """The drawing of events in the order of time; None without any."""
    if not events:
        return None
    totals = _totals(events)
    colours = {total.name: total.colour for total in totals}
    drawn = events[:MOST]
    spans = _spans(drawn)
    busy = sum(end - start for start, end in spans)
    pause = busy / len(spans)
    breaks: list[tuple[float, float]] = []
    """Times at which work resumes after a pause, and the total time omitted before."""
    omitted, last = 0.0, spans[0][0]
    for start, end in spans:
        omitted += max(0.0, start - last - pause)
        breaks.append((start, omitted))
        last = end
    scale = WIDTH / max(last - spans[0][0] - omitted, 1e-9)
    lanes: dict[str, list[Box]] = defaultdict(list)
    position = 0
    for event in drawn:
        while position + 1 < len(breaks) and event.start >= breaks[position + 1][0]:
            position += 1
        x = (event.start - spans[0][0] - breaks[position][1]) * scale
        text = f"{event.name}, {event.duration:.3f} µs, at {event.start - spans[0][0]:.3f} µs"
        lanes[event.lane].append(
            Box(round(x, 2), max(round(event.duration * scale, 2), 0.8), colours[event.name], text)
        )
    return Timeline(
        tuple((lane, tuple(lanes[lane])) for lane in sorted(lanes)),
        totals, len(events), len(drawn), last - spans[0][0], busy, pause,
    )  # fmt: skip


def _totals(events: Sequence[Event]) -> tuple[Total, ...]:
    durations: dict[str, list[float]] = defaultdict(list)
    for event in events:
        durations[event.name].append(event.duration)
    order = sorted(durations, key=lambda name: (-sum(durations[name]), name))
    return tuple(
        Total(name, len(durations[name]), sum(durations[name]), max(durations[name]), min(rank, COLOURS))
        for rank, name in enumerate(order)
    )


def _spans(events: Sequence[Event]) -> list[tuple[float, float]]:
    """The times in which something runs, apart from each other and in order."""
    spans: list[tuple[float, float]] = []
    for event in events:
        end = event.start + event.duration
        if spans and event.start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((event.start, end))
    return spans
