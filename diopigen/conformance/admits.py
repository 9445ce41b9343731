"""What operators ask of their arguments beyond what rules say, for the cases that the suite makes up itself.

Constraints are prose in the spec. Where a recipe is carried over to other dtypes, or axes are made up, these tables say
which values keep them. A new operator needs an entry only where random numbers would break one of its constraints.
"""

from __future__ import annotations

from collections.abc import Mapping

from diopigen.conformance.model import Number, Operand, Value
from diopigen.contract.dtypes import category, kind, promote, to_float
from diopigen.ir.recipe import Drawn

_INTEGRAL_FACTORS: dict[str, tuple[str, ...]] = {
    "Add": ("alpha",),
    "Sub": ("alpha",),
    "Addcmul": ("value",),
    "Addmm": ("alpha", "beta"),
    "Baddbmm": ("alpha", "beta"),
}
"""Factors that must be integral where every operand is integral or bool."""

_NONZERO_INTEGERS = {"Div": ("other",), "RemainderTensor": ("other",)}
"""Divisors; integers must not be zero."""

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

BOOL_TAKES_NUMBERS = frozenset({"Add", "Mul", "BitwiseAnd", "BitwiseOr"})
"""Operators whose in-place Scalar form lets a bool tensor take an integral number, although it promotes to int64."""

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
    "LinearBackward", "MatmulAllReduce",
    "StackBallQueryMmcv", "StackGroupPointsMmcv",
    "IndiceMaxpoolMmcv", "IndiceConvMmcv", "IndiceConvBackwardMmcv", "FusedIndiceConvBatchnormMmcv",
})  # fmt: skip
"""Operators without a meaning for no samples (statistics of nothing), whose dimension N is not one of samples, or whose
counts and indices refer to the samples."""

NO_NULL: dict[str, tuple[str, ...]] = {
    "BatchNorm": ("running_mean", "running_var"),
    "BatchNormGatherStatsWithCounts": ("running_mean", "running_var"),
    "BatchNormBackward": ("running_mean", "running_var", "save_mean", "save_invstd"),
    "Dropout": ("mask",),
    "DropoutInp": ("mask",),
    "BatchNormBackwardReduce": ("sum_dy", "sum_dy_xmu", "grad_weight", "grad_bias"),
    "MultiHeadAttention": ("debug_attn_mask",),
    "MultiHeadAttentionVarLen": ("debug_attn_mask",),
    "Pool1dBackward": ("indices",),
    "Pool2dBackward": ("indices",),
    "Pool3dBackward": ("indices",),
    "SyncBnOutputMmcv": ("running_mean", "running_var", "weight", "bias"),
}
"""Optional tensors that other arguments ask for, or that come in pairs."""

NO_BOUNDS: dict[str, tuple[str, ...]] = {
    "SliceScatter": ("step",),
    "SliceBackward": ("step",),
    "UnfoldBackward": ("size", "step"),
    "RoiAlignBackward": ("pooled_height", "pooled_width"),
    "DeformRoiPoolMmcv": ("pooled_height", "pooled_width"),
    "IndiceMaxpoolMmcv": ("numAct",),
    "IndiceConvMmcv": ("numActOut",),
    "FusedIndiceConvBatchnormMmcv": ("numActOut",),
}
"""Numbers that the shape or the indices of an operand follow: a recipe with another number needs another operand."""

SPARSE = {"SpMM": "input"}
"""Operands in compressed sparse rows; a case draws them dense and keeps a part of the elements."""

NO_AXES = frozenset({"Arange", "Linspace"})
"""Operators whose output size hangs on numbers: only recipes suit them."""

ALTERNATIVES: dict[str, dict[str, str]] = {"Div": {"rounding_mode": "RoundModeFloor"}}
"""What the automatic axes try where the defaults break a constraint: integers in place need a rounded quotient."""


def admits(operator: str, arguments: Mapping[str, Value]) -> bool:
    """Whether arguments keep the operator's constraints, as far as this module knows them."""
    operands = [value for value in arguments.values() if isinstance(value, Operand)]
    integral = all(category(value.dtype) <= 1 for value in operands)
    numbers = {name: value for name, value in arguments.items() if isinstance(value, Number)}
    for name in _INTEGRAL_FACTORS.get(operator, ()):
        factor = arguments.get(name)
        value = factor.value if isinstance(factor, Number) else factor
        others = [value for other, value in numbers.items() if other not in _INTEGRAL_FACTORS[operator]]
        whole = integral and all(kind(other.dtype) != "float" for other in others)
        if whole and isinstance(value, float) and not value.is_integer():
            return False
        if whole and isinstance(factor, Number) and factor.dtype == "float64":
            return False
    if operator == "Hardtanh" and operands[0].dtype == "uint8" and any(n.value < 0 for n in numbers.values()):
        return False
    if operator == "Div" and not _divides(arguments):
        return False
    for name in _NONZERO_INTEGERS.get(operator, ()):
        divisor = arguments.get(name)
        literal = divisor.values if isinstance(divisor, Operand) else None
        if integral and isinstance(literal, tuple) and 0 in _flat(literal):
            return operator == "Div" and arguments.get("rounding_mode") == "RoundModeNone"
    if operator == "PowTensor":
        exponent = numbers.get("exponent")
        if exponent is not None and integral and kind(exponent.dtype) == "int" and exponent.value < 0:
            return False
    return True


def _flat(values: object) -> tuple[object, ...]:
    if not isinstance(values, tuple):
        return (values,)
    return tuple(item for value in values for item in _flat(value))


def _divides(arguments: Mapping[str, Value]) -> bool:
    """Whether a quotient fits into where it goes, and can be rounded where it is to be."""
    operands = [arguments[name] for name in ("input", "other")]
    known = [
        (v.dtype, len(v.shape) if isinstance(v, Operand) else None)
        for v in operands
        if isinstance(v, (Operand, Number))
    ]
    natural = promote(known)
    target = arguments.get("out", arguments["input"])
    if arguments.get("rounding_mode") == "RoundModeNone":
        natural = to_float(natural)
    elif kind(natural) in ("complex", "bool"):
        return False
    return isinstance(target, Operand) and category(natural) <= category(target.dtype)


def nonzero_integers(operator: str, name: str) -> bool:
    """Whether an integral operand must not hold zero."""
    return name in _NONZERO_INTEGERS.get(operator, ())
