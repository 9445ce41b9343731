"""What the expression of an elementwise operator leaves open, by operator, each with its reason.

A kernel need not be the expression word for word: an established form of it may add up terms that the expression does
not have, or give another answer where the definition has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from diopigen.conformance.dtypes import Array
from diopigen.conformance.oracles import Call


@dataclass(frozen=True, slots=True)
class Latitude:
    """`scale` is the size of the terms that kernels add up, in place of that of the expression; `free` says where any
    value is accepted, from the call and the compute dtype."""

    scale: Callable[[Call], Array] | None = None
    free: Callable[[Call, str], Array] | None = None


def _size(call: Call, name: str) -> Array:
    return np.asarray(np.abs(call.wide(name)))


def _is_nan(call: Call, _: str) -> Array:
    return np.asarray(np.isnan(call.wide("input")))


def _zero_to_zero(call: Call, compute: str) -> Array:
    if not compute.startswith("complex"):
        return np.asarray(False)
    return np.asarray((call.cast("input", compute) == 0) & (call.cast("exponent", compute) == 0))


LATITUDES: Mapping[str, Latitude] = {
    # 0.5 * (1 + tanh(z)) for sigmoid(2 z), and 0.5 * (1 + erf(z)) for 0.5 * erfc(-z): terms of 1/2 that cancel.
    "Gelu": Latitude(lambda call: _size(call, "input") * 0.5),
    # The same in the gradient, whose slope is at most 1.13 and is made of such terms.
    "GeluBackward": Latitude(lambda call: 2 * _size(call, "grad_output")),
    # 1 - sigmoid(x) of a sigmoid that was rounded, as terms of 1; the slope is at most 1.1.
    "SiluBackward": Latitude(lambda call: 2 * _size(call, "grad_output")),
    # Kernels clip x / 6 + 1/2 or x + 3; a clip's last place decides at the kinks. For NaN, torch's vector code selects
    # by comparisons that are written the other way round than those of its scalar code.
    "HardswishBackward": Latitude(lambda call: _size(call, "grad_output"), _is_nan),
    # For NaN as above.
    "HardtanhBackward": Latitude(free=_is_nan),
    # A complex zero to the power zero: the logarithm of zero is no number.
    "PowTensor": Latitude(free=_zero_to_zero),
}
