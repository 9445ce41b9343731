"""Comparison of results of the device with the CPU's.

Whole numbers must be equal, infinities and NaN in the same places. Other numbers may differ as much as PyTorch lets two
devices differ in its own tests (`torch.testing.assert_close`). Where one differs by more, float64 decides: see
`value_differences`. Whether the CPU itself is near float64 depends on the processor and its libraries, so that what
inputs rounded otherwise would change counts as well (N. J. Higham, Accuracy and Stability of Numerical Algorithms,
section 1.5: a stable algorithm gives nearly the result of nearby inputs).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch.testing._comparison import default_tolerances
from torch.utils import _pytree as pytree

# How many times as far from the result in float64 as the CPU's farthest element an element may be. Another order of
# computing costs about as much as the CPU's does; its farthest element is one draw of that.
FACTOR = 2.0
# And units in the last place of the largest element, for where the CPU is exact by luck: its last rounding costs up to
# half of one, and so does the device's.
UNITS = 1.0
# Computations in float64 with inputs off by up to a unit roundoff, of which the one that moves a result most counts.
SHAKES = 4


def differences(own: Any, expected: Any, truth: Callable[[int], Any], *, values: bool = True) -> Iterator[str]:
    """Differences of two results: structure, shape, dtype and, unless told otherwise, values.

    `truth(0)` gives the results of a computation in float64, `truth(1)`, `truth(2)`, ... those for inputs that a
    roundoff moved; either may be None. It is asked only where the CPU is not near.
    """
    left, right = pytree.tree_leaves(own), pytree.tree_leaves(expected)
    if len(left) != len(right):
        yield f"{len(left)} results, not {len(right)}"
        return
    true = Lazy(truth, len(right))
    for index, (mine, other) in enumerate(zip(left, right, strict=True)):
        for text in leaf_differences(mine, other, values, partial(true.at, index)):
            yield f"result {index}: {text}"


class Lazy:
    """The leaves of something that is made once for each number, if it is asked for."""

    def __init__(self, make: Callable[[int], Any], count: int) -> None:
        self._make, self._count = make, count
        self._leaves: dict[int, list[Any]] = {}

    def at(self, index: int, shake: int = 0) -> Any:
        if shake not in self._leaves:
            leaves = pytree.tree_leaves(self._make(shake))
            self._leaves[shake] = leaves if len(leaves) == self._count else [None] * self._count
        return self._leaves[shake][index]


def leaf_differences(own: Any, expected: Any, values: bool, truth: Callable[..., Any]) -> Iterator[str]:
    if not isinstance(expected, torch.Tensor):
        yield from number_differences(own, expected, values)
    elif not isinstance(own, torch.Tensor) or own.shape != expected.shape:
        yield f"shape {tuple(getattr(own, 'shape', ()))}, not {tuple(expected.shape)}"
    elif own.dtype != expected.dtype:
        yield f"{own.dtype}, not {expected.dtype}"
    elif own.layout != expected.layout:
        yield f"{own.layout}, not {expected.layout}"
    elif values and expected.numel() > 0:
        yield from value_differences(plain(own), plain(expected), truth)


def number_differences(own: Any, expected: Any, values: bool) -> Iterator[str]:
    if isinstance(own, torch.Tensor) or type(own) is not type(expected):
        yield f"a {type(own).__name__}, not a {type(expected).__name__}"
        return
    same = own == expected or (own != own and expected != expected) or not values or isinstance(expected, torch.device)
    if isinstance(expected, float) and not same:
        same = abs(own - expected) <= 1e-5 * max(1.0, abs(expected))
    if not same:
        yield f"{own}, not {expected}"


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers on the CPU, complex ones as pairs."""
    made = tensor.detach().cpu()
    made = made if made.layout == torch.strided else made.to_dense()
    return torch.view_as_real(made.resolve_conj()) if made.is_complex() else made


def value_differences(own: torch.Tensor, expected: torch.Tensor, truth: Callable[..., Any]) -> Iterator[str]:
    """Elements that are not near the CPU's must be as near to what float64 gives as the CPU's are, `FACTOR` and
    `UNITS` allowed for, or as the results of nearby inputs."""
    if not expected.is_floating_point():
        if not torch.equal(own, expected):
            yield f"{int((own != expected).sum())} of {own.numel()} elements differ"
        return
    relative, absolute = default_tolerances(expected.dtype)
    wide, other = own.double(), expected.double()
    near = torch.isclose(wide, other, relative, absolute, equal_nan=True)
    if bool(near.all()):
        return
    off = f"{int((~near).sum())} of {own.numel()} elements differ"
    exact = truth()
    if not isinstance(exact, torch.Tensor) or exact.dtype not in (torch.float64, torch.complex128):
        yield f"{off}, by up to {worst(wide - other):.2e}; there is no result in float64"
        return
    exact = plain(exact)
    if exact.shape != expected.shape:
        yield f"{off}, and float64 gives another shape"
        return
    finite = other.isfinite() & wide.isfinite() & exact.isfinite()
    if bool((~near & ~finite).any()):
        yield f"{off}: other infinities or NaN"
        return
    largest, theirs, mine = (worst(numbers[finite]) for numbers in (exact, other - exact, wide - exact))
    unit = torch.finfo(expected.dtype).eps * largest
    if mine <= FACTOR * theirs + UNITS * unit:
        return
    moved = movement(exact, finite, truth)
    if mine > FACTOR * max(theirs, moved) + UNITS * unit:
        yield (
            f"{off}: off by {mine:.2e} from float64 where the CPU is by {theirs:.2e}, nearby inputs by {moved:.2e}, "
            f"and a unit is {unit:.2e}"
        )


def movement(exact: torch.Tensor, finite: torch.Tensor, truth: Callable[..., Any]) -> float:
    """Change of a float64 result by the rounding of its inputs."""
    found = 0.0
    for shake in range(1, SHAKES + 1):
        other = truth(shake)
        if isinstance(other, torch.Tensor) and (other := plain(other)).shape == exact.shape:
            kept = (other - exact)[finite]
            found = max(found, worst(kept[kept.isfinite()]) if bool(kept.isfinite().any()) else 0.0)
    return found


def worst(numbers: torch.Tensor) -> float:
    return float(numbers.abs().max())
