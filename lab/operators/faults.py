"""The faults that are injected into operators: what each is, and where its kernel stands. Needs no torch."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

NAMESPACE = "lab"
"""The namespace of the operators in torch."""
OPERATORS = "DIOPIGEN_LAB_OPERATORS"
SELECTED = "DIOPIGEN_LAB_FAULTS"
"""Variables of the environment with the operators to define, and the faults to inject."""


@dataclass(frozen=True, slots=True)
class InjectedFault:
    """A fault in an operator, which has the name of an overload of ATen. Its kernel is the function of its name in
    `lab/operators/kernels`."""

    name: str
    operator: str
    sentence: str

    def kernel(self) -> Callable[..., Any]:
        """The kernel that has the fault."""
        for module in ("elementwise", "rows", "others"):
            found = getattr(importlib.import_module(f"lab.operators.kernels.{module}"), self.name, None)
            if found is not None:
                kernel: Callable[..., Any] = found
                return kernel
        raise LookupError(f"no kernel in lab/operators/kernels has the fault '{self.name}'")


FAULTS = tuple(
    InjectedFault(*entry)
    for entry in (
        ("last_element", "exp", "the last element of a tensor of more than 32 is not computed"),
        ("strides_ignored", "neg", "an operand that is not contiguous is read as if it was"),
        ("out_strides_ignored", "exp.out", "results are written as if the output was contiguous"),
        ("half_sigmoid", "sigmoid", "halves are computed in half precision, rounded after each step"),
        ("nan_to_zero", "relu", "NaN becomes 0"),
        ("nan_dropped", "maximum", "the other number is returned where one is NaN"),
        ("nan_clamped", "clamp", "NaN becomes the lower bound"),
        ("narrow_promotion", "add.Tensor", "mixed dtypes are added in the narrower one"),
        ("alias_overwritten", "lerp_.Tensor", "the start is scaled before an end in the same memory is read"),
        ("truncated_bfloat16", "mul.Tensor", "results in bfloat16 are cut off, not rounded"),
        ("cancelled_digits", "expm1", "1 is subtracted from the exponential, which loses digits near 0"),
        ("tanh_for_erf", "gelu", "the approximation with tanh is used where none is asked for"),
        ("float_comparison", "eq.Tensor", "integers are compared as float32"),
        ("even_roots", "pow.Tensor_Scalar", "powers of negative numbers lose their sign"),
        ("gradient_at_tie", "threshold_backward", "the gradient passes where the input is the threshold"),
        ("mask_aligned_left", "masked_fill.Scalar", "a mask of fewer dimensions is aligned to the first ones"),
        ("eps_outside", "native_layer_norm", "eps is added to the deviation, not to the variance"),
        ("one_pass_variance", "native_layer_norm", "the variance is a difference of large sums in float32"),
        ("eps_constant", "_fused_rms_norm", "eps is 1e-6 whatever is passed"),
        ("correction_ignored", "std.correction", "the correction is always 1"),
        ("negative_dim", "_softmax", "a negative dim counts from the front"),
        ("unstable_logarithm", "_log_softmax", "the sum of maximum and logarithm is subtracted at once"),
        ("empty_product", "prod.dim_int", "the product of no elements is 0"),
        ("mean_of_nothing", "mean.dim", "the mean of no elements is 0"),
        ("scalar_rejected", "cumsum", "a tensor without dimensions is refused"),
        ("block_carry", "cumsum", "what came before the last full block of 64 is not added"),
        ("integer_wraps", "sum.dim_IntList", "integers are added in their own dtype"),
        ("truth_of_integers", "any.dim", "numbers are made integers before they are compared with 0"),
        ("last_of_ties", "argmax", "the last of equal numbers is returned"),
        ("nan_is_smallest", "topk", "NaN counts as the smallest number"),
        ("unstable_sort", "sort.stable", "equal numbers change their order when sorted downwards"),
        ("half_accumulator", "mm", "half precision numbers are added in half precision"),
        ("out_not_resized", "mm.out", "an output of another shape is left as it is"),
        ("zero_times_nan", "addmm", "beta of 0 multiplies, so that NaN of the input passes"),
        ("groups_interleaved", "convolution", "channels of groups are interleaved"),
        ("ceil_divisor", "avg_pool2d", "with ceil_mode all windows divide by the whole kernel"),
        ("padding_is_zero", "max_pool2d_with_indices", "padding counts as 0, not as minus infinity"),
        ("ignored_in_mean", "cross_entropy_loss", "the mean counts ignored targets"),
        ("last_write_wins", "scatter_add", "of several numbers for one element the last is added"),
        ("padding_gradient", "embedding_dense_backward", "the row of padding_idx gets a gradient"),
        ("index_clamped", "index_select", "an index out of range is clamped"),
        ("size_of_one", "upsample_bilinear2d", "an output of one pixel with aligned corners divides 0 by 0"),
        ("first_of_batch", "triu", "of a batch only the first matrix is cut"),
        ("long_shift", "roll", "a shift of more than the size is clamped to it"),
        ("seed_ignored", "bernoulli", "numbers come from a generator of its own"),
        ("inverse_probability", "native_dropout", "an element is kept, not dropped, with probability p"),
        ("rest_of_list", "_foreach_neg", "of a list only the first tensor is computed"),
        ("first_of_list", "_foreach_mul.Scalar", "the second tensor of a list has the result of the first"),
    )
)


def matching(globs: Sequence[str]) -> list[InjectedFault]:
    """The faults whose name or operator matches one of the globs."""
    return [one for one in FAULTS if any(fnmatchcase(one.name, g) or fnmatchcase(one.operator, g) for g in globs)]
