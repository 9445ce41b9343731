"""The table of places in docs/adding-an-operator.md, in both languages, is what the command writes."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from sampling import first

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


@pytest.mark.parametrize("page", first(PAGES))
def test_the_table_is_what_is_written(interface: Interface, page: str) -> None:
    table = _table(page)
    columns = [{path for path, cells in table.items() if cells[number]} for number in range(3)]
    assert columns[0] == _written(interface, "Softplus", "Erf")
    assert columns[1] == _written(interface, "LogMeanExp", "Mean")
    assert columns[2] == columns[1] | {FORMS_FILE}
    assert sum(not path.startswith("tests/") for path in columns[2]) <= MOST


TABLES = {
    "diopigen/config/subject.py": "the operators that shims convert with",
    "diopigen/conformance/collectives/oracle.py": "the oracles of collectives",
    "diopigen/emit/adaptor/library.py": "the members of the C++ struct of these operators",
    "diopigen/vendor/doctor.py": "the texts about a library",
}
"""Sources of the generator that list three operators or more by name, each with what it lists."""


def _lists(path: Path, names: set[str]) -> bool:
    """Returns whether a source has a list, set or mapping with three operators or more."""
    for node in ast.walk(ast.parse(path.read_text())):
        items: list[object] = [*node.keys, *node.values] if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        words = {item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)}
        if len(words & names) >= 3:
            return True
    return False


def test_the_generator_tables_no_operators(interface: Interface) -> None:
    """Properties of an operator are keys of its entry."""
    functions = [function for function in interface.functions if function.header != interface.types_header]
    names = {name for function in functions for name in (function.name, function.short_name)}
    sources = sorted((ROOT / "diopigen").rglob("*.py"))
    assert len(sources) > 300
    found = {path.relative_to(ROOT).as_posix() for path in sources if _lists(path, names)}
    assert found == set(TABLES)
