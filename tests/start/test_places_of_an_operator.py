"""The table of places in docs/adding-an-operator.md, in both languages, is what the command writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from diopigen import api
from diopigen.completeness.sources import FORMS_FILE
from diopigen.ir.model import Interface
from diopigen.start.operator import start

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["adding-an-operator.md", "adding-an-operator.zh-CN.md"]
MOST = 5
"""Places of a reduction, a fused form included, besides its test."""


def _table(page: str) -> dict[str, tuple[str, str, str]]:
    """The cells of the columns by the path of a row."""
    rows = re.findall(r"^\|(.*)\|$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
    cells = [tuple(cell.strip() for cell in row.split("|")) for row in rows]
    found = {re.findall(r"`([^`]+)`", row[0])[0]: row[1:] for row in cells if "`" in row[0]}
    return {path: (one, two, three) for path, (one, two, three) in found.items()}


def _written(interface: Interface, name: str, like: str) -> set[str]:
    """The places of an operator, as the page writes them."""
    where = api.Workspace(ROOT / "specs", ROOT / "templates", "specs")
    started = start(interface, where, name, like, backward=False)
    (begun,) = started.operators
    paths = {*started.files, *(f"specs/{path}" for path in started.spec)}
    found = {re.sub(rf"\b(test_)?{begun.stem}\.", r"\1NAME.", path) for path in paths}
    return {
        re.sub(r"functions/\w+/", "functions/FAMILY/", re.sub(r"^specs/ops/.*", "specs/ops", path)) for path in found
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_table_is_what_is_written(interface: Interface, page: str) -> None:
    table = _table(page)
    columns = [{path for path, cells in table.items() if cells[number]} for number in range(3)]
    assert columns[0] == _written(interface, "Softplus", "Erf")
    assert columns[1] == _written(interface, "LogMeanExp", "Mean")
    assert columns[2] == columns[1] | {FORMS_FILE}
    assert sum(not path.startswith("tests/") for path in columns[2]) <= MOST


def test_no_source_of_the_generator_names_an_operator_to_fuse_or_compose_it(interface: Interface) -> None:
    """These names are keys of entries."""
    named = {f.name for f in interface.functions if f.fused or f.planned or f.composite}
    sources = [ROOT / "diopigen/emit/torch/compiled.py", ROOT / "diopigen/emit/adaptor/composite.py"]
    literals = {word for path in sources for word in re.findall(r'"(diopi\w+)"', path.read_text())}
    copies = {"diopiCopyInp", "diopiCastDtype"}
    assert literals & named == copies
