"""The least ratio of each row, and why some may be below 0.7: one line for each kind."""

from __future__ import annotations

import fnmatch

from benchmarks.cpu.measure import Case

LEAST = 0.7
"""PyTorch's time over ours that a row has at least, unless `ACCEPTED` has it."""

_PRODUCTS = 0.9, ""
_DOUBLE = "sums and quotients in double: half as many elements in an instruction; PyTorch computes in float32"
_CHECKED = "indices are checked in a pass of their own, before anything is written"
_TAILS = "erfc within 1.5 ULP, so that the negative tail keeps its digits; PyTorch has erf to 1e-7 of 1"
_BLOCKS = "halves are computed as blocks of float32: each operand is stored once more, in the first cache"
_NUMBERS = "numbers are operands like others, and loaded for every vector"
_REPEATED = "an element that is broadcast along a row is stored as a block of it first, in the first cache"
_FOR_ALL = "elements of any number of processors are the same: each has its own counter of Philox"

ACCEPTED: tuple[tuple[str, float, str], ...] = (
    ("attention *", *_PRODUCTS),
    ("convolution diopiConvolution2dBackward * by 7/2", 0.6, "oneDNN 3.2; that of PyTorch is newer"),
    ("convolution *", *_PRODUCTS),
    ("matmul * f64 *", 0.75, "loops of our own: oneDNN has no float64; PyTorch takes MKL's"),
    ("matmul diopiBmm f32 1000 of 8x8", 0.7, "operands are packed first; MKL compiles a loop for the size"),
    ("matmul *", *_PRODUCTS),
    ("detection SigmoidFocalLoss *", 0.4, "short rows: 15 classes fill no two vectors, in double"),
    ("elementwise diopiErfinv *", 0.1, "no library has it: an estimate, and a step in double for 1 ULP"),
    ("elementwise diopiErf *", 0.5, "SLEEF's within 1 ULP; PyTorch takes that of MKL"),
    ("elementwise diopiPow, 2 *", 0.3, _NUMBERS),
    *((f"dtype diopi{name} *float64", 0.55, _NUMBERS) for name in ("ClampScalar", "MulScalar")),
    ("* diopiGelu, none *", 0.06, _TAILS),
    ("* diopiGeluBackward, none *", 0.1, _TAILS),
    *((f"dtype diopi{name} *float16", 0.5, _BLOCKS) for name in ("Mul", "MulScalar", "Addcmul", "Sqrt")),
    ("layout diopiAdd *column", 0.5, _REPEATED),
    ("layout diopiAdd *channel", 0.5, _REPEATED),
    ("indexing diopiGather *", 0.5, _CHECKED),
    ("indexing diopiScatter *", 0.5, _CHECKED),
    ("indexing diopiIndexSelectBackward *", 0.6, _CHECKED),
    ("loss diopiNLLLoss*", 0.4, _CHECKED),
    ("loss diopiSmoothL1Loss*", 0.35, _DOUBLE),
    ("loss diopiMSELossBackward *", 0.6, _DOUBLE),
    ("loss diopiBCEWithLogits *", 0.45, _DOUBLE),
    ("shape diopiPermute *", 0.55, "runs of 64 elements: finding each costs as much as copying it"),
    ("norm diopiGroupNormBackward *", 0.35, _DOUBLE),
    *((f"norm diopi{name} *", 0.5, _DOUBLE) for name in ("GroupNorm", "LayerNorm*", "BatchNormBackward")),
    ("pool diopiMaxPool2dBackward *", 0.4, _CHECKED),
    ("random diopiNormalInp *", 0.45, _FOR_ALL),
    *((f"reduction diopi{name} *", 0.4, _DOUBLE) for name in ("Sum", "Mean", "Prod")),
    (
        "softmax * 16384 x 64",
        0.45,
        "short rows: sums in double, and what is computed once for a row, are most of the time",
    ),
)
"""Rows by group, name and size; the first line that fits counts."""

ACCEPTED_AVX2: tuple[tuple[str, float, str], ...] = (
    ("elementwise diopiErf *", 0.35, "SLEEF's within 1 ULP; PyTorch takes that of MKL"),
    (
        "loss diopiCrossEntropyLoss* 65536 x 10",
        0.25,
        "short rows: ten classes are a vector and two single ones",
    ),
    ("matmul diopiLinear bf16 decode *", 0.55, "three instructions make floats of eight bfloat16"),
    ("random diopiNormalInp *", 0.28, _FOR_ALL),
    ("random diopiRandomInp *", 0.6, _FOR_ALL),
    ("sort diopiTopk k=1 *int64*", 0.55, "no instruction selects the larger of two int64"),
)
"""Rows of a library that uses AVX2, before the others."""


def accepted(case: Case, version: str) -> tuple[float, str]:
    """The least ratio of a row, and the reason where it is below `LEAST`. The library's version names its vectors."""
    row = f"{case.group} {case.name} {case.size}"
    rows = (*ACCEPTED_AVX2, *ACCEPTED) if "(avx2" in version else ACCEPTED
    return next(((least, why) for glob, least, why in rows if fnmatch.fnmatchcase(row, glob)), (LEAST, ""))
