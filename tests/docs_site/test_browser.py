"""The site in Chromium, opened from files: no page scrolls sideways at three widths, no script fails, and what scripts
do is done. axe-core has no serious finding on a page of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import browser
import pytest
import sampling

WIDTHS = (360, 768, 1280)
PAGES = (
    "index.html",
    "rules.html",
    "types.html",
    "models.html",
    "changes.html",
    "families/detection.html",
    "operators/Convolution2d.html",
    "operators/Add.html",
    "operators/AdaptiveMaxPool2dWithIndices.html",
    "operators/CustomizedFlashAttentionVarLenBackward.html",
    "documents/README.html",
    "documents/docs/spec.html",
    "documents/docs/bring-up.zh-CN.html",
)
ONE_OF_EACH_KIND = (
    "index.html", "types.html", "models.html", "changes.html", "families/sorting.html", "operators/Relu.html",
    "documents/docs/bring-up.zh-CN.html",
)  # fmt: skip
HARNESS = """<!doctype html><meta charset="utf-8"><pre id="result"></pre><script>
const found = {wide: [], words: {}};
const opened = (page, width) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 700px`;
  frame.onload = () => done(frame);
  frame.src = page;
  document.body.append(frame);
});
const wait = time => new Promise(done => setTimeout(done, time));
async function run() {
  for (const page of PAGES) for (const width of WIDTHS) {
    const frame = await opened(page, width);
    const inside = frame.contentDocument;
    for (const one of inside.querySelectorAll("details")) one.open = true;
    const root = inside.scrollingElement;
    if (root.scrollWidth > width) found.wide.push([page, width, root.scrollWidth]);
    frame.remove();
  }
  const frame = await opened("operators/Relu.html#diopiReluInp.input", 1280);
  const view = frame.contentWindow, inside = frame.contentDocument;
  const query = inside.getElementById("query");
  found.detailsOpen = inside.getElementById("diopiReluInp.input").closest("details").open;
  inside.body.dispatchEvent(new view.KeyboardEvent("keydown", {key: "/", bubbles: true}));
  found.focused = inside.activeElement === query;
  for (const text of ["softmax", "native_batch_norm", "grad_output lossless", "zzz", "diopiAddInp"]) {
    query.value = text;
    query.dispatchEvent(new view.Event("input", {bubbles: true}));
    await wait(100);
    found.words[text] = [...inside.querySelectorAll("#results a")].slice(0, 5).map(link => link.getAttribute("href"));
  }
  inside.getElementById("language").click();
  found.chinese = [inside.documentElement.lang, inside.querySelector("#parameters").textContent, query.placeholder];
  const before = view.getComputedStyle(inside.body).backgroundColor;
  inside.getElementById("theme").click();
  found.themes = [before, view.getComputedStyle(inside.body).backgroundColor];
  frame.remove();
  const again = await opened("operators/Add.html", 360);
  found.remembered = [again.contentDocument.documentElement.lang, again.contentDocument.documentElement.dataset.theme];
  const menu = again.contentDocument.querySelector("nav");
  found.menu = [again.contentWindow.getComputedStyle(menu).display];
  again.contentDocument.getElementById("menu").click();
  found.menu.push(again.contentWindow.getComputedStyle(menu).display);
}
run().catch(error => { found.error = String(error); })
     .then(() => { document.getElementById("result").textContent = JSON.stringify(found); });
</script>"""


@pytest.fixture(scope="module")
def seen(site: Path) -> Any:
    """Findings of the browser, with its output. It starts once."""
    constants = f"const PAGES = {json.dumps(PAGES)}, WIDTHS = {json.dumps(WIDTHS)};"
    found, printed = browser.in_frames(site, HARNESS.replace("<script>", f"<script>{constants}", 1))
    return found | {"printed": printed}


def test_no_page_scrolls_sideways(seen: Any) -> None:
    assert seen["wide"] == []


def test_no_script_fails(seen: Any) -> None:
    assert "error" not in seen
    assert [line for line in seen["printed"].splitlines() if "CONSOLE" in line] == []


def test_the_search(seen: Any) -> None:
    words = seen["words"]
    assert seen["focused"], "the key / leads to the search"
    assert words["softmax"][0] == "../operators/Softmax.html"
    assert "../operators/BatchNorm.html" in words["native_batch_norm"]
    assert words["diopiAddInp"][0] == "../operators/Add.html"
    assert words["zzz"] == [] and words["grad_output lossless"] == []


def test_language_and_theme_are_switched_and_remembered(seen: Any) -> None:
    assert seen["chinese"] == ["zh-CN", "参数", "搜索算子"]
    before, after = seen["themes"]
    assert before != after
    assert seen["remembered"] == ["zh-CN", "dark"]


def test_the_menu_of_a_phone_and_closed_details_open(seen: Any) -> None:
    assert seen["menu"] == ["none", "block"]
    assert seen["detailsOpen"] is True


def test_axe_has_no_serious_finding(site: Path) -> None:
    assert browser.faults(browser.examined(site, ONE_OF_EACH_KIND[:: 1 if sampling.RUNS_ALL else 3])) == []
