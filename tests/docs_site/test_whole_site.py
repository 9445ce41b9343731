"""The site of the whole interface: complete, well formed, and without a dead link."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
from pathlib import Path
from urllib.parse import unquote

import yaml
from pages_read import Page

from diopigen.ir.model import Interface
from diopigen.rulebook.rules import all_rules

ROOT = Path(__file__).resolve().parents[2]
EXTERNAL = re.compile(r"[a-z]+:", re.IGNORECASE)


def test_every_function_has_its_position(pages: dict[str, Page], interface: Interface) -> None:
    for function in interface.functions:
        page = pages[f"operators/{function.operator}.html"]
        expected = {function.name, *(f"{function.name}.{param.name}" for param in function.params)}
        expected |= {f"{function.name}.{one.id}" for one in function.constraints}
        assert expected <= set(page.anchors), function.name
        assert function.name in page.text and function.doc.strip() in page.text
        for constraint in function.constraints:
            assert constraint.error in page.text
        for overload in function.aten:
            assert overload.name in page.text


def test_families_rules_and_documents_have_pages(pages: dict[str, Page], interface: Interface) -> None:
    assert {f"families/{function.family}.html" for function in interface.functions} <= set(pages)
    assert set(all_rules()) <= set(pages["rules.html"].anchors)
    listed = subprocess.run(["git", "ls-files", "docs/*.md"], cwd=ROOT, check=True, capture_output=True, text=True)
    names = ["README.md", "README.zh-CN.md", *listed.stdout.split()]
    assert {f"documents/{name.removesuffix('.md')}.html" for name in names} <= set(pages)


def test_pages_are_well_formed(pages: dict[str, Page]) -> None:
    assert {path: page.faults for path, page in pages.items() if page.faults} == {}
    for path, page in pages.items():
        assert [page.tags.count(tag) for tag in ("header", "nav", "main", "footer", "title")] == [1] * 5, path
        assert page.tags.count("h1") >= 1, path


def test_no_link_is_dead(pages: dict[str, Page], site: Path) -> None:
    dead = []
    for path, page in pages.items():
        for link in page.links:
            if EXTERNAL.match(link):
                continue
            name, _, anchor = unquote(link).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
            if target not in pages or (anchor and anchor not in pages[target].anchors):
                dead.append(f"{path}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, Page], site: Path) -> None:
    for path, page in pages.items():
        for name in page.loaded:
            assert name == "data:," or (site / path).parent.joinpath(name).is_file(), f"{path}: {name}"
    for asset in ("site.css", "site.js"):
        text = (site / "assets" / asset).read_text()
        assert not re.findall(r"https?:|@import|url\(|fetch\(", text)


def test_the_search_finds_everything(site: Path, pages: dict[str, Page], interface: Interface) -> None:
    text = (site / "assets/search-index.js").read_text()
    rows = json.loads(text.removeprefix("window.DIOPI_INDEX = ").rstrip().removesuffix(";"))
    by_page = {href: (set(names.split()), set(words.split())) for _, _, href, _, names, words in rows}
    for function in interface.functions:
        names, words = by_page[f"operators/{function.operator}.html"]
        assert {function.name.lower(), *(one.name.lower() for one in function.aten)} <= names
        assert {function.family, *(param.name.lower() for param in function.params)} <= words
    for href in by_page:
        path, _, anchor = href.partition("#")
        assert path in pages and (not anchor or anchor in pages[path].anchors), href
    assert {page for page in pages if page.startswith(("operators/", "families/", "documents/"))} <= set(by_page)


def test_coverage_and_changes_are_shown(pages: dict[str, Page]) -> None:
    relu = pages["operators/Relu.html"].text
    assert "acme <1>: native" in relu and "acme <1>: fallback" in relu
    assert "'diopiRelu' is new" in pages["changes.html"].text
    assert "../operators/Relu.html" not in pages["changes.html"].links
    assert "operators/Relu.html#diopiRelu" in pages["changes.html"].links


def test_models_are_shown_with_their_shapes(pages: dict[str, Page]) -> None:
    table = yaml.safe_load((ROOT / "specs/models/resnet50.yaml").read_text())
    for call in table["calls"]:
        if call["function"] in ("Convolution2d", "Relu", "BatchNorm"):
            page = pages[f"operators/{call['function']}.html"]
            assert f"input: {call['arguments']['input']}" in page.text
            assert "model-resnet50" in page.anchors and "../models.html#resnet50" in page.links
