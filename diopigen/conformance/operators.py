"""What the suite knows of single operators beyond their contracts: values that tell right results from wrong ones, and
axes on which an operator has no agreed result.

Which calls are legal stands in the spec alone (see `legal`). A new operator needs an entry only where random numbers
would give nothing worth comparing.
"""

from __future__ import annotations

from diopigen.ir.recipe import Drawn

_FEW = Drawn("integers", (0, 4))
"""Numbers that are often equal, and often zero."""

DOMAINS: dict[str, dict[str, Drawn]] = {
    "Acosh": {"input": Drawn("uniform", (1, 4))},
    "Acos": {"input": Drawn("uniform", (-1, 1))},
    "Asin": {"input": Drawn("uniform", (-1, 1))},
    "Atanh": {"input": Drawn("uniform", (-1, 1))},
    "Erfinv": {"input": Drawn("uniform", (-1, 1))},
    "Log": {"input": Drawn("uniform", (0.1, 9))},
    "Log2": {"input": Drawn("uniform", (0.1, 9))},
    "Log10": {"input": Drawn("uniform", (0.1, 9))},
    "Sqrt": {"input": Drawn("uniform", (0, 9))},
    "Rsqrt": {"input": Drawn("uniform", (0.1, 9))},
    "PowTensor": {"input": Drawn("uniform", (0.1, 4))},
    "Addcdiv": {"tensor2": Drawn("nonzero")},
    "Div": {"other": Drawn("nonzero")},
    "RemainderTensor": {"other": Drawn("nonzero")},
    "Reciprocal": {"input": Drawn("nonzero")},
    "LerpTensor": {"weight": Drawn("uniform", (-1, 2))},
    "Sinh": {"input": Drawn("uniform", (-4, 4))},
    "Cosh": {"input": Drawn("uniform", (-4, 4))},
    "Exp": {"input": Drawn("uniform", (-4, 4))},
    "Expm1": {"input": Drawn("uniform", (-4, 4))},
    "TanhBackward": {"output": Drawn("uniform", (-1, 1))},
    "SigmoidBackward": {"output": Drawn("uniform", (0, 1))},
    "Eq": {"input": _FEW, "other": _FEW},
    "Ne": {"input": _FEW, "other": _FEW},
    "LogicalAnd": {"input": _FEW, "other": _FEW},
    "LogicalOr": {"input": _FEW, "other": _FEW},
    "LogicalNot": {"input": _FEW},
    "IsNan": {"input": Drawn("special", (1, 0))},
    "Rmsprop": {"square_avg": Drawn("uniform", (1, 2))},
    "Adadelta": {"square_avg": Drawn("uniform", (0, 1)), "acc_delta": Drawn("uniform", (0, 1))},
}
"""Where most random numbers would only give NaN, infinity or constants: ranges for the automatic axes."""

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

SPARSE = {"SpMM": "input"}
"""Operands in compressed sparse rows; a case draws them dense and keeps a part of the elements."""

NO_AXES = frozenset({"Arange", "Linspace"})
"""Operators whose output size hangs on numbers: only recipes suit them."""

ALTERNATIVES: dict[str, dict[str, str]] = {"Div": {"rounding_mode": "RoundModeFloor"}}
"""What the automatic axes try where the defaults break a constraint: integers in place need a rounded quotient."""
