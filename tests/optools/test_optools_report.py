"""The HTML report: what it has, that it is one file, and that a browser shows it without scrolling sideways."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import browser
import pytest
import torch
from faults import Injected, scaled
from networks import MODELS
from optools.charts import bars, lines, timeline
from optools.comparing import Compare
from optools.overflowing import Overflows
from optools.report import report
from optools.store import FolderError
from optools.timing import Timing


class Page(HTMLParser):
    """Elements that must be closed, and references to other files."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "rect", "line", "circle", "polyline"):
            self.open.append(tag)
        self.problems += [f"{tag} {name}={value}" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        elif tag not in ("rect", "line", "circle", "polyline"):
            self.problems.append(f"</{tag}> in {self.open[-3:]}")

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def folder(tmp_path: Path, device: str) -> Path:
    """The results of three tools."""
    with Injected("_softmax", scaled(1.01)), Compare(folder=tmp_path / "r", quiet=True, accumulated=True):
        MODELS["transformer"](device, 2)
    x = torch.full((4,), 300.0, dtype=torch.float16).to(device)
    with Overflows(folder=tmp_path / "r", quiet=True), Timing(folder=tmp_path / "r"):
        MODELS["half"](device, 3)
        x * x
    return tmp_path / "r"


def test_the_page_is_whole_and_alone(folder: Path) -> None:
    text = report([folder], "a <title>")
    page = Page()
    page.feed(text)
    assert page.problems == [] and page.open == [] and "<script" not in text
    shown = " ".join(page.text)
    for expected in (
        "The first wrong operator is",
        "_softmax",
        "step 0, forward, Transformer, torch.Tensor.softmax",
        "1 calls make inf or NaN of finite inputs",
        "Timeline of the first calls",
        "Largest results over time in float16",
        "a <title>",
        "accumulated",
    ):
        assert expected in shown, expected


def test_folders_of_ranks_are_sections(folder: Path, tmp_path: Path) -> None:
    for rank in (0, 1):
        shutil.copytree(folder, tmp_path / f"both/rank{rank}")
    text = report([tmp_path / "both"])
    assert text.count("Operators compared with the CPU") == 2 and "both/rank1" in text


def test_folders_without_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="no folder has results of compare, overflow, time or bisect"):
        report([tmp_path])


def test_charts_of_odd_values() -> None:
    for text in (
        bars([("a", 0.0, "0"), ("b", float("inf"), "inf"), ("c", 1e-9, "x")], "bars", 1.0),
        lines({"one": [(0, 1.0)], "none": []}, "lines"),
        lines({"flat": [(0, 2.0), (1, 2.0), (2, float("nan"))]}, "flat", True, 4.0),
        timeline([("forward", "mm", 0.0, 0.0, True)], "calls"),
    ):
        page = Page()
        page.feed(text)
        assert page.problems == [] and page.open == [] and "nan" not in text
    assert (
        "nothing to show" in bars([], "bars") and "nothing to show" in lines({}, "x") and "nothing" in timeline([], "x")
    )


HARNESS = """<!doctype html><pre id="result"></pre><script>
const found = [];
async function run() {
  for (const width of [360, 768, 1280]) {
    const frame = document.createElement("iframe");
    frame.style = `width: ${width}px; height: 700px`;
    const loaded = new Promise(done => { frame.onload = done; });
    frame.src = "report.html";
    document.body.append(frame);
    await loaded;
    const inside = frame.contentDocument;
    for (const one of inside.querySelectorAll("details")) one.open = true;
    const boxes = [...inside.querySelectorAll("svg rect")].filter(box => box.getBoundingClientRect().width > 0).length;
    found.push([width, inside.scrollingElement.scrollWidth, boxes]);
  }
}
run().catch(error => { found.push(String(error)); })
     .then(() => { document.getElementById("result").textContent = JSON.stringify(found); });
</script>"""


@pytest.mark.slow
def test_a_browser_shows_it_at_three_widths(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(report([folder]))
    shown, _ = browser.in_frames(tmp_path, HARNESS)
    for asked, width, boxes in shown:
        assert width <= asked and boxes > 50, shown
    assert browser.faults(browser.examined(tmp_path, ["report.html"])) == []


@pytest.mark.slow
def test_the_command_writes_the_page(tmp_path: Path, optools: Callable[..., Any]) -> None:
    (tmp_path / "train.py").write_text("import torch\ntorch.ones(3) + 1\n")
    optools("compare", "train.py")
    assert "optools: page.html" in optools("report", "optools_compare", "--out", "page.html").stdout
    assert "no operator is wrong" in (tmp_path / "page.html").read_text()
    assert "no folder has results" in optools("report", "nothing", code=2).stderr


@pytest.mark.slow
def test_the_effect_of_each_operator_on_the_loss(tmp_path: Path, optools: Callable[..., Any]) -> None:
    (tmp_path / "train.py").write_text(
        "import os\nfrom networks import MODELS\nfrom faults import Injected, scaled\n"
        "Injected('gelu', scaled(1.1), phases='forward').start()\n"
        "MODELS['perceptron'](os.environ['OPTOOLS_TEST_DEVICE'], 2)\n"
    )
    done = optools("effect", "--ops", "addmm,gelu", "train.py")
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [row[0] for row in rows] == ["gelu", "addmm"]
    assert float(rows[0][3]) > 1e-4 and float(rows[1][3]) < 1e-5
