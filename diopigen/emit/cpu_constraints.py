"""How the CPU library checks the constraints of elementwise operators.

The text of a constraint is the key, so that a constraint that changes or appears without a check is found: a test
compares this table with the spec.
"""

from __future__ import annotations

from collections.abc import Mapping

CONDITIONS: Mapping[str, str] = {
    "min_val is not above max_val": "min_val <= max_val",
    "negative_slope is not negative where input_is_result is set": "not input_is_result or negative_slope >= 0",
    "rounding_mode is one of the three modes": "rounding_mode == RoundModeNone or rounding_mode == RoundModeTrunc "
    "or rounding_mode == RoundModeFloor",
    "min and max are not both null": "not is_null(min) or not is_null(max)",
    "momentum is above 0 and dampening is 0 when nesterov is true": "not nesterov or momentum > 0 and dampening == 0",
    "step is at least 1": "step >= 1",
    "max_exp_avg_sq is given when amsgrad is true": "not amsgrad or not is_null(max_exp_avg_sq)",
    "beta1 and beta2 are at least 0 and below 1": "beta1 >= 0 and beta1 < 1 and beta2 >= 0 and beta2 < 1",
    "rho is at least 0 and at most 1": "rho >= 0 and rho <= 1",
    "grad_avg is given when centered is true": "not centered or not is_null(grad_avg)",
    "momentum_buf is given when momentum is above 0": "momentum <= 0 or not is_null(momentum_buf)",
    "momentum is not negative": "momentum >= 0",
    "step is not zero": "step != 0",
    "end is not below start with a positive step, nor above it with a negative one": "(end - start) / step >= 0",
}
"""Constraints on plain arguments, as expressions of the spec's language."""

_NO_FRACTION = "!is_integral(compute) && compute != Dtype::kBool || !{0}_number.is_real"
_ROUNDED = "rounding_mode != RoundModeNone"

STATEMENTS: Mapping[str, str] = {
    "alpha is integral when the promoted dtype of input and other is integral or bool": "require_no_fraction:alpha",
    "alpha is integral when the promoted dtype of input and other is integral": "require_no_fraction:alpha",
    "value is integral when input, tensor1 and tensor2 are": "require_no_fraction:value",
    "exponent is not negative when input and exponent are integral": "require_no_negative:exponent",
    "other holds no zero when both operands are integral": "refuse_zero:other",
    "other is not zero when both operands are integral": "refuse_zero:other",
    "other holds no zero when both operands are integral or bool and the quotient is rounded": "refuse_zero:other",
    "other is not zero when both operands are integral or bool and the quotient is rounded": "refuse_zero:other",
    "where rounding_mode rounds, neither input nor other is complex, and not both are bool": "require_roundable",
    "value lies in the range of the dtype of input where that is integral (unsigned: its negatives too)": (
        "require_in_range:value"
    ),
    "start and end are whole numbers where out is integral": "require_whole:start,end",
    "start, end and step are whole numbers where out is integral": "require_whole:start,end,step",
    "out has as many elements as (end - start) / step, rounded up": "require_arange_length",
    "value is complex only where input is": "require_castable_operand:value,input",
    "input is not bool where other is integral": "promotion",
    "min_val and max_val are not negative where input is uint8": "require_unsigned:min_val,max_val",
    "size is at least 0 and at most the number of elements of inoutput": "require_size",
}
"""Constraints that need the tensors: the name of a check that `cpu_call` writes, with the parameters it is for."""


def is_promotion(text: str) -> bool:
    """Whether a constraint says that the result can be cast to the output: checked for every output of the kind."""
    return (
        "of no higher category than" in text
        or "can be cast to that of the input" in text
        or STATEMENTS.get(text) == "promotion"
    )
