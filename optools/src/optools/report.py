"""One HTML file of what tools wrote to folders, without scripts and other files, so that it can be mailed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

import torch

from optools import charts, page
from optools.store import FolderError
from optools.timing import read_csv


def report(folders: Iterable[Path], title: str = "optools") -> str:
    """The page. Raises `FolderError` where no folder has results."""
    found: list[str] = []
    verdicts: list[str] = []
    for folder in folders:
        for one in _folders(folder):
            parts, verdict = _of(one)
            if parts:
                found += parts
                verdicts += verdict
    if not found:
        raise FolderError("no folder has results of compare, overflow, time or bisect")
    about = f"torch {torch.__version__}; {', '.join(map(str, folders))}"
    return page.document(title, about, [*verdicts, *found])


def _folders(folder: Path) -> list[Path]:
    """The folder and those of ranks and of processes below it."""
    return [folder, *sorted(one for name in ("rank*", "process*") for one in folder.glob(name) if one.is_dir())]


def _of(folder: Path) -> tuple[list[str], list[str]]:
    """The sections of a folder, and its verdicts."""
    sections: list[str] = []
    verdicts: list[str] = []
    readers: dict[str, Callable[[Any, Path], tuple[str, str]]] = {
        "bisect.json": _bisected,
        "compare.json": _compared,
        "overflow.json": _overflowed,
    }
    for name, read in readers.items():
        if (folder / name).is_file():
            section, verdict = read(json.loads((folder / name).read_text(encoding="utf-8")), folder)
            sections.append(section)
            verdicts.append(verdict)
    if (folder / "time.csv").is_file():
        sections.append(_timed(folder))
    return sections, verdicts


def _position(where: dict[str, Any]) -> str:
    words = [f"step {where['step']}", where["phase"], where["module"], where["node"], where["api"], where["source"]]
    return ", ".join(word for word in words if word)


def _compared(data: dict[str, Any], folder: Path) -> tuple[str, str]:
    from optools.comparing import difference_text
    from optools.errors import Difference

    findings, totals = data["findings"], data["totals"]
    parts = [page.heading("Operators compared with the CPU", folder)]
    worst = sorted(totals.items(), key=lambda item: (-item[1]["wrong"], -item[1]["worst"]))
    bars = [(op, one["worst"], f"{one['worst']:.2g}") for op, one in worst[:15]]
    parts.append(charts.bars(bars, "Worst operators: error over its bound", 1.0))
    for one in findings[: page.MOST]:
        lines = [_position(one["where"]), f"operands: {one['operands']}"]
        lines += [f"{each['output']}: {difference_text(Difference(**each))}" for each in one["differences"]]
        lines += [*one["hints"], *([f"optools replay {one['case']}"] if one["case"] else [])]
        text = "\n".join(lines)
        where = one["where"]
        title = ", ".join(
            word for word in (one["op"], f"step {where['step']}", where["phase"], where["module"]) if word
        )
        parts.append(page.finding(title, text))
    names = ("calls", "wrong", "worst", "local", "cpu", "accumulated")
    rows = [[op, *(f"{one[name]:.3g}" for name in names)] for op, one in worst]
    heads = ["operator", "calls", "wrong", "error / bound", "device error", "CPU error", "accumulated"]
    parts.append(page.table(heads, rows, 1, [index for index, (_, one) in enumerate(worst) if one["wrong"]]))
    parts.append(_skipped(data))
    if findings:
        first = findings[0]
        text = f"{len(findings)} wrong calls. The first wrong operator is <b>{escape(first['op'])}</b>"
        return "".join(parts), page.verdict(True, text, _position(first["where"]))
    return "".join(parts), page.verdict(
        False, f"{sum(one['calls'] for one in totals.values())} calls: no operator is wrong"
    )


def _skipped(data: dict[str, Any]) -> str:
    rows = [[reason, str(count)] for reason, count in data.get("skipped", {}).items()]
    return page.table(["not looked at", "times"], rows) if rows else ""


def _overflowed(data: dict[str, Any], folder: Path) -> tuple[str, str]:
    parts = [page.heading("Ranges and overflow", folder)]
    limits = {one["dtype"]: float(torch.finfo(getattr(torch, one["dtype"])).max) for one in data["ranges"]}
    ranges = sorted(data["ranges"], key=lambda one: -one["largest"] / limits[one["dtype"]])
    bars = [
        (f"{one['op']} {one['dtype']}", one["largest"] / limits[one["dtype"]], f"{one['largest']:.3g}")
        for one in ranges[:15]
    ]
    parts.append(charts.bars(bars, "Largest results over the largest number of their dtype", 1.0))
    for dtype in dict.fromkeys(one["dtype"] for one in ranges):
        own = [one for one in ranges if one["dtype"] == dtype][:6]
        series = {one["op"]: [(float(step), value) for step, value in one["steps"].items()] for one in own}
        near = max(one["largest"] for one in own) > limits[dtype] * 1e-6
        parts.append(
            charts.lines(series, f"Largest results over time in {dtype}", True, limits[dtype] if near else None)
        )
    found = data["found"]
    rows = [[one["op"], one["dtype"], one["values"], _position(one["where"]), one["operands"]] for one in found]
    if rows:
        parts.append(page.table(["operator", "dtype", "made", "where", "largest inputs"], rows, 5, range(len(rows))))
    heads = ["operator", "dtype", "calls", "largest", "of the limit", "module"]
    shares = [f"{one['largest'] / limits[one['dtype']]:.2g}" for one in ranges]
    table = [
        [one["op"], one["dtype"], str(one["calls"]), f"{one['largest']:.4g}", share, one["module"]]
        for one, share in zip(ranges, shares, strict=True)
    ]
    parts.append(page.table(heads, table, 2))
    if found:
        text = f"{len(found)} calls make inf or NaN of finite inputs. The first is <b>{escape(found[0]['op'])}</b>"
        return "".join(parts), page.verdict(True, text, _position(found[0]["where"]))
    return "".join(parts), page.verdict(False, "No operator makes inf or NaN of finite inputs")


def _timed(folder: Path) -> str:
    rows = read_csv(folder)
    parts = [page.heading("Times", folder)]
    by_op: dict[str, float] = {}
    for row in rows:
        by_op[row.op] = by_op.get(row.op, 0.0) + row.total
    longest = sorted(by_op.items(), key=lambda item: -item[1])[:12]
    parts.append(
        charts.bars([(op, total, f"{total / 1e3:.3g} ms") for op, total in longest], "Longest operators, total in us")
    )
    trace = folder / "trace.json"
    if trace.is_file():
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
        lanes = {one["tid"]: one["args"]["name"] for one in events if one["ph"] == "M"}
        calls = [(lanes[one["tid"]], one["name"], one["ts"], one["dur"], False) for one in events if one["ph"] == "X"]
        parts.append(charts.timeline(calls[: page.MOST * 100], "Timeline of the first calls"))
    cells = [
        [
            row.op,
            row.phase,
            row.shapes,
            str(row.count),
            *(f"{value:.1f}" for value in (row.total, row.mean, row.p50, row.p99)),
        ]
        for row in rows
    ]
    parts.append(
        page.table(["operator", "phase", "shapes", "count", "total us", "mean us", "p50 us", "p99 us"], cells, 3)
    )
    return "".join(parts)


def _bisected(data: dict[str, Any], folder: Path) -> tuple[str, str]:
    parts = [page.heading("Two runs step by step: the device and the CPU", folder)]
    rows = data["rows"]
    losses = {
        name: [(float(row["step"]), row[key]) for row in rows if row[key] is not None]
        for name, key in (("loss on the device", "loss"), ("loss on the CPU", "other_loss"))
    }
    parts.append(charts.lines(losses, "Loss by step"))
    errors = {name: [(float(row["step"]), row[name]) for row in rows] for name in ("gradients", "parameters")}
    parts.append(charts.lines(errors, "Relative deviation of gradients and parameters by step", True))
    cells = []
    for row in rows:
        own = ["" if row[key] is None else f"{row[key]:.8g}" for key in ("loss", "other_loss")]
        deviations = [f"{row[key]:.2g}" if math.isfinite(row[key]) else "inf" for key in ("gradients", "parameters")]
        cells.append([str(row["step"]), *own, *deviations, row["first"]])
    bad = [index for index, row in enumerate(rows) if row["first"]]
    parts.append(
        page.table(["step", "loss", "on the CPU", "gradients", "parameters", "first beyond rounding"], cells, 0, bad)
    )
    finding = data["finding"]
    if finding:
        text = f"The first wrong operator is <b>{escape(finding['op'])}</b>"
        return "".join(parts), page.verdict(True, text, _position(finding["where"]))
    if data["step"] is not None:
        return "".join(parts), page.verdict(
            True, f"The runs differ from step {data['step']} on; no operator is wrong by itself"
        )
    return "".join(parts), page.verdict(False, "The device's run is the CPU's, but for rounding")
