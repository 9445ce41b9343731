"""The page of coverage in a browser."""

from __future__ import annotations

from pathlib import Path

import browser

from diopigen.api import workspace
from diopigen.vendor.coverage import STATES, Coverage, FunctionCoverage, ModelCoverage, Suggestion
from diopigen.vendor.coverage_text import as_page
from diopigen.vendor.fallbacks import Fallback

NAMES = tuple(f"diopiCustomizedFlashAttentionVarLenBackward{number}" for number in range(12))
MODELS = (
    ModelCoverage("resnet50", "an <image>", {"native": 90, "shim": 5, "fallback": 5}, (), NAMES, ()),
    ModelCoverage("served_7b", "words", {"missing": 3}, NAMES[:1], (), ("rsub.Scalar",)),
)
REPORT = Coverage(
    "acme",
    tuple(
        FunctionCoverage(name, "attention", state, state == "fallback")
        for name, state in zip(NAMES, 3 * [*STATES], strict=False)
    ),
    MODELS,
    tuple(Suggestion(name, "fallback", ("resnet50", "served_7b"), 0.25) for name in NAMES),
    (Fallback(NAMES[0], "add.out", "diopiErrorOccurred", "input: dtype float64 is not one of " + ", ".join(NAMES), 7),),
)


def test_axe_has_no_serious_finding(tmp_path: Path) -> None:
    (tmp_path / "coverage.html").write_bytes(as_page(REPORT, workspace().templates))
    assert browser.faults(browser.examined(tmp_path, ["coverage.html"])) == []


def test_heads_sort_and_the_filter_hides(tmp_path: Path) -> None:
    (tmp_path / "coverage.html").write_bytes(as_page(REPORT, workspace().templates))
    found, printed = browser.in_frames(tmp_path, HARNESS)
    states = [STATES_OF[name] for name in NAMES]
    assert found == {"rising": sorted(states), "falling": sorted(states)[::-1], "hidden": 12 - states.count("shim")}
    assert "CONSOLE" not in printed


STATES_OF = {function.name: function.state for function in REPORT.functions}
HARNESS = """<!doctype html><pre id="result"></pre><iframe src="coverage.html"></iframe><script>
onload = () => {
  const inside = document.querySelector("iframe").contentDocument, table = inside.getElementById("functions");
  const states = () => [...table.tBodies[0].rows].map(row => row.cells[2].textContent);
  const head = table.tHead.rows[0].cells[2], found = {};
  head.click();
  found.rising = states();
  head.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter"}));
  found.falling = states();
  const filter = inside.getElementById("filter");
  filter.value = "shim";
  filter.dispatchEvent(new Event("input"));
  found.hidden = [...table.tBodies[0].rows].filter(row => row.hidden).length;
  document.getElementById("result").textContent = JSON.stringify(found);
};
</script>"""
