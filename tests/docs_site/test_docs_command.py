"""`diopigen docs` over a miniature spec: what it writes follows from its inputs, and bad input is rejected."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from pages_read import docs, read_page, read_site

from diopigen import api
from diopigen.diagnostics import Sink
from diopigen.ir.model import Interface

MINIATURE = Path(__file__).parents[1] / "data/miniature"


@pytest.fixture(scope="module")
def miniature() -> Interface:
    """The interface of the miniature spec."""
    return api.load(api.workspace(str(MINIATURE)), Sink(), check=False).interface


def contents(root: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_counts_follow_from_the_interface(miniature: Interface, tmp_path: Path) -> None:
    assert docs("--spec", MINIATURE, "--out", tmp_path, "--cases") == 0
    pages = read_site(tmp_path)
    operators = {function.operator for function in miniature.functions}
    families = {function.family for function in miniature.functions}
    assert {path for path in pages if path.startswith("operators/")} == {f"operators/{one}.html" for one in operators}
    text = " ".join(pages["index.html"].text.split())
    assert f"{len(operators)} Operators {len(miniature.functions)} Functions {len(families)} Families" in text
    for family in families:
        own = [function for function in miniature.functions if function.family == family]
        expected = f"{len({one.operator for one in own})} Operators, {len(own)} Functions"
        assert expected in pages[f"families/{family}.html"].text
    assert not any(path.startswith("documents/") for path in pages), "the miniature has no project around it"
    assert [fault for page in pages.values() for fault in page.faults] == []


def test_the_same_inputs_give_the_same_bytes(tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "specs"
    shutil.copytree(MINIATURE, copy)
    assert docs("--spec", MINIATURE, "--out", tmp_path / "one") == 0
    assert docs("--spec", copy, "--out", tmp_path / "two") == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_check_and_dry_run_write_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "site"
    assert docs("--spec", MINIATURE, "--out", out, "--dry-run") == 0
    assert docs("--spec", MINIATURE, "--out", out, "--check") == 1
    assert not out.exists()
    assert docs("--spec", MINIATURE, "--out", out) == 0
    assert docs("--spec", MINIATURE, "--out", out, "--check") == 0
    page = out / "index.html"
    page.write_text(page.read_text() + "<!-- by hand -->")
    edited = contents(out)
    capfd.readouterr()
    assert docs("--spec", MINIATURE, "--out", out, "--check") == 1
    assert "index.html" in capfd.readouterr().err
    assert docs("--spec", MINIATURE, "--out", out) == 1, "what a person edited is kept"
    assert contents(out) == edited
    assert docs("--spec", MINIATURE, "--out", out, "--force") == 0


def test_text_of_the_spec_is_no_markup(tmp_path: Path) -> None:
    spec = tmp_path / "specs"
    shutil.copytree(MINIATURE, spec)
    source = spec / "ops/arithmetic.yaml"
    lines = source.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("  - name: "))
    doc = next(number for number in range(first, len(lines)) if lines[number].strip().startswith("doc: "))
    evil = "<script>alert(1)</script> <i>a</i> &amp; {{ 7 * 7 }}."
    lines[doc] = f"{lines[doc].partition('doc: ')[0]}doc: '{evil}'"
    source.write_text("\n".join(lines) + "\n")
    assert docs("--spec", spec, "--out", tmp_path / "site") == 0
    page = read_page(tmp_path / "site/operators" / f"{lines[first].partition('name: ')[2]}.html")
    assert evil in page.text
    assert page.faults == [] and page.tags.count("script") == 2 and "i" not in page.tags


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "has no 'vendor'"),
        ('{"vendor": "acme"}', "has no list 'functions'"),
        ('{"vendor": "acme", "functions": [3]}', "entry 1 of 'functions' has no 'name' and 'state'"),
        ('{"vendor": "acme", "functions": [{"name": "diopiAdd", "state": "good"}]}', "'good' is none of native"),
        (b"\xff\xfe", "is no JSON"),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_coverage_file_is_rejected(
    content: str | bytes | None, expected: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coverage.json"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert docs("--spec", MINIATURE, "--out", tmp_path / "site", "--coverage", file) == 2
    said = capfd.readouterr().err
    assert expected in said and "coverage.json" in said and "Traceback" not in said
    assert not (tmp_path / "site").exists()


def test_a_coverage_report_is_read_back(tmp_path: Path) -> None:
    from diopigen.vendor.coverage import Coverage, FunctionCoverage
    from diopigen.vendor.coverage_file import read_coverage

    functions = (FunctionCoverage("diopiAdd", "x", "shim", False), FunctionCoverage("diopiSub", "x", "missing", True))
    file = tmp_path / "coverage.json"
    file.write_text(json.dumps(Coverage("acme", functions, (), ()).as_json()))
    found = read_coverage(file)
    assert (found.vendor, found.states) == ("acme", {"diopiAdd": "shim", "diopiSub": "missing"})


def project(root: Path, readme: str) -> Path:
    """A project with documents around the miniature spec."""
    shutil.copytree(MINIATURE, root / "specs")
    (root / "docs").mkdir()
    (root / "README.md").write_text(readme)
    (root / "docs/two.md").write_text("# Two\n\n## A *b* `c`, d!\n\n## A *b* `c`, d!\n\n<img src=x>\n")
    return root


def test_documents_link_to_each_other(miniature: Interface, tmp_path: Path) -> None:
    name = miniature.functions[0].name
    text = (
        f"# One\n\n[two](docs/two.md#a-b-c-d-1) [file](specs/types.yaml) [out](https://example.org)\n\n"
        f"`{name}` `other`\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n![picture](https://example.org/x.png)\n"
    )
    root = project(tmp_path / "project", text)
    assert docs("--spec", root / "specs", "--out", tmp_path / "site") == 0
    one, two = (read_page(tmp_path / "site/documents" / position) for position in ("README.html", "docs/two.html"))
    assert {"docs/two.html#a-b-c-d-1", "https://example.org"} <= set(one.links)
    assert f"../operators/{miniature.functions[0].operator}.html#{name}" in one.links
    assert not any("types.yaml" in link for link in one.links) and "file" in one.text
    assert "img" not in one.tags + two.tags and "<img src=x>" in two.text
    assert {"a-b-c-d", "a-b-c-d-1"} <= set(two.anchors)
    assert one.faults + two.faults == []


def test_a_link_out_of_the_project_is_rejected(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    root = project(tmp_path / "project", "# One\n\ntext\n\n[x](../../secret.md)\n")
    assert docs("--spec", root / "specs", "--out", tmp_path / "site") == 2
    assert "README.md:5" in capfd.readouterr().err


def test_without_the_library_for_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    root = project(tmp_path / "project", "# One\n")
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    assert docs("--spec", root / "specs", "--out", tmp_path / "site") == 2
    assert "pip install 'diopigen[docs]'" in capfd.readouterr().err
    assert docs("--spec", root / "specs", "--out", tmp_path / "site", "--no-documents") == 0


def test_an_old_version_that_cannot_be_read(tmp_path: Path) -> None:
    assert docs("--spec", MINIATURE, "--out", tmp_path / "site", "--against", tmp_path / "none.json") == 2
