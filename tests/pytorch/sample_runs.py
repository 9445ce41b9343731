"""A sample of an operator on the device beside the same on the CPU.

Samples are those of PyTorch's own tests. Both sides get tensors of their own, with the same strides, so that neither
sees what the other writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

CPU = torch.device("cpu")
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool)
# Relative to the largest number of a result, or to 1, since sums are made in another order: units in the last place.
UNITS = 32
# How much farther from the result in float64 than the CPU's kernel is.
FACTOR = 4.0
WIDE = {torch.float32: torch.float64, torch.complex64: torch.complex128}


@dataclass(frozen=True)
class Outcome:
    """What an operator gave: tensors and numbers, or the error that it raised."""

    values: Any = None
    error: Exception | None = None


def moved(value: Any, device: torch.device) -> Any:
    """The same on another device or in other memory: dtype, strides and what else is in the storage included."""

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return tensor_moved(leaf, device)
        return device if isinstance(leaf, torch.device) else leaf

    return pytree.tree_map(move, value)


def tensor_moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    if tensor.device.type == "meta":
        return tensor
    if tensor.layout != torch.strided:
        return tensor.detach().to(device)
    plain = tensor.detach().resolve_conj().resolve_neg() if tensor.is_conj() or tensor.is_neg() else tensor.detach()
    elements = plain.untyped_storage().nbytes() // plain.element_size()
    flat = torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage(), 0, (elements,), (1,))
    made = flat.to(device, copy=True).as_strided(plain.size(), plain.stride(), plain.storage_offset())
    made = made.conj() if tensor.is_conj() else made
    return made.requires_grad_(tensor.requires_grad)


def called(operator: Callable[..., Any], sample: Any, device: torch.device) -> Outcome:
    """The operator on a sample that lies on `device`. Its device argument follows."""
    keywords = {**sample.kwargs, "device": device} if "device" in sample.kwargs else sample.kwargs
    try:
        return Outcome(operator(sample.input, *sample.args, **keywords))
    except Exception as error:
        return Outcome(error=error)


def place(sample: Any, device: torch.device) -> Any:
    """A copy of a sample on a device."""
    made = type(sample)(
        moved(sample.input, device), args=moved(sample.args, device), kwargs=moved(sample.kwargs, device)
    )
    made.output_process_fn_grad = sample.output_process_fn_grad
    return made


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def gradients(sample: Any, values: Any) -> tuple[list[torch.Tensor], list[torch.Tensor | None]] | None:
    """The outputs that have a gradient, and the gradients of the sample's inputs for outputs weighted by fixed numbers.
    None where there is nothing to differentiate."""
    given = [leaf for leaf in tensors((sample.input, sample.args, sample.kwargs)) if leaf.requires_grad]
    outputs = [leaf for leaf in tensors(values) if leaf.requires_grad]
    if not given or not outputs:
        return None
    generator = torch.Generator().manual_seed(5)
    weights = []
    for output in outputs:
        kind = torch.complex64 if output.is_complex() else torch.float32
        drawn = torch.randn(output.shape, generator=generator, dtype=kind)
        weights.append(drawn.to(output.dtype).to(output.device))
    return outputs, list(torch.autograd.grad(outputs, given, weights, allow_unused=True))


def widened(sample: Any) -> Any:
    """A sample on the CPU, its numbers of 32 bits in float64."""
    made = place(sample, CPU)

    def wide(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dtype in WIDE:
            return leaf.detach().to(WIDE[leaf.dtype]).requires_grad_(leaf.requires_grad)
        return WIDE.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf

    made.input, made.args, made.kwargs = pytree.tree_map(wide, (made.input, made.args, made.kwargs))
    return made


def differences(own: Any, expected: Any, *, values: bool = True, truth: Any = None) -> Iterator[str]:
    """What is not alike in two results: structure, shape, dtype and, unless told otherwise, values. With the results
    of a computation in float64, the own ones may be `FACTOR` times as far from them as the expected ones are."""
    left, right = pytree.tree_leaves(own), pytree.tree_leaves(expected)
    if len(left) != len(right):
        yield f"{len(left)} results, not {len(right)}"
        return
    true = pytree.tree_leaves(truth)
    true = true if len(true) == len(right) else [None] * len(right)
    for index, (mine, other, wide) in enumerate(zip(left, right, true, strict=True)):
        for text in leaf_differences(mine, other, values, wide):
            yield f"result {index}: {text}"


def judged(own: Any, expected: Any, truth: Callable[[], Any], *, values: bool = True) -> list[str]:
    """The same, where float64 is asked only if it must be."""
    found = list(differences(own, expected, values=values))
    return list(differences(own, expected, values=values, truth=truth())) if found and values else found


def leaf_differences(own: Any, expected: Any, values: bool, truth: Any = None) -> Iterator[str]:
    if not isinstance(expected, torch.Tensor):
        if not isinstance(own, torch.Tensor) and type(own) is type(expected):
            same = own == expected or own != own or not values or isinstance(expected, torch.device)
            if isinstance(expected, float) and not same:
                same = abs(own - expected) <= 1e-5 * max(1.0, abs(expected))
            if not same:
                yield f"{own}, not {expected}"
        else:
            yield f"a {type(own).__name__}, not a {type(expected).__name__}"
        return
    if not isinstance(own, torch.Tensor) or own.shape != expected.shape:
        yield f"shape {tuple(getattr(own, 'shape', ()))}, not {tuple(expected.shape)}"
    elif own.dtype != expected.dtype:
        yield f"{own.dtype}, not {expected.dtype}"
    elif expected.layout != torch.strided:
        if own.layout != expected.layout:
            yield f"{own.layout}, not {expected.layout}"
        elif values:
            yield from value_differences(own.cpu().to_dense(), expected.to_dense())
    elif values and expected.numel() > 0:
        yield from value_differences(own.detach().cpu(), expected.detach(), distance(expected, truth))


def distance(expected: torch.Tensor, truth: Any) -> float:
    """How far the expected result is from the true one at most; 0 where there is none to compare with."""
    if not isinstance(truth, torch.Tensor) or truth.dtype not in WIDE.values() or truth.shape != expected.shape:
        return 0.0
    far = (expected.detach().to(truth.dtype) - truth.detach()).abs()
    return float(far[far.isfinite()].max()) if bool(far.isfinite().any()) else 0.0


def value_differences(own: torch.Tensor, expected: torch.Tensor, near: float = 0.0) -> Iterator[str]:
    """Whole numbers must be equal; others may differ by `UNITS` units in the last place of the largest one, and by
    `FACTOR` times `near`, the error of the expected ones."""
    if own.numel() == 0:
        return
    if not (expected.is_floating_point() or expected.is_complex()):
        if not torch.equal(own, expected):
            count = int((own != expected).sum())
            yield f"{count} of {own.numel()} elements differ"
        return
    if own.is_complex():
        own, expected = torch.view_as_real(own.resolve_conj()), torch.view_as_real(expected.resolve_conj())
    wide, truth = own.double(), expected.double()
    finite = truth.isfinite()
    if not torch.equal(wide[~finite].nan_to_num(), truth[~finite].nan_to_num()):
        yield "other infinities or NaN"
    elif bool(finite.any()):
        largest = truth[finite].abs().max().clamp(min=1.0)
        far = (wide - truth)[finite].abs().nan_to_num(float("inf"), float("inf")).max()
        allowed = max(UNITS * torch.finfo(expected.dtype).eps * largest, FACTOR * near)
        if far > allowed:
            yield f"off by {far:.2e} where the largest is {largest:.2e} and {allowed:.2e} is allowed"


def first(samples: Any, limit: int | None) -> list[Any]:
    return list(itertools.islice(samples, limit))
