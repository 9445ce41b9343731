"""The conformance suite over packed functions: operators of every kind of argument and result. Needs apache-tvm-ffi."""

from __future__ import annotations

import subprocess

import pytest
from artefacts import artefact
from programs import SUITE

pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed: pip install apache-tvm-ffi")

pytestmark = [pytest.mark.build, pytest.mark.suite]

KINDS = {
    "Softmax": "a tensor and numbers",
    "Sort": "several destinations",
    "Clamp": "tensors that may be missing",
    "Cat": "a list of tensors",
    "ForeachaddScalar": "lists that are read and written",
    "Nonzero": "a result that the operator allocates",
    "Unique": "a result that may be declined",
    "DynamicPointToVoxelMmcv": "a list that the operator allocates",
    "IndexPut": "a list with gaps",
    "Gelu": "a text",
    "Bernoulli": "a generator",
    "ClipGradNorm": "a number that is returned",
}


def test_operators_of_every_kind_pass() -> None:
    artefact("libdiopi_tvm_ffi.so")  # else it would be compiled here
    operators = [word for name in KINDS for word in ("--ops", name)]
    command = [*SUITE, "--lib", str(artefact("libdiopi_impl.so"))]
    command += ["--binding", "tvm_ffi", "--sample", "6", "-j", "1", *operators]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert f": {len(KINDS)} functions, " in done.stdout, done.stdout[-500:]
