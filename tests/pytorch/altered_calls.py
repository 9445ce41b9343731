"""Calls that the CPU rejects, made of samples of PyTorch's database by changing one argument: the device rejects them
too, with an exception of the same class.

Where the CPU alone has no kernel for a dtype, the device may compute: its result is that of float64 then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from sample_runs import CPU, called, first, place, tensors, widened
from torch.utils import _pytree as pytree

LIMITS = {False: (1, 12), True: (3, None)}
"""Numbers of samples, and of changed calls of each, by run: sampled and complete."""
UNCHECKED = frozenset(
    {"_batch_norm_with_update", "_native_batch_norm_legit", "_segment_reduce", "lu_unpack", "native_batch_norm"}
)
"""Entries whose CPU kernels of torch 2.13 end the process where a tensor has too few elements."""

_TENSORS: dict[str, Callable[[torch.Tensor], Any]] = {
    "int64": lambda t: t.to(torch.int64),
    "bool": lambda t: t.to(torch.bool),
    "float64": lambda t: t.to(torch.float64),
    "float16": lambda t: t.to(torch.float16),
    "complex64": lambda t: t.to(torch.complex64),
    "one more dimension": lambda t: t.unsqueeze(0),
    "no dimensions": lambda t: t.new_zeros(()),
    "no elements": lambda t: t.new_zeros((0,)),
    "out of bounds": lambda t: torch.full_like(t, 100),
    "below zero": lambda t: torch.full_like(t, -100),
    "longer": lambda t: torch.cat([t, t[:1]]),
    "wider": lambda t: torch.cat([t, t[..., :1]], -1),
    "none": lambda t: None,
}
_OTHERS: dict[type, tuple[Any, ...]] = {
    int: (99, -99, 0, -1, 1.5),
    float: (-1.0, float("nan"), 2.0),
    str: ("other",),
    torch.dtype: (torch.int64, torch.float16, torch.bool),
}


def altered(op: Any, whole: bool, device: torch.device) -> Iterator[str]:
    """Differences between the CPU and the device."""
    dtypes = op.supported_dtypes("cpu")
    if op.name in UNCHECKED or torch.float32 not in dtypes:
        return
    samples, calls = LIMITS[whole]
    torch.manual_seed(0)
    for index, sample in enumerate(first(op.sample_inputs("cpu", torch.float32), samples)):
        for label, changed in first(variants(sample), calls):
            try:
                here, there = place(changed, CPU), place(changed, device)
            except Exception:  # a tensor that cannot be copied with its strides
                continue
            expected = called(op, here, CPU)
            if expected.error is None:
                continue
            own = called(partial(finished, op), there, device)
            if type(own.error) is not type(expected.error) and not (own.error is None and is_right(op, changed, own)):
                raised = "accepts" if own.error is None else f"{type(own.error).__name__}: {own.error}"
                text = f"{type(expected.error).__name__}: {expected.error}"
                yield f"sample {index}, {label}: {raised.splitlines()[0][:160]}, CPU: {text.splitlines()[0][:160]}"


def finished(op: Any, *arguments: Any, **named: Any) -> Any:
    """The results, when the device has computed them: some kernels find a wrong index as late as then."""
    values = op(*arguments, **named)
    torch.accelerator.synchronize()
    return values


def variants(sample: Any) -> Iterator[tuple[str, Any]]:
    """The sample with one argument changed, and the number of the argument with what it is now."""
    leaves, form = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    for number, leaf in enumerate(leaves):
        for what, value in changes(leaf):
            changed, given, named = pytree.tree_unflatten([*leaves[:number], value, *leaves[number + 1 :]], form)
            made = type(sample)(changed, args=given, kwargs=named)
            made.output_process_fn_grad = sample.output_process_fn_grad
            yield f"argument {number}: {what}", made


def changes(leaf: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(leaf, torch.Tensor) and leaf.layout == torch.strided:
        for what, change in _TENSORS.items():
            try:
                yield what, change(leaf.detach())
            except (IndexError, RuntimeError):  # a tensor without such a dimension, a dtype without such a number
                continue
    elif type(leaf) is not bool:
        yield from ((str(value), value) for value in _OTHERS.get(type(leaf), ()))


def is_right(op: Any, sample: Any, own: Any) -> bool:
    """Returns whether the device computed what the CPU does in float64."""
    wide = called(op, widened_all(sample), CPU)
    if wide.error is not None:
        return False
    found, expected = tensors(own.values), tensors(wide.values)
    return len(found) == len(expected) and all(
        one.shape == other.shape
        and torch.allclose(one.cpu().to(other.dtype), other, rtol=1e-2, atol=1e-3, equal_nan=True)
        for one, other in zip(found, expected, strict=True)
    )


def widened_all(sample: Any) -> Any:
    """A sample in which integers are float64 too."""
    made = widened(sample)

    def wide(leaf: Any) -> Any:
        is_narrow = isinstance(leaf, torch.Tensor) and not leaf.is_floating_point() and not leaf.is_complex()
        return leaf.to(torch.float64) if is_narrow else leaf

    made.input, made.args, made.kwargs = pytree.tree_map(wide, (made.input, made.args, made.kwargs))
    return made
