"""Two results are as near as a tolerance class allows: the suite and what C++ compares with (the dispatch library, the
backend for PyTorch) have the same verdict on the same pairs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diopigen.conformance.compare.bounds import bound_of, limits
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import Array, decode, encode
from diopigen.conformance.oracles import Expected
from diopigen.contract.dtypes import kind
from diopigen.spec.grammar_operators import TOLERANCES

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
#include <diopigen/tolerance.h>
#include <iostream>
using namespace diopigen;
int main() {
    int tolerance = 0, dtype = 0, terms = 0;
    double largest = 0, own[2], reference[2];
    while (std::cin >> tolerance >> dtype >> terms >> largest) {
        for (double* each : {own, own + 1, reference, reference + 1}) {
            std::string text;
            std::cin >> text;
            *each = std::strtod(text.c_str(), nullptr);
        }
        ResultBound bound(static_cast<diopiDtype_t>(dtype), largest);
        Terms read;
        read.add(terms, largest);  // two operands of a row and a column
        read.add(terms, largest);
        bound.add(static_cast<Tolerance>(tolerance), read, 1);
        const bool isComplex = dtype_category(static_cast<diopiDtype_t>(dtype)) == 3;
        const double excess = isComplex ? bound.excess(std::complex<double>(own[0], own[1]),
                                                       std::complex<double>(reference[0], reference[1]))
                                        : bound.excess(own[0], reference[0]);
        std::cout << (excess > 1) << std::endl;
    }
}
"""
Pair = tuple[str, str, int, complex, complex]
"""Class, dtype, terms, own result and that of the reference."""


@pytest.fixture(scope="module")
def differ(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Pair]], list[bool]]:
    """The verdicts of C++: whether the results of each pair differ."""
    folder = tmp_path_factory.mktemp("verdict")
    (folder / "program.cpp").write_text(PROGRAM, encoding="utf-8")
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "generated/include")]
    subprocess.run(["g++", *flags, str(folder / "program.cpp"), "-o", str(folder / "program")], check=True)
    found = re.findall(
        r"^    diopi_dtype_(\w+) = (\d+),", (ROOT / "generated/include/diopi/diopirt.h").read_text(), re.M
    )
    enum = {name: int(number) for name, number in found}

    def run(pairs: list[Pair]) -> list[bool]:
        lines = []
        for tolerance, dtype, terms, own, reference in pairs:
            numbers = [part.hex() for value in map(complex, (own, reference)) for part in (value.real, value.imag)]
            largest = abs(reference) if np.isfinite(reference) else 0.0
            lines.append(f"{TOLERANCES.index(tolerance)} {enum[dtype]} {terms} {largest:.17g} {' '.join(numbers)}")
        done = subprocess.run([folder / "program"], input="\n".join(lines), capture_output=True, text=True, check=True)
        return [line == "1" for line in done.stdout.split()]

    return run


def suite_differs(pair: Pair) -> bool:
    """The verdict of the suite, with the bound that two inexact results have."""
    tolerance, dtype, terms, own, reference = pair
    size = np.abs(np.array([reference])) if np.isfinite(reference) else np.zeros(1)
    narrowed = size if tolerance == "attention" else None
    expected = Expected(_values(reference, dtype), terms=terms, signed_zero=False, narrowed=narrowed)
    return compare(encode(_values(own, dtype), dtype), dtype, expected, tolerance, "out", factor=2.0) is not None


def _values(value: complex, dtype: str) -> Array:
    if kind(dtype) == "complex":
        return np.array([value], dtype=np.complex128)
    whole = kind(dtype) in ("int", "bool")
    return np.array([int(value.real) if whole else value.real], dtype=np.dtype(dtype) if whole else np.float64)


@pytest.mark.parametrize(
    ("tolerance", "dtype", "units"),
    [
        ("rounding", "float32", 4),  # 2 (eps + eps)
        ("transcendental", "float32", 8),  # 2 (2 eps + 2 eps)
        ("transcendental", "float64", 16),  # 2 (4 eps + 4 eps)
        ("rounding", "bfloat16", 4),
        ("approximate", "float32", 256),  # 2 (64 eps + 64 eps)
        ("reduction", "float32", 22),  # 2 (eps + 10 eps), one term
        ("matmul", "float64", 22),
        ("transcendental", "float16", 4),  # 2 (2 eps) and 16 eps of float32
    ],
)
def test_the_bound_is_that_of_the_class(
    differ: Callable[[list[Pair]], list[bool]], tolerance: str, dtype: str, units: int
) -> None:
    """By hand, at 1: so many units in the last place are allowed, and one more is not."""
    eps = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}[dtype]
    pairs = [
        (tolerance, dtype, 1, complex(1 + units * eps), 1 + 0j),
        (tolerance, dtype, 1, complex(1 + (units + 1) * eps), 1 + 0j),
    ]
    assert differ(pairs) == [False, True]


def test_cpp_and_the_suite_have_one_verdict(differ: Callable[[list[Pair]], list[bool]]) -> None:
    """Next to the bound of each class and dtype, on both sides; beyond it by what the oracle's own error is."""
    pairs: list[Pair] = []
    expected: list[bool] = []
    for tolerance in ("rounding", "transcendental", "reduction", "matmul", "attention", "approximate"):
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            for terms in (1, 100):
                for reference in (1.0, -0.75, 3.0):
                    inside, outside = _neighbours(tolerance, dtype, terms, reference)
                    pairs += [(tolerance, dtype, terms, one + 0j, reference + 0j) for one in (inside, outside)]
                    expected += [False, True]
    assert differ(pairs) == expected
    assert [suite_differs(pair) for pair in pairs] == expected


def _neighbours(tolerance: str, dtype: str, terms: int, reference: float) -> tuple[float, float]:
    """The last number of a dtype within the bound, and the first beyond it and the oracle's own error."""
    bound = bound_of(tolerance, dtype, terms).times(2)
    size = np.array([abs(reference)])
    expected = Expected(np.array([reference]), terms=terms, narrowed=size)
    beyond = abs(reference) + float(limits(np.array([reference]), dtype, expected, bound, tolerance)[0])
    within = abs(reference) * (1 + bound.relative + bound.scaled + bound.narrowed)
    step = abs(reference) * {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}[dtype]
    found = []
    for target, direction in ((within, -1), (beyond, 1)):
        value = float(decode(encode(np.array([target]), dtype), dtype)[0])
        while (value - target) * direction < 0 or value == beyond:
            value = float(decode(encode(np.array([value + direction * step]), dtype), dtype)[0])
        found.append(float(np.copysign(value, reference)))
    return found[0], found[1]


INF, NAN = float("inf"), float("nan")
FLOATS = [
    (NAN, NAN, False),
    (NAN, 1.0, True),
    (1.0, NAN, True),
    (INF, INF, False),
    (INF, -INF, True),
    (INF, 1.0, True),
    (1.0, INF, True),
    (0.0, -0.0, False),
    (-0.0, 0.0, False),
    (0.0, 1.0, True),
]


@pytest.mark.parametrize(
    ("dtype", "own", "reference", "differs"),
    [
        *[(dtype, *pair) for dtype in ("float16", "bfloat16", "float32", "float64") for pair in FLOATS],
        *[("int32", own, reference, own != reference) for own, reference in [(7, 7), (7, 8), (-1, 1), (0, 0)]],
        *[("bool", own, reference, own != reference) for own, reference in [(0, 0), (0, 1), (1, 1)]],
        ("int64", 2**40, 2**40 + 1, True),
        ("complex64", 1 + 1j, 1 + 1j, False),
        ("complex64", 1 + 1j, 1 - 1j, True),
        ("complex64", complex(1, 1 + 2.0**-23), 1 + 1j, False),
        ("complex64", complex(1, 1 + 2.0**-20), 1 + 1j, True),
        ("complex64", complex(INF, 0), 1 + 1j, True),
        ("complex64", complex(INF, 0), complex(0, NAN), False),
    ],
)
def test_special_values_have_one_verdict(
    differ: Callable[[list[Pair]], list[bool]], dtype: str, own: complex, reference: complex, differs: bool
) -> None:
    tolerance = "exact" if kind(dtype) in ("int", "bool") else "rounding"
    pair = (tolerance, dtype, 1, complex(own), complex(reference))
    assert differ([pair]) == [differs]
    assert suite_differs(pair) == differs


def test_exact_results_must_be_equal(differ: Callable[[list[Pair]], list[bool]]) -> None:
    pairs: list[Pair] = [
        ("exact", "float32", 1, complex(1 + 2.0**-23), 1 + 0j),
        ("exact", "float32", 1, 1 + 0j, 1 + 0j),
    ]
    assert differ(pairs) == [True, False] == [suite_differs(pair) for pair in pairs]
