"""The elements of the report in a browser: all that it has, without what tools measure with torch."""

from __future__ import annotations

from pathlib import Path

import browser

from optools import charts, page

LONG = "transformer.encoder.layers.11.self_attn.out_proj " * 4


def test_axe_has_no_serious_finding(tmp_path: Path) -> None:
    bars = [("aten.add.Tensor", 3.0, "3"), ("aten._softmax.default", 0.2, "0.2"), (LONG, float("inf"), "inf")]
    losses = {f"loss {number}": [(float(step), step + number) for step in range(5)] for number in range(7)}
    calls = [("forward", "mm", 0.0, 4.0, False), ("backward", "add", 4.0, 9.0, True)]
    cells = [[LONG, *("1.25" for _ in range(12))] for _ in range(page.MOST + 3)]
    parts = [
        page.verdict(True, "2 wrong calls. The first wrong operator is <b>add</b>", LONG),
        page.verdict(False, "No operator is wrong"),
        page.heading("Operators compared with the CPU", Path("results/rank0")),
        charts.bars(bars, "Worst operators: error over its bound", 1.0),
        charts.lines(losses, "Loss by step", True, 3.0),
        charts.timeline(calls, "Timeline of the first calls"),
        page.finding(f"add, {LONG}", f"operands: {LONG}"),
        page.table(["operator", *(f"column {number}" for number in range(12))], cells, bad=[0]),
    ]
    (tmp_path / "report.html").write_text(page.document("optools", "torch 2; results", parts), encoding="utf-8")
    assert browser.faults(browser.examined(tmp_path, ["report.html"])) == []
