"""The spec of collectives: what is generated from it, and the suite's cases and oracles."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from diopigen.conformance.collectives.cases import cases, ended
from diopigen.conformance.collectives.oracle import ORACLES, Step, reduced
from diopigen.conformance.dtypes import encode
from diopigen.ir.model import Interface

ROOT = Path(__file__).parents[2]
DEVICE_BACKENDS = (
    "GetCommAsyncError", "GetUniqueId", "CommInitRank", "CommDestroy", "AllReduce", "Broadcast", "AllGather", "Reduce",
    "ReduceScatter", "AllToAllEqualSplit", "AllToAllUnequalSplit", "Send", "Recv", "GetCommName",
)  # fmt: skip
"""The functions that device backends have today, in their order."""


def test_the_header_has_what_backends_have(interface: Interface) -> None:
    header = next(header for header in interface.headers if header.file == "functions_collective.h")
    assert [function.short_name for function in header.functions] == list(DEVICE_BACKENDS)
    assert all(function.weak and not function.context and function.is_collective for function in header.functions)


@pytest.mark.parametrize("standard", ["c11", "c++17"])
def test_the_header_compiles_alone(standard: str, tmp_path: Path) -> None:
    compiler = "g++" if "+" in standard else "gcc"
    source = tmp_path / ("alone.cpp" if "+" in standard else "alone.c")
    source.write_text(
        "#include <diopi/functions_collective.h>\n"
        "int main(void) { diopiUniqueId_t id; return sizeof(id) == 128 && diopiAllReduce == 0 ? 0 : 1; }\n"
    )
    include = ROOT / "generated/include"
    program = tmp_path / "alone"
    flags = [f"-std={standard}", "-Wall", "-Wextra", "-Werror", "-Wno-address"]
    subprocess.run([compiler, *flags, f"-I{include}", source, "-o", program], check=True)
    assert subprocess.run([program]).returncode == 0  # weak: a program links without a library


def test_every_function_that_moves_elements_is_called(interface: Interface) -> None:
    moving = {f.name for f in interface.functions if any(param.elements is not None for param in f.params)}
    assert moving == {*ORACLES, "diopiRecv"}
    found = cases(interface, 4)
    assert {case.function for case in found} == set(ORACLES)
    assert len({case.id for case in found}) == len(found)
    counts = {case.count for case in found}
    assert {0, 1, 3} <= counts
    broken = {(case.function, case.breaks) for case in found if case.wrong}
    assert {("diopiAllReduce", "count.range"), ("diopiBroadcast", "root.range"), ("diopiSend", "peer.range")} <= broken
    assert len(ended(interface)) == 3


def test_in_place_is_called_where_the_spec_permits_it(interface: Interface) -> None:
    found = {case.function for case in cases(interface, 4) if case.in_place}
    assert found == {"diopiAllReduce", "diopiAllGather", "diopiReduce", "diopiReduceScatter"}


def test_reductions_of_numpy() -> None:
    parts = [np.array([1, -7], dtype=np.int8), np.array([3, -2], dtype=np.int8)]
    assert reduced(parts, "int8", "ReduceOpAvg").values.tolist() == [2, -4]  # -4.5 without its fraction
    assert reduced([np.array([100], np.int8)] * 2, "int8", "ReduceOpSum").values.tolist() == [-56]
    bools = [encode(np.array(values), "bool") for values in ([True, False, False], [True, True, False])]
    assert reduced(bools, "bool", "ReduceOpSum").values.tolist() == [True, True, False]
    assert reduced(bools, "bool", "ReduceOpProd").values.tolist() == [True, False, False]
    exact = reduced([np.array([1e-3], np.float32)] * 3, "float32", "ReduceOpSum")
    assert 0 < exact.error[0] < 1e-8


def test_unequal_splits_are_the_columns_of_what_is_sent() -> None:
    sent = [np.arange(3), np.arange(10, 14)]
    received = ORACLES["diopiAllToAllUnequalSplit"](Step(sent, "int64", "", -1, 1, [[1, 2], [3, 1]]))
    assert received is not None and received.values.tolist() == [1, 2, 13]
