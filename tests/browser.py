"""Pages in Chromium: the text of one once its scripts have run, and what axe-core finds in many at several widths."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from programs import absent, program

VIEWS = ((390, "light"), (768, "dark"), (1280, "light"))
"""Widths and colour schemes. What is wide does not depend on colours, and contrast does not depend on the width."""
SERIOUS = ("serious", "critical")
WHEEL = "axe_playwright_python-0.1.8-py3-none-any.whl"
REQUIREMENT = (
    "axe-playwright-python==0.1.8 --hash=sha256:fdd263c998388f1a8e67cad02677e612d946248bd44d163be5e8650ea31f95f8\n"
)
"""This wheel brings axe-core, which is published for npm, so that no test needs Node. Its `axe.min.js` is that of the
npm package axe-core 4.12.1 with a newline at its end."""
SAVED = Path(__file__).resolve().parent.parent / "build/axe"
HARNESS = """<!doctype html><meta charset="utf-8"><pre id="result"></pre><script>
const found = [];
const opened = (page, width, scheme) => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 800px; border: 0; color-scheme: ${scheme}`;
  frame.onload = () => done(frame);
  frame.src = page;
  document.body.append(frame);
});
async function run() {
  for (const page of PAGES) for (const [width, scheme] of VIEWS) {
    const frame = await opened(page, width, scheme);
    const view = frame.contentWindow, inside = frame.contentDocument;
    for (const one of inside.querySelectorAll("details")) one.open = true;
    const script = inside.createElement("script");
    script.textContent = AXE;
    inside.head.append(script);
    const {violations} = await view.axe.run(inside, {resultTypes: ["violations"]});
    found.push({page, width, scheme, needed: inside.scrollingElement.scrollWidth,
      dark: view.matchMedia("(prefers-color-scheme: dark)").matches,
      violations: violations.map(one => ({rule: one.id, impact: one.impact, count: one.nodes.length,
        such_as: one.nodes.slice(0, 3).map(node => node.html.slice(0, 200) + " " + node.failureSummary)}))});
    frame.remove();
  }
}
run().catch(error => { found.push({error: String(error)}); })
     .then(() => { document.getElementById("result").textContent = JSON.stringify(found); });
</script>"""


def chromium(address: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """The text of a page once its scripts have run, and what the browser printed."""
    browser = program("chromium", "chromium")
    with tempfile.TemporaryDirectory(prefix="diopigen-browser-") as profile:
        command = [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--lang=en-US",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={profile}", "--virtual-time-budget=60000", "--dump-dom", *flags, address,
        ]  # fmt: skip
        return subprocess.run(command, capture_output=True, text=True, check=False)


def in_frames(folder: Path, harness: str) -> tuple[Any, str]:
    """JSON that a page's script writes to its element `result`, and the browser's output. The script may open the pages
    in `folder` in frames and look into them."""
    with tempfile.NamedTemporaryFile("w", suffix=".html", dir=folder, encoding="utf-8") as file:
        file.write(harness)
        file.flush()
        done = chromium(Path(file.name).as_uri(), "--allow-file-access-from-files")
    result = re.search(r'<pre id="result">(.+?)</pre>', done.stdout, re.DOTALL)
    assert result is not None, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(html.unescape(result[1])), done.stderr


def axe() -> str:
    """The script of axe-core, which pip fetches once to build/axe; the test is skipped where it cannot."""
    wheel = SAVED / WHEEL
    if not wheel.is_file():
        SAVED.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=SAVED) as folder:
            (Path(folder) / "required.txt").write_text(REQUIREMENT)
            command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps"]
            done = subprocess.run(
                [*command, "--require-hashes", "--requirement", "required.txt", "--dest", "."],
                cwd=folder, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode != 0:
                absent(f"axe-core is missing: pip cannot fetch it: {done.stderr.strip().splitlines()[-1:]}")
            (Path(folder) / WHEEL).replace(wheel)
    with zipfile.ZipFile(wheel) as archive:
        return archive.read("axe_playwright_python/axe.min.js").decode()


def examined(folder: Path, pages: Sequence[str]) -> list[dict[str, Any]]:
    """For each page of `folder` (with a fragment, if any) and each of `VIEWS`: `needed`, the width that the page
    takes, whether it is `dark`, and the `violations` that axe-core finds."""
    source = json.dumps(axe()).replace("<", "\\u003c")
    constants = {"PAGES": json.dumps(pages), "VIEWS": json.dumps(VIEWS)}
    declared = ", ".join(f"{name} = {value}" for name, value in {**constants, "AXE": source}.items())
    found, _ = in_frames(folder, HARNESS.replace("<script>", f"<script>const {declared};", 1))
    assert isinstance(found, list) and len(found) == len(pages) * len(VIEWS), found[-1]
    return found


def faults(found: Sequence[dict[str, Any]]) -> list[str]:
    """Defects of pages: horizontal scrolling, a wrong colour scheme, and serious or critical findings of axe-core."""
    lines = []
    for one in found:
        where = f"{one['page']} at {one['width']} in {one['scheme']}"
        if one["needed"] > one["width"]:
            lines.append(f"{where}: {one['needed']} px wide")
        if one["dark"] != (one["scheme"] == "dark"):
            lines.append(f"{where}: the scheme is another")
        lines += [
            f"{where}: {each['rule']}, {each['count']} times: {each['such_as']}"
            for each in one["violations"]
            if each["impact"] in SERIOUS
        ]
    return lines
