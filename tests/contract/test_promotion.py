"""Promotion of dtypes: one table, which Python and generated C++ agree with."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from diopigen.conformance.dtypes import STORAGE, decode, encode
from diopigen.contract.dtypes import LARGEST, LIMIT, SMALLEST_NORMAL, promote, promote_types
from diopigen.ir.load import known_dtypes

ROOT = Path(__file__).resolve().parents[2]
# As torch.promote_types. It rejects uint16, uint32 and uint64 with other integers, bool and complex numbers: those are
# by the same rules, the smallest dtype that holds both; `-` where no integer does. tfloat32 is between half and single.
GOLDEN = """
b    u8   i8   u16  i16  u32  i32  u64  i64  f16  bf16 tf32 f32  f64  c32  c64  c128
u8   u8   i16  u16  i16  u32  i32  u64  i64  f16  bf16 tf32 f32  f64  c32  c64  c128
i8   i16  i8   i32  i16  i64  i32  -    i64  f16  bf16 tf32 f32  f64  c32  c64  c128
u16  u16  i32  u16  i32  u32  i32  u64  i64  f16  bf16 tf32 f32  f64  c32  c64  c128
i16  i16  i16  i32  i16  i64  i32  -    i64  f16  bf16 tf32 f32  f64  c32  c64  c128
u32  u32  i64  u32  i64  u32  i64  u64  i64  f16  bf16 tf32 f32  f64  c32  c64  c128
i32  i32  i32  i32  i32  i64  i32  -    i64  f16  bf16 tf32 f32  f64  c32  c64  c128
u64  u64  -    u64  -    u64  -    u64  -    f16  bf16 tf32 f32  f64  c32  c64  c128
i64  i64  i64  i64  i64  i64  i64  -    i64  f16  bf16 tf32 f32  f64  c32  c64  c128
f16  f16  f16  f16  f16  f16  f16  f16  f16  f16  f32  tf32 f32  f64  c32  c64  c128
bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32  bf16 tf32 f32  f64  c64  c64  c128
tf32 tf32 tf32 tf32 tf32 tf32 tf32 tf32 tf32 tf32 tf32 tf32 f32  f64  c64  c64  c128
f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f32  f64  c64  c64  c128
f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  f64  c128 c128 c128
c32  c32  c32  c32  c32  c32  c32  c32  c32  c32  c64  c64  c64  c128 c32  c64  c128
c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c64  c128 c64  c64  c128
c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128 c128
"""
LONG = {"b": "bool", "u": "uint", "i": "int", "f": "float", "bf": "bfloat", "tf": "tfloat", "c": "complex", "-": ""}
TABLE = [
    [LONG[word.rstrip("0123456789")] + word.lstrip("buiftc-") for word in row.split()]
    for row in GOLDEN.split("\n")[1:-1]
]
NAMES = [row[i] for i, row in enumerate(TABLE)]
FLOAT8 = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]
"""Promoted with themselves only."""
PAIRS = {(a, b): TABLE[i][j] for i, a in enumerate(NAMES) for j, b in enumerate(NAMES)}
PAIRS |= {pair: "" for a in FLOAT8 for b in NAMES for pair in ((a, b), (b, a))}
PAIRS |= {(a, b): a if a == b else "" for a in FLOAT8 for b in FLOAT8}
# Operands with their ranks, None for a number, and the dtype of the result in PyTorch (torch.result_type).
OPERANDS = [
    ((("int64", 1), ("float16", 0)), "float16"),
    ((("float16", 1), ("float32", 0)), "float16"),
    ((("float16", 1), ("float64", None)), "float16"),
    ((("int32", 1), ("float64", None)), "float32"),
    ((("int8", 0), ("int64", None)), "int8"),
    ((("bool", 2), ("int64", None)), "int64"),
    ((("bfloat16", 1), ("complex128", 0)), "complex64"),
    ((("float16", 1), ("complex64", None)), "complex32"),
    ((("float64", 1), ("complex64", 0)), "complex128"),
    ((("uint8", 1), ("int8", 1), ("float64", None)), "float32"),
    ((("uint8", 1), ("int16", 0), ("float64", None)), "float32"),
    ((("uint64", 1), ("int64", 1)), ""),
]


def test_the_table_is_of_all_dtypes() -> None:
    assert sorted([*NAMES, *FLOAT8]) == sorted(known_dtypes())
    assert all(len(row) == len(NAMES) for row in TABLE)


def test_promotion_is_that_of_the_table() -> None:
    assert {pair: promote_types(*pair) for pair in PAIRS} == PAIRS


@pytest.mark.parametrize("operands, expected", OPERANDS)
def test_classes_of_operands(operands: tuple[tuple[str, int | None], ...], expected: str) -> None:
    assert promote(operands) == expected


def test_the_table_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")
    defined = 0
    for (first, second), expected in PAIRS.items():
        if "tfloat32" in (first, second):
            continue
        try:
            promoted = torch.promote_types(getattr(torch, first), getattr(torch, second))
        except RuntimeError:
            assert not expected or "uint" in first + second, (first, second)
            continue
        defined += 1
        assert str(promoted) == f"torch.{expected}", (first, second)
    assert defined == 199  # of 361


def program(tmp_path: Path, body: str) -> list[str]:
    """The lines that a C++14 program over the generated header prints."""
    source = tmp_path / "program.cpp"
    source.write_text(
        f"#include <diopigen/dtypes.h>\n#include <cstdio>\nusing namespace diopigen;\nint main() {{{body}}}\n"
    )
    flags = ["-std=c++14", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/generated/include"]
    subprocess.run(["g++", *flags, str(source), "-o", str(tmp_path / "program")], check=True)
    return subprocess.run([tmp_path / "program"], check=True, capture_output=True, text=True).stdout.splitlines()


@pytest.mark.build
def test_cpp_promotes_as_the_table(tmp_path: Path) -> None:
    pairs = program(
        tmp_path,
        """
        for (int i = 0; i < kDtypeCount; ++i) {
            for (int j = 0; j < kDtypeCount; ++j) {
                const diopiDtype_t a = kDtypeFacts[i].dtype, b = kDtypeFacts[j].dtype;
                const diopiDtype_t both = promoted_dtype(a, b);
                const char* const name = both == diopi_dtype_unsupported ? "" : dtype_name(both);
                std::printf("%s %s %s\\n", dtype_name(a), dtype_name(b), name);
            }
        }
    """,
    )
    assert {tuple(line.split(" ")[:2]): line.split(" ")[2] for line in pairs} == PAIRS


@pytest.mark.build
def test_cpp_classes_of_operands(tmp_path: Path) -> None:
    def add(dtype: str, rank: int | None) -> str:
        of = "kNumber" if rank is None else "kDimensioned" if rank else "kZeroDimensional"
        return f"p.add(diopi_dtype_{dtype}, Promotion::{of});"

    calls = "".join(
        f"{{ Promotion p; {' '.join(add(*one) for one in operands)} std::puts(dtype_name(p.result())); }}\n"
        for operands, _ in OPERANDS
    )
    assert program(tmp_path, calls) == [expected or "an unknown dtype" for _, expected in OPERANDS]


def test_ranges_follow_from_digits_and_exponents() -> None:
    assert LARGEST["float64"] == np.finfo(np.float64).max
    for name in ("float16", "float32", "float64"):
        assert LARGEST[name] == float(np.finfo(name).max)
        assert SMALLEST_NORMAL[name] == float(np.finfo(name).tiny)
    assert [LARGEST[name] for name in FLOAT8] == [448, 57344, 2.0**127]
    for name in ("float16", "bfloat16", "float32", "float8_e5m2"):
        for number, isfinite in ((LIMIT[name], True), (math.nextafter(LIMIT[name], math.inf), False)):
            assert bool(np.isfinite(decode(encode(np.array([number]), name), name))[0]) is isfinite, name


@pytest.mark.parametrize("name", FLOAT8)
def test_numbers_of_one_byte_are_those_of_torch(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")
    numbers = decode(np.arange(256, dtype=np.uint8), name).astype(np.float64)
    ordered = np.unique(numbers[np.isfinite(numbers)])
    between = (ordered[1:] + ordered[:-1]) / 2
    near = [np.nextafter(between, side).astype(np.float32) for side in (-np.inf, np.inf)]
    drawn = np.random.default_rng(0).standard_normal(4096) * 2.0 ** np.random.default_rng(1).uniform(-30, 30, 4096)
    edges = [0.0, -0.0, 464, 465, 61439, 61440, np.inf, -np.inf, np.nan, 3e38]
    values = np.concatenate([between, *near, drawn, edges]).astype(np.float32)
    dtype = getattr(torch, name)
    assert np.array_equal(numbers, torch.arange(256, dtype=torch.uint8).view(dtype).double().numpy(), equal_nan=True)
    expected = torch.from_numpy(values).to(dtype).view(torch.uint8).numpy()
    np.testing.assert_array_equal(encode(values, name), expected)
    source = tmp_path / "program.cpp"
    source.write_text(
        f"""#include <diopigen/float8.h>
        #include <cstdio>
        using namespace diopigen;
        int main() {{
            const Float8 format = Float8::k{name.removeprefix("float8_").capitalize()};
            unsigned bits;
            while (std::scanf("%x", &bits) == 1) std::printf("%d\\n", float8_of_float(format, float8::float_of(bits)));
            for (int i = 0; i < 256; ++i) std::printf("%.17g\\n", double{{float_of_float8(format, uint8_t(i))}});
        }}"""
    )
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/runtime/adaptor/include"]
    subprocess.run(["g++", *flags, str(source), "-o", str(tmp_path / "program")], check=True)
    lines = "".join(f"{bits:x}\n" for bits in values.view(np.uint32))
    command = [tmp_path / "program"]
    printed = subprocess.run(command, input=lines, check=True, capture_output=True, text=True).stdout.split()
    np.testing.assert_array_equal([int(one) for one in printed[:-256]], expected)
    np.testing.assert_array_equal([float(one) for one in printed[-256:]], numbers)


def test_bytes_are_those_of_numpy() -> None:
    for name, info in known_dtypes().items():
        assert name not in STORAGE or STORAGE[name].itemsize == info.bytes, name
