"""The site of the checkout, written once with everything that it can show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pages_read import Page, docs, read_site

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the whole site: with the coverage of a vendor and the changes since a version without Relu."""
    root = tmp_path_factory.mktemp("reference")
    report = {
        "vendor": "acme <1>",
        "functions": [{"name": "diopiRelu", "state": "native"}, {"name": "diopiReluInp", "state": "fallback"}],
    }
    (root / "acme.json").write_text(json.dumps(report))
    old = json.loads((ROOT / "generated/diopi.json").read_text())
    for header in old["headers"]:
        header["functions"] = [one for one in header["functions"] if one["name"] != "diopiRelu"]
    (root / "old.json").write_text(json.dumps(old))
    more = ("--coverage", root / "acme.json", "--against", root / "old.json")
    assert docs("--spec", ROOT / "specs", "--out", root / "site", *more) == 0
    return root / "site"


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[str, Page]:
    """All pages of the site, read."""
    return read_site(site)
