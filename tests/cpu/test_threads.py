"""Results do not depend on the number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cpu_build import SANITIZED

HERE = Path(__file__).parent

PROGRAM = """
import hashlib, sys
sys.path[:0] = [{here!r}]
import numpy as np
from cpu_library import CpuLibrary
from diopigen.console import Session
from pathlib import Path
interface = Session({specs!r}).load().interface
cpu = CpuLibrary(Path({runtime!r}), Path({library!r}), interface)
x = np.random.default_rng(0).normal(size=(700, 513)).astype(np.float32)
digest = hashlib.sha256()
for name, shape, arguments in (
    ("diopiAdd", x.shape, (x, x[:1], 2)), ("diopiExp", x.T.shape, (x.T,)), ("diopiSum", (), (x, [])),
    ("diopiSoftmax", x.shape, (x, 0)), ("diopiMm", (700, 700), (x, x.T)),
):
    out = np.zeros(shape, np.float32)
    cpu.call(name, out, *arguments)
    digest.update(out.tobytes())
long = x.reshape(-1)
def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)
for name, outputs, arguments in (
    ("diopiSum", [zeros(513)], (x, [0])), ("diopiNorm", [zeros()], (x, 3, [])),
    ("diopiNorm", [zeros(700)], (x, 2, [1])),
    ("diopiStd", [zeros()], (x, [], None)), ("diopiStd", [zeros(513)], (x, [0], None)),
    ("diopiCumsum", [zeros(700, 513)], (x, 0)), ("diopiArgmax", [zeros(dtype=np.int64)], (x, None, False)),
    ("diopiSort", [zeros(long.size), zeros(long.size, dtype=np.int64)], (long, 0, True, None)),
    ("diopiTopk", [zeros(70), zeros(70, dtype=np.int64)], (long, 70, 0, True, True)),
    ("diopiLogSoftmax", [zeros(700, 513)], (x, 1)), ("diopiMSELoss", [zeros()], (x, 2 * x, 1)),
    ("diopiIndexSelect", [zeros(700, 900)], (x, 1, np.arange(900) % 513)),
):
    cpu.call(name, *outputs, *arguments)
    for out in outputs:
        digest.update(out.tobytes())
def drawn(*, dtype=np.float32):
    return np.zeros(100_003, dtype)
weights = np.abs(x[:50]) + np.float32(0.1)
for name, outputs, arguments in (
    ("diopiUniformInp", [drawn()], (0.0, 1.0)), ("diopiNormal", [drawn()], (1.0, 2.0)),
    ("diopiNormalInp", [drawn(dtype=np.float64)], (1.0, 2.0)), ("diopiRandomInp", [drawn(dtype=np.int64)], (-5, 9)),
    ("diopiRandperm", [drawn(dtype=np.int64)], (100_003,)), ("diopiBernoulliScalar", [drawn()], (0.3,)),
    ("diopiBernoulliInp", [np.full(100_003, 0.4, np.float32)], ()),
    ("diopiDropout", [np.zeros_like(x), np.zeros(x.shape, bool)], (x, 0.25, True)),
    ("diopiMultinomial", [np.zeros((50, 200), np.int64)], (weights, 200, False)),
    ("diopiMultinomial", [np.zeros((50, 999), np.int64)], (weights, 999, True)),
):
    cpu.call(name, *outputs, *arguments, cpu.generator(5))
    for out in outputs:
        digest.update(out.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.skipif(SANITIZED in os.environ, reason="threads of children are not sanitized")
def test_results_are_the_same_for_every_number_of_threads(libraries: tuple[Path, Path]) -> None:
    specs = str(HERE.parents[1] / "specs")
    program = PROGRAM.format(here=str(HERE), specs=specs, runtime=str(libraries[0]), library=str(libraries[1]))
    outputs = []
    for count in ("1", "2", "7"):
        environment = {**os.environ, "DIOPI_NUM_THREADS": count}
        command = [sys.executable, "-c", program]
        finished = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert finished.returncode == 0, finished.stderr
        outputs.append(finished.stdout)
    assert len(outputs[0]) == 65 and outputs == [outputs[0]] * 3
