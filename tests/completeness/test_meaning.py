"""tests/data/meaning.yaml: every function whose meaning no ATen overload fixes has one row, no row is stale, and
docs/meaning.md has these rows."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import meaning_table as meaning
import pytest
import yaml

from diopigen.conformance.cases.suite import tested as functions_of
from diopigen.ir.model import Function, Interface


def _arguments(schema: str) -> list[str]:
    """The arguments that a schema reads: all but those that it writes."""
    text = schema[schema.index("(") + 1 : schema.rindex(") ->")]
    arguments = re.split(r", (?![^\[(]*[\])])", text)
    return [one for one in arguments if one and one != "*" and "!" not in one]


def _read(function: Function) -> list[str]:
    """The parameters that a call reads, without the lengths of arrays."""
    lengths = {str(param.count) for param in function.params if param.count}
    return [param.name for param in function.params if param.direction == "in" and param.name not in lengths]


def _is_open(interface: Interface, function: Function) -> bool:
    """Returns whether the function has no ATen overload, or reads more than each of its overloads."""
    return all(
        len(_read(function)) > len(_arguments(interface.aten.schemas[overload.name])) + len(overload.constants)
        for overload in function.aten
    )


def test_every_function_that_no_overload_fixes_has_one_row(interface: Interface) -> None:
    functions = {function.short_name: function for function in functions_of(interface)}
    every = Counter(row.function for row in meaning.rows())
    # Later versions of the interface were not published.
    needed = {name for name, function in functions.items() if function.since == "1.0" and _is_open(interface, function)}
    assert len(needed) > 200 and {"RMSNorm", "EmbeddingBackward", "CTCLossBackward", "InstanceNorm"} <= needed
    assert sorted(needed - set(every)) == [], "functions without a row"
    assert [name for name, count in every.items() if count > 1] == []
    assert sorted(set(every) - set(functions)) == [], "rows of functions that do not exist"


def test_no_row_is_stale(interface: Interface) -> None:
    """A function with an overload has a row only where it differs or was fixed."""
    stale = [
        row.function
        for row in meaning.rows()
        if row.status not in ("differs", "fixed")
        and not _is_open(interface, interface.function(f"diopi{row.function}") or pytest.fail(row.function))
    ]
    assert stale == []


def test_the_page_has_the_rows() -> None:
    text = meaning.PAGE.read_text(encoding="utf-8")
    assert text == meaning.page(text, meaning.rows()), "run tests/completeness/meaning_table.py"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "unknown"}, "an unknown key or status"),
        ({"reason": "x"}, "an unknown key or status"),
        ({"status": "differs"}, "'note' is missing"),
        ({"functions": {"Add": []}}, "'source' is missing"),
        ({"status": "absent", "source": "mmcv"}, "absent, implemented by"),
    ],
)
def test_an_incomplete_row_is_rejected(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    entry = {"functions": {"Add": ["torch"]}, "compared": "x", "status": "agrees", **changes}
    path = tmp_path / "meaning.yaml"
    path.write_text(yaml.safe_dump([{"family": "x", "rows": [entry]}]))
    with pytest.raises(ValueError, match=message):
        meaning.rows(path)
