"""Batch invariance: rows are compared with and without the others, and a chip may declare that they are the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from diopigen.chip.accuracy import Declaration, invariance_of
from diopigen.cli import cli
from diopigen.conformance.cases.rows import row_calls
from diopigen.conformance.dtypes import encode
from diopigen.conformance.run.batch import BatchCheck, _distance
from diopigen.ir.model import Interface


def test_rows_of_operands_are_those_that_the_results_follow(interface: Interface) -> None:
    """Weights that happen to have as many rows as the batch are none of it: the oracle's results tell."""
    check = BatchCheck(interface, seed=0, limit=20)
    expected = {"diopiMm": {"out", "input"}, "diopiBmm": {"out", "input", "mat2"}}
    expected["diopiConvolution2d"] = {"out", "input"}
    for name, batched in expected.items():
        function = interface.function(name)
        assert function is not None
        ways = next(row_calls(interface, function, 0))
        independent = [set(one.batched) for one in ways if check.rows.is_independent(function, one)]
        assert independent[0] == batched


def test_a_row_that_depends_on_the_batch_is_named(
    tiny_library: Path, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Relu has another factor for one row in float64; the chip declares that no row depends on the others."""
    chip, report = tmp_path / "chip.yaml", tmp_path / "report.json"
    head = "chip: tiny\ndoc: A chip.\ndtypes: [float32, float64]\nmax_rank: 8\nalignment: 64\naccuracy:\n"
    chip.write_text(f"{head}  - functions: [diopiRelu]\n    batch_invariant: true\n")
    command = ["conformance", "batch", "--lib", str(tiny_library), "--runtime", str(runtime), "--ops", "Relu"]
    command += ["--ops", "diopiLogicalNot", "--vendor", f"chip={chip}", "--json", str(report)]
    monkeypatch.setenv("TINY_FAULT", "one row")
    found = CliRunner().invoke(cli, command)
    assert found.exit_code == 1, found.output
    assert "2 functions: 1 batch invariant, 1 vary" in found.output
    assert f"DECLARED diopiRelu is batch invariant by {chip}:7, and is not" in found.output
    relu = next(one for one in json.loads(report.read_text()) if one["function"] == "diopiRelu")
    assert {one["case"].split("/")[1] for one in relu["differences"]} == {"float64"}
    assert all(2 <= one["ulps"] <= 4 and one["rows"][1] - one["rows"][0] == 1 for one in relu["differences"])


def test_the_most_specific_declaration_counts(interface: Interface) -> None:
    function = interface.function("diopiMm")
    assert function is not None
    every = Declaration(batch_invariant=True)
    assert invariance_of([every], function, "float32") == every
    assert invariance_of([every, Declaration(("diopiMm",), batch_invariant=False)], function, "float32") is None
    assert invariance_of([Declaration(dtypes=("float16",), batch_invariant=True)], function, "float32") is None


def test_a_distance_counts_elements_and_units() -> None:
    before, now = (encode(np.array(one), "float32") for one in ([1.0, 2.0, np.nan], [1.0 + 2**-22, 2.0, np.nan]))
    assert _distance(before, now, "float32") == (1, 2.0)
