"""Expected values do not follow the processor by more than the bound knows of.

None goes through BLAS or LAPACK, whose kernels, and so whose roundings, follow the model: one test reads the sources,
another runs oracles under several kernels of OpenBLAS and wants the same bits. NumPy's own loops come for several
instruction sets: without the wider ones values must stay within what their oracles are granted.
"""

from __future__ import annotations

import ast
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sampling import first

import diopigen.conformance

ROOT = Path(diopigen.conformance.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

FORBIDDEN = frozenset(
    {
        "matmul", "dot", "vdot", "inner", "tensordot", "matvec", "vecmat", "vecdot", "linalg", "convolve", "correlate",
        "cov", "corrcoef", "polyfit", "roots", "poly", "matrix", "mat", "bmat", "multi_dot", "einsum_path",
        "multivariate_normal",
    }
)  # fmt: skip
"""Attributes and imported names of NumPy behind which there is BLAS or LAPACK, whatever array they are called on."""


def uses(source: str) -> Iterator[str]:
    """The places of a source that may reach BLAS or LAPACK, as `line: what`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.MatMult):
            yield f"{node.lineno}: @"
        elif isinstance(node, ast.Attribute) and node.attr in FORBIDDEN:
            yield f"{node.lineno}: .{node.attr}"
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            module = getattr(node, "module", None) or ""
            names = [alias.name for alias in node.names]
            for name in [module, *names] if not module.startswith("diopigen") else []:
                if name.split(".")[0] == "scipy" or FORBIDDEN & set(name.split(".")):
                    yield f"{node.lineno}: import of {name}"
        elif isinstance(node, ast.Call) and any(keyword.arg == "optimize" for keyword in node.keywords):
            yield f"{node.lineno}: optimize="


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_source_of_the_suite_reaches_blas(path: Path) -> None:
    assert list(uses(path.read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "a @ b",
        "a @= b",
        "np.matmul(a, b)",
        "a.dot(b)",
        "np.linalg.norm(a)",
        "from numpy import dot",
        "from numpy.linalg import solve",
        "import scipy.linalg",
        "np.einsum('ij,jk', a, b, optimize=True)",
        "source.multivariate_normal(mean, covariance)",
    ],
)
def test_the_check_sees(source: str) -> None:
    assert list(uses(source))


def test_the_check_reads_the_oracles() -> None:
    assert {"matrices.py", "linear.py", "convolution.py", "values.py", "results.py"} <= {path.name for path in SOURCES}


PROGRAM = Path(__file__).with_name("expected_digests.py")
FUNCTIONS = [
    ("diopiMm", "diopiCholesky", "diopiTriangularSolve"),
    (
        "diopiBmm", "diopiLinearBackward", "diopiMatmulBackward", "diopiCholeskyBackward", "diopiLinalgQR",
        "diopiTriangularSolveBackward", "diopiConvolution2d", "diopiConvolution2dBackward", "diopiUpsampleLinear",
        "diopiRoiAlign", "diopiSpMM", "diopiFlashAttention",
    ),
]  # fmt: skip
"""Those that multiply matrices, decompose them, or solve systems; the first of each are for every change."""
THROUGH_BLAS = "import numpy as np; a = np.random.default_rng(0).standard_normal((64, 300)); print((a @ a.T).tolist())"


def _output(kernel: str, *command: str) -> str:
    environment = {**os.environ, "OPENBLAS_CORETYPE": kernel} if kernel else os.environ
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("functions", first(map(pytest.param, FUNCTIONS)))
def test_expected_values_are_the_same_bits_under_every_kernel(functions: tuple[str, ...]) -> None:
    kernels = ("Prescott", "Haswell")
    if len({_output(kernel, "-c", THROUGH_BLAS) for kernel in kernels}) == 1:
        pytest.skip(
            "NumPy's BLAS does not choose its kernels by OPENBLAS_CORETYPE here, so there is nothing to compare"
        )
    found = [_output(kernel, str(PROGRAM), *functions).splitlines() for kernel in kernels]
    assert {line.split()[1].split("/")[0] for line in found[0]} == set(functions)
    assert [(one, other) for one, other in zip(*found, strict=True) if one != other] == []


BY_VECTORS = [
    ("diopiExp", "diopiSoftmax", "diopiSum"),
    (
        "diopiLog", "diopiTanh", "diopiSin", "diopiPow", "diopiErf", "diopiGelu", "diopiLogSoftmax", "diopiNorm",
        "diopiLayerNorm", "diopiCrossEntropyLoss", "diopiAdamW", "diopiMm",
    ),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("functions", first(map(pytest.param, BY_VECTORS)))
def test_without_wide_vectors_values_stay_within_their_oracles_error(
    functions: tuple[str, ...], tmp_path: Path
) -> None:
    found = []
    for number, switched_off in enumerate(("", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX512F AVX512_SKX AVX2 FMA3")):
        file = tmp_path / f"{number}.pickle"
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": switched_off}
        command = [sys.executable, "-W", "ignore", str(PROGRAM), "--values", str(file), *functions]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        found.append(pickle.loads(file.read_bytes()))
    assert {name.split("/")[0] for name, _ in found[0]} == set(functions)
    for (name, one), (_, other) in zip(*found, strict=True):
        for (values, error), (values_too, error_too) in zip(one, other, strict=True):
            with np.errstate(invalid="ignore"):
                same = (values == values_too) | (np.isnan(values) & np.isnan(values_too))
                assert np.all(same | (np.abs(values - values_too) <= error + error_too)), name
