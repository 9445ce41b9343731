"""The loops of elementwise kernels compute many elements with one instruction, wherever the processor can."""

from __future__ import annotations

import platform
import re
import shutil
import sys

import pytest
from cpu_build import ROOT, selected, shared_libraries

sys.path.insert(0, str(ROOT / "tools/portability"))
import vectors

pytestmark = pytest.mark.skipif(
    selected() != "released" or platform.machine() != "x86_64" or shutil.which("objdump") is None,
    reason="reads the instructions of the released build for x86-64, which `make conformance` tests",
)
LOOP = re.compile(r"(\w+)Loop::run<(.*?)\s*>\(.*\[clone \.arch_x86_64_v([34])\]$")
"""A loop for AVX2 (v3) or AVX-512 (v4), of an operator and a type."""
COMPLEX = "std::complex"
SCALAR = {
    "Div": "there is no instruction that divides integers",
    "Maximum Bool": "GCC 12 has no vectors for this choice between bytes",
    "PowTensor": "powers of integers are loops of products",
    "RemainderTensor": "there is no instruction that divides integers",
    "Erfinv": "in double through functions of the C library",
    "Polar": "in double through functions of the C library",
}
"""Operators of which some type, or the one that is named, has a loop of single elements, and why."""


def test_loops_have_vectors() -> None:
    functions = vectors.functions(shared_libraries()[1])
    loops = [(match.groups(), lines) for name, lines in functions if (match := LOOP.search(name))]
    assert len(loops) > 500
    scalar = sorted(loop for loop, lines in loops if not vectors.has_avx(lines))
    names = {
        (name, f"{name} {dtype.removeprefix('diopigen::core::')}") for name, dtype, _ in scalar if COMPLEX not in dtype
    }
    assert not [both for both in names if SCALAR.keys().isdisjoint(both)]
    assert {name for both in names for name in both} >= SCALAR.keys()
