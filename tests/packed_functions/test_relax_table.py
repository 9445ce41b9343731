"""The table of Relax operators: what the spec says, and that the installed TVM has these operators and attributes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diopigen.emit.tvm.entries import entries
from diopigen.ir.model import Interface

TABLE = Path(__file__).resolve().parents[2] / "generated/tvm/relax.json"


def test_the_table_has_every_argument_of_a_packed_function(interface: Interface) -> None:
    table = json.loads(TABLE.read_text())
    assert set(table["operators"]) == set(entries(interface))
    (norm,) = table["operators"]["nn.batch_norm"]
    values = ["x0", "x1", "x2", "x3", "x4", "training", "momentum", "epsilon"]
    assert (norm["function"], norm["arguments"]) == ("diopiBatchNorm", values)
    assert norm["destinations"] == ["out", "save_mean", "save_invstd"] and norm["returned"] == ["x3", "x4"]
    (concat,) = table["operators"]["concat"]
    assert concat["arguments"] == ["x0", {"length": "tensors"}, "axis"]
    (add,) = table["operators"]["add"]
    assert add["arguments"] == ["x0", "x1", {"value": 1}]


def test_the_installed_tvm_has_the_operators(interface: Interface) -> None:
    tvm = pytest.importorskip("tvm", reason="apache-tvm is not installed: pip install apache-tvm")
    assert tvm.__version__.startswith(f"{interface.relax.release}.")
    known = set(tvm.ir.Op.list_op_names())
    named = {*entries(interface), *interface.relax.views}
    assert {name for name in named if f"relax.{name}" not in known} == set()
