"""Trends of a history: functions over the runs, newly failing cases, slow ones, growing errors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.history.store import CODES, NAMES, Change, History, Run, time_of
from diopigen.conformance.model import FAILURES, PASSING

_TIMES = np.array([time_of(code) for code in range(256)])
_FAILING = np.zeros(256, dtype=bool)
_PASSING = np.zeros(256, dtype=bool)
for _name, _code in CODES.items():
    _FAILING[ord(_code)], _PASSING[ord(_code)] = _name in FAILURES, _name in PASSING

SLOWER = 1.5
"""A function is named as slower from this ratio to its usual time on."""
_NOTICED = 0.05
"""Seconds below which a function's time is not compared."""
GROWN = 1.5
_UNSTEADY = 2
"""As often a case of one and the same library changed its outcome that is called unsteady."""
_NAMED = 200


def trends(history: History) -> dict[str, Any]:
    """Everything that the page and `history show` say, as plain data."""
    runs = history.runs()
    table = _Table(history)
    functions: dict[str, list[list[float]]] = {}
    seconds: dict[str, list[float | None]] = {}
    for index, run in enumerate(runs):
        for name, cell in table.counts(run).items():
            points = functions.setdefault(name, [])
            if not points or tuple(points[-1][1:]) != cell:
                points.append([index, *cell])
        for name in functions.keys() - table.counts(run).keys():
            if functions[name][-1][1:] != [0, 0, 0]:
                functions[name].append([index, 0, 0, 0])
        times = table.seconds(run)
        for name in functions:
            seconds.setdefault(name, [None] * index).append(times.get(name))
    latest = runs[-1] if runs else None
    changes = history.changes(latest) if latest else []
    return {
        "runs": [_run_record(run) for run in runs],
        "functions": [
            {"name": name, "points": points, **_times(seconds[name])} for name, points in sorted(functions.items())
        ],
        "broken": [_change_record(one) for one in changes if one.outcome in FAILURES and one.before not in FAILURES],
        "fixed": [_change_record(one) for one in changes if one.before in FAILURES and one.outcome not in FAILURES],
        "failing": table.failing(latest) if latest else [],
        "unsteady": _unsteady(table, runs),
        "drift": _drift(history, runs),
    }


def _run_record(run: Run) -> dict[str, Any]:
    counts = run.counts
    return {
        "at": run.at, "host": run.host, "vendor": run.vendor, "version": run.version,
        "library": run.library_digest[:12], "spec": run.spec_digest[:12], "seconds": round(run.seconds, 1),
        "cases": sum(counts.values()), "passed": sum(counts.get(name, 0) for name in PASSING),
        "failing": sum(counts.get(name, 0) for name in FAILURES),
        "nondeterministic": counts.get("nondeterministic", 0), "not_run": run.not_run, "suspects": list(run.suspects),
    }  # fmt: skip


def _change_record(change: Change) -> dict[str, str]:
    record = asdict(change)
    del record["run"]
    return record


class _Table:
    """Outcomes and times of runs by function; what several runs share is read once."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._ids: dict[int, list[str]] = {}
        self._groups: dict[int, tuple[list[str], Array]] = {}
        self._codes: dict[int, Array] = {}
        self._counts: dict[tuple[int, int], dict[str, tuple[int, int, int]]] = {}

    def ids(self, run: Run) -> list[str]:
        if run.cases not in self._ids:
            self._ids[run.cases] = self.history.ids(run)
        return self._ids[run.cases]

    def codes(self, run: Run) -> Array:
        if run.outcomes not in self._codes:
            self._codes[run.outcomes] = np.frombuffer(self.history.blob(run.outcomes), dtype=np.uint8)
        return self._codes[run.outcomes]

    def groups(self, run: Run) -> tuple[list[str], Array]:
        """The functions of a run, and the index of that of each case."""
        if run.cases not in self._groups:
            names: dict[str, int] = {}
            indices = [names.setdefault(name.partition("/")[0], len(names)) for name in self.ids(run)]
            self._groups[run.cases] = (list(names), np.array(indices, dtype=np.int64))
        return self._groups[run.cases]

    def counts(self, run: Run) -> dict[str, tuple[int, int, int]]:
        """Cases, passed and failing ones of each function."""
        key = (run.cases, run.outcomes)
        if key not in self._counts:
            names, groups = self.groups(run)
            codes = self.codes(run)
            size = len(names)
            columns = [np.bincount(groups, minlength=size)]
            columns += [np.bincount(groups[which[codes]], minlength=size) for which in (_PASSING, _FAILING)]
            self._counts[key] = {
                name: (int(columns[0][k]), int(columns[1][k]), int(columns[2][k])) for k, name in enumerate(names)
            }
        return self._counts[key]

    def seconds(self, run: Run) -> dict[str, float]:
        """The time of each function."""
        names, groups = self.groups(run)
        times = _TIMES[np.frombuffer(self.history.blob(run.times), dtype=np.uint8)]
        sums = np.bincount(groups, weights=times, minlength=len(names))
        return {name: float(sums[k]) for k, name in enumerate(names)}

    def failing(self, run: Run) -> list[list[str]]:
        """The cases of a run that fail, with their outcomes."""
        ids, codes = self.ids(run), self.codes(run)
        return [[ids[k], NAMES[chr(codes[k])]] for k in np.flatnonzero(_FAILING[codes])[: 10 * _NAMED]]


def _times(seconds: Sequence[float | None]) -> dict[str, Any]:
    """The latest time of a function, and its ratio to the usual one: the median of the 20 runs before."""
    known = [one for one in seconds if one is not None]
    if not known or seconds[-1] is None:
        return {"seconds": None, "ratio": None}
    usual = float(np.median(known[-21:-1])) if len(known) > 1 else known[-1]
    ratio = round(known[-1] / usual, 2) if max(known[-1], usual) >= _NOTICED and usual else None
    return {"seconds": round(known[-1], 4), "ratio": ratio}


def _unsteady(table: _Table, runs: Sequence[Run]) -> list[list[Any]]:
    """The cases whose outcome changed again and again although library, spec, settings and seed did not."""
    changes: Counter[str] = Counter()
    before: dict[tuple[object, ...], Run] = {}
    for run in runs:
        key = (run.vendor, run.library_digest, run.spec_digest, run.settings, run.seed)
        other = before.get(key)
        before[key] = run
        if other is None or not run.library_digest or other.cases != run.cases or other.outcomes == run.outcomes:
            continue
        ids = table.ids(run)
        changes.update(ids[k] for k in np.flatnonzero(table.codes(run) != table.codes(other)))
    return [[name, count] for name, count in changes.most_common(_NAMED) if count >= _UNSTEADY]


def _drift(history: History, runs: Sequence[Run]) -> list[tuple[str, str, float, float, str]]:
    """The functions and dtypes whose largest error in ULP has grown since it was smallest, although all may pass."""
    worst: dict[tuple[str, str], list[tuple[int, float]]] = {}
    last: int | None = None
    for index, run in enumerate(runs):
        if run.errors == last:
            continue
        last = run.errors
        for function, dtype, error in json.loads(history.blob(run.errors)):
            points = worst.setdefault((function, dtype), [])
            if not points or points[-1][1] != error:
                points.append((index, error))
    found: list[tuple[str, str, float, float, str]] = []
    for (function, dtype), points in worst.items():
        lowest, now = min(error for _, error in points), points[-1][1]
        if now >= GROWN * max(lowest, 0.5) and now > 1:
            since = next(runs[index].at for index, error in reversed(points) if error == now)
            found.append((function, dtype, lowest, now, since))
    return sorted(found, key=lambda row: -row[3] / max(row[2], 0.5))[:_NAMED]


def text(found: Mapping[str, Any]) -> str:
    """The trends in words, for a terminal."""
    runs = found["runs"]
    if not runs:
        return "no runs\n"
    latest = runs[-1]
    lines = [
        f"{len(runs)} runs, {runs[0]['at']} to {latest['at']}",
        f"latest: {latest['vendor']} {latest['version']}, {latest['cases']} cases, {latest['passed']} passed, "
        f"{latest['failing']} failing, {latest['nondeterministic']} of them nondeterministic",
    ]
    lines += [f"suspect card: {card}" for card in latest["suspects"]]
    for key, title in (("broken", "newly failing"), ("fixed", "fixed")):
        lines.append(f"{title}: {len(found[key])}")
        lines += [f"  {one['case']}: {one['outcome']} {one['message']}".rstrip() for one in found[key][:20]]
    if found["unsteady"]:
        lines.append("changed their outcome while the library did not:")
        lines += [f"  {name}: {count} times" for name, count in found["unsteady"][:20]]
    slower = sorted((one for one in found["functions"] if (one["ratio"] or 0) >= SLOWER), key=lambda one: -one["ratio"])
    if slower:
        lines.append("slower than usual:")
        lines += [f"  {one['name']}: {one['seconds']:.2f} s, {one['ratio']} times" for one in slower[:20]]
    if found["drift"]:
        lines.append("larger errors, in ULP:")
        lines += [
            f"  {name} {dtype}: {low:.3g} to {now:.3g} since {at}" for name, dtype, low, now, at in found["drift"][:20]
        ]
    return "\n".join(lines) + "\n"
