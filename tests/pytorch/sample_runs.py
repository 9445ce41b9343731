"""A sample of an operator on the device compared with the same on the CPU.

Samples are those of PyTorch's own tests. Both sides get tensors of their own, with the same strides, so that neither
sees what the other writes.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn.modules.linear_cross_entropy_options import LinearCrossEntropyOptions
from torch.utils import _pytree as pytree

CPU = torch.device("cpu")
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool)
WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Outcome of an operator: tensors and numbers, or the error that it raised."""

    values: Any = None
    error: Exception | None = None


def moved(value: Any, device: torch.device) -> Any:
    """The same on another device or in other memory: dtype, strides and what else is in the storage included."""

    def move(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return tensor_moved(leaf, device)
        return device if isinstance(leaf, torch.device) else one_policy(leaf)

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
    """The operator on a sample that is on `device`. Its device argument follows."""
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


def gradients(
    sample: Any, values: Any, rounding: list[torch.dtype] | None = None
) -> tuple[list[torch.Tensor], list[torch.Tensor | None]] | None:
    """The outputs that have a gradient, and the gradients of the sample's inputs for outputs weighted by fixed numbers.
    None where there is nothing to differentiate. `rounding`: the dtypes to which weights are rounded first, by output,
    where those are not the outputs' own."""
    given = [leaf for leaf in tensors((sample.input, sample.args, sample.kwargs)) if leaf.requires_grad]
    outputs = [leaf for leaf in tensors(values) if leaf.requires_grad]
    found = weighted(outputs, given, rounding)
    return None if found is None else (outputs, found)


def weighted(
    results: list[torch.Tensor], given: list[torch.Tensor], rounding: list[torch.dtype] | None = None
) -> list[torch.Tensor | None] | None:
    """The gradients of `given` for results weighted by fixed numbers, those of results without gradient left out."""
    chosen = [index for index, leaf in enumerate(results) if leaf.requires_grad]
    if not given or not chosen:
        return None
    generator = torch.Generator().manual_seed(5)
    weights = []
    for index in chosen:
        result = results[index]
        kind = torch.complex64 if result.is_complex() else torch.float32
        drawn = torch.randn(result.shape, generator=generator, dtype=kind)
        weights.append(drawn.to(rounding[index] if rounding else result.dtype).to(result.dtype).to(result.device))
    return list(torch.autograd.grad([results[index] for index in chosen], given, weights, allow_unused=True))


def widened(sample: Any, shake: int = 0) -> Any:
    """A sample on the CPU, its numbers in float64; where `shake` is not 0, each moved by up to half a unit in its last
    place, at random with that seed."""
    made = place(sample, CPU)
    generator = torch.Generator().manual_seed(shake) if shake else None
    leaf = partial(widened_leaf, generator=generator)
    made.input, made.args, made.kwargs = pytree.tree_map(leaf, (made.input, made.args, made.kwargs))
    return made


def widened_leaf(leaf: Any, generator: torch.Generator | None = None) -> Any:
    """A tensor in float64, or the dtype in the place of a narrower one."""
    if isinstance(leaf, torch.Tensor) and leaf.dtype in WIDE:
        wide = leaf.detach().to(WIDE[leaf.dtype])
        if generator is not None and leaf.layout == torch.strided:
            off = torch.rand(leaf.shape, generator=generator, dtype=torch.float64) - 0.5
            wide = wide * (1 + torch.finfo(leaf.dtype).eps * off)
        return wide.requires_grad_(leaf.requires_grad)
    return WIDE.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf


def one_policy(leaf: Any) -> Any:
    """Makes PyTorch accumulate as on the CPU where it would decide by the device."""
    if not isinstance(leaf, LinearCrossEntropyOptions):
        return leaf
    method = leaf.chunking_method if leaf.batch_chunk_size or leaf.chunking_method != "auto" else "aspect_ratio"
    policy = "accurate" if leaf.acc_policy == "auto" else leaf.acc_policy
    return dataclasses.replace(leaf, acc_policy=policy, chunking_method=method)


def first(samples: Any, limit: int | None) -> list[Any]:
    return list(itertools.islice(samples, limit))
