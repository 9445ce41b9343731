"""What the suite knows of single operators beyond their contracts: values that tell right results from wrong ones, and
axes on which an operator has no agreed result.

Which calls are legal, and how elements are drawn, only the spec states (see `legal`, and `domain` of a parameter).
A new operator needs an entry only where numbers would give nothing worth comparing.
"""

from __future__ import annotations

SCALARS: dict[str, dict[str, int | float]] = {
    "PowTensor": {"exponent": 3, "input": 2},
    "Clamp": {"min": -1, "max": 2},
    "ClampMin": {"min": 0},
    "ClampMax": {"max": 0},
    "Threshold": {"threshold": 1, "value": 7},
    "ThresholdBackward": {"threshold": 1},
    "LerpTensor": {"weight": 0.25},
    "LeakyRelu": {"negative_slope": 0.125},
    "LeakyReluBackward": {"negative_slope": 0.125},
}
"""Scalar operands of the automatic axes; elsewhere the default, else 3."""

NO_SPECIALS = frozenset({"Polar", "Sgd", "Rmsprop", "Adadelta"})
"""Operators for which infinities and NaN have no agreed result."""

OVERFLOWING = frozenset({"Addcmul", "Addcdiv", "LerpTensor", "TanhBackward", "SigmoidBackward"})
"""Operators of several steps, in which the largest numbers overflow half-way in an unspecified order."""

NO_RECIPE_SPECIALS = frozenset({
    "BatchNormElemt", "BatchNormBackwardElemt", "GroupNormBackward", "InstanceNormBackward", "LinalgQR",
    "UpsampleLinear", "UpsampleLinearBackward", "UpsampleNearestBackward",
})  # fmt: skip
"""Operators that are not elementwise for which infinities and NaN have no agreed result: a formula may be written in
several ways, and a product with a weight of 0 may be left out. All convolutions and attentions are such, too."""

NO_EMPTY = frozenset({
    "BatchNorm", "BatchNormStats", "BatchNormBackward", "BatchNormBackwardElemt", "BatchNormBackwardReduce",
    "MatmulAllReduce",
})  # fmt: skip
"""Operators without a meaning for no samples (statistics of nothing), or whose dimension N is not one of samples."""

FOUND_BY_FORWARD = frozenset({
    f"{kind}MaxPool{rank}dBackward" for kind in ("", "Adaptive") for rank in (1, 2, 3)
})  # fmt: skip
"""Operators whose indices are those that their forward found. One that is in range, but not in the window of its
result, has no agreed effect: a kernel scatters from results to operands, or gathers from windows to operands."""

NO_AXES = frozenset({"Arange", "Linspace"})
"""Operators whose output size hangs on numbers: only recipes suit them."""

ALTERNATIVES: dict[str, dict[str, str]] = {"Div": {"rounding_mode": "RoundModeFloor"}}
"""What the automatic axes try where the defaults break a constraint: integers in place need a rounded quotient."""
