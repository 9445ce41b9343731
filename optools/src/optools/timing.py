"""Times of operators: count, total, median and 99th percentile by operator and shapes.

On a device, events before and after each call are read later, from a ring, so that the device is not waited for. With
`synchronous` it is, and with the CPU the clock is read.
"""

from __future__ import annotations

import collections
import csv
import io
import json
import time
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from optools.capturing import device_of
from optools.context import CONTEXT
from optools.mode import Call, Proceed, Selection, Tool
from optools.replaying import operand
from optools.store import FolderError, rank, ranked
from optools.text import shortened, table

RING = 1024
"""Pairs of events that are in use at a time."""
TRACED = 1 << 18
"""Calls in the trace at most."""


@dataclass(frozen=True)
class Row:
    """The times of one operator with one set of shapes, in microseconds."""

    op: str
    phase: str
    shapes: str
    count: int
    total: float
    p50: float
    p99: float

    @property
    def mean(self) -> float:
        """Total over count."""
        return self.total / self.count if self.count else 0.0


class Timing(Tool):
    """Measures the selected calls."""

    def __init__(
        self,
        ops: str = "",
        *,
        folder: str | Path | None = None,
        synchronous: bool = False,
        shapes: bool = True,
        **selection: Any,
    ) -> None:
        super().__init__(Selection(ops, **selection))
        self.folder = None if folder is None else Path(folder)
        self.synchronous = synchronous
        self.by_shape = shapes
        self.times: dict[tuple[str, str, str], array[float]] = {}
        self.traced: list[tuple[str, str, str, str, float, float]] = []
        self.dropped = 0
        """Calls that the trace has no room for; the table counts them."""
        self._ring: collections.deque[tuple[Any, Any, tuple[str, str, str], str]] = collections.deque()
        self._free: list[tuple[Any, Any]] = []
        self._device: Any = None
        self._base: Any = None
        self._began = 0.0
        self._texts: dict[Any, str] = {}

    def begin(self) -> None:
        self._began = time.perf_counter()

    def end(self) -> None:
        while self._ring:
            self._read()
        if self.folder is not None and self.calls_seen:
            folder = ranked(self.folder)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "time.csv").write_text(csv_text(self.rows()), encoding="utf-8")
            (folder / "trace.json").write_text(json.dumps(self.trace()), encoding="utf-8")

    def call(self, call: Call, proceed: Proceed) -> Any:
        device = device_of(call)
        phase = CONTEXT.phase()
        key = (call.facts.name, phase, self._shapes(call) if self.by_shape else "")
        if device.type == "cpu":
            return self._on_clock(call, proceed, key)
        if self.synchronous:
            return self._synchronous(call, proceed, key, device)
        if self._base is None:
            self._device = device
            self._base = torch.Event(device, enable_timing=True)
            self._base.record()
            self._began = time.perf_counter()
        start, stop = self._free.pop() if self._free else self._pair(device)
        start.record()
        out = proceed(call)
        stop.record()
        self._ring.append((start, stop, key, CONTEXT.module()))
        if len(self._ring) >= RING:
            self._read()
        return out

    @staticmethod
    def _pair(device: Any) -> tuple[Any, Any]:
        return torch.Event(device, enable_timing=True), torch.Event(device, enable_timing=True)

    def _on_clock(self, call: Call, proceed: Proceed, key: tuple[str, str, str]) -> Any:
        began = time.perf_counter()
        out = proceed(call)
        if self.synchronous and call.facts.collective:
            _wait(out)
        ended = time.perf_counter()
        self._add(key, (began - self._began) * 1e6, (ended - began) * 1e6, CONTEXT.module())
        return out

    def _synchronous(self, call: Call, proceed: Proceed, key: tuple[str, str, str], device: Any) -> Any:
        torch.accelerator.synchronize(device)
        began = time.perf_counter()
        out = proceed(call)
        if call.facts.collective:
            _wait(out)
        torch.accelerator.synchronize(device)
        ended = time.perf_counter()
        self._add(key, (began - self._began) * 1e6, (ended - began) * 1e6, CONTEXT.module())
        return out

    def _read(self) -> None:
        """Reads the oldest pair of events, which is done by now unless the device is far behind."""
        start, stop, key, module = self._ring.popleft()
        stop.synchronize()
        self._add(key, self._base.elapsed_time(start) * 1e3, start.elapsed_time(stop) * 1e3, module)
        self._free.append((start, stop))

    def _add(self, key: tuple[str, str, str], began: float, took: float, module: str) -> None:
        times = self.times.get(key)
        if times is None:
            times = self.times[key] = array("d")
        times.append(took)
        if len(self.traced) < TRACED:
            self.traced.append((*key, module, began, took))
        else:
            self.dropped += 1

    def _shapes(self, call: Call) -> str:
        words = []
        for value in (*call.args, *call.kwargs.values()):
            if isinstance(value, torch.Tensor):
                words.append(self._shape(value))
            elif isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
                words.append(f"{len(value)} x {self._shape(value[0])}")
        return ", ".join(words)

    def _shape(self, value: Any) -> str:
        key = (value.shape, value.dtype)
        text = self._texts.get(key)
        if text is None:
            text = self._texts[key] = operand({"tensor": "", "dtype": str(value.dtype)[6:], "shape": list(value.shape)})
        return text

    def rows(self) -> list[Row]:
        """The times, longest total first."""
        found = [
            Row(*key, len(times), sum(times), quantile(times, 0.5), quantile(times, 0.99))
            for key, times in self.times.items()
        ]
        return sorted(found, key=lambda row: -row.total)

    def table(self, most: int = 30) -> str:
        """The longest ones for terminals."""
        return time_table(self.rows()[:most])

    def trace(self) -> dict[str, Any]:
        """The calls as a Chrome trace (chrome://tracing, Perfetto)."""
        process = rank() or 0
        lanes = {"forward": 1, "backward": 2, "recompute": 3, "optimizer": 4}
        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "thread_name", "pid": process, "tid": lane, "args": {"name": name}}
            for name, lane in lanes.items()
        ]
        for op, phase, shapes, module, began, took in self.traced:
            own = {"shapes": shapes, "module": module}
            lane = lanes[phase]
            events.append({"ph": "X", "name": op, "pid": process, "tid": lane, "ts": began, "dur": took, "args": own})
        return {"traceEvents": events, "displayTimeUnit": "ms"}


def _wait(out: Any) -> None:
    """Waits for a collective, whose last result is its handle."""
    handle = out[-1] if isinstance(out, (tuple, list)) and out else out
    wait = getattr(handle, "wait", None)
    if wait is not None:
        wait()


def quantile(times: Iterable[float], fraction: float) -> float:
    """The smallest time that this fraction of all is not above."""
    ordered = sorted(times)
    return ordered[max(0, -(-len(ordered) * int(fraction * 100) // 100) - 1)]


def time_table(rows: Iterable[Row]) -> str:
    """Times in microseconds."""
    cells = [
        [
            row.op,
            row.phase,
            shortened(row.shapes, 48),
            str(row.count),
            *(f"{value:.1f}" for value in (row.total, row.mean, row.p50, row.p99)),
        ]
        for row in rows
    ]
    return table(["operator", "phase", "shapes", "count", "total us", "mean us", "p50 us", "p99 us"], cells, left=3)


def csv_text(rows: Iterable[Row]) -> str:
    """Times as a file for spreadsheets, in microseconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["operator", "phase", "shapes", "count", "total_us", "mean_us", "p50_us", "p99_us"])
    for row in rows:
        values = (f"{value:.3f}" for value in (row.total, row.mean, row.p50, row.p99))
        writer.writerow([row.op, row.phase, row.shapes, row.count, *values])
    return text.getvalue()


def read_csv(folder: Path) -> list[Row]:
    """The times of a folder. Raises `FolderError`."""
    try:
        lines = (folder / "time.csv").read_text(encoding="utf-8").splitlines()
    except OSError:
        raise FolderError(f"{folder} has no times (time.csv)") from None
    found = []
    for one in csv.DictReader(lines):
        numbers = (float(one[name]) for name in ("total_us", "p50_us", "p99_us"))
        found.append(Row(one["operator"], one["phase"], one["shapes"], int(one["count"]), *numbers))
    return found


def comparison(before: Iterable[Row], after: Iterable[Row], most: int = 30) -> str:
    """Two runs: what became longer first, by the difference of the totals."""
    both = [{(row.op, row.phase, row.shapes): row for row in rows} for rows in (before, after)]
    lines = []
    for key in both[0].keys() | both[1].keys():
        one, other = both[0].get(key), both[1].get(key)
        totals = [row.total if row else 0.0 for row in (one, other)]
        medians = [f"{row.p50:.1f}" if row else "" for row in (one, other)]
        counts = [str(row.count) if row else "" for row in (one, other)]
        ratio = f"{other.p50 / one.p50:.2f}" if one and other and one.p50 else ""
        lines.append((totals[1] - totals[0], [key[0], key[1], shortened(key[2], 40), *counts, *medians, ratio]))
    lines.sort(key=lambda item: -abs(item[0]))
    heads = ["operator", "phase", "shapes", "count", "count", "p50 us", "p50 us", "ratio", "total us"]
    return table(heads, [[*cells, f"{change:+.1f}"] for change, cells in lines[:most]], left=3)
