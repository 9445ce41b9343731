"""The checks of one entry of PyTorch's module database: each gives the differences that it finds."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from differences import differences
from opinfo_checks import Way, brief, float64_by_default
from sample_runs import CPU, Outcome, first, moved, one_policy, tensors, weighted, widened_leaf
from torch.testing._internal.common_modules import ModuleErrorEnum
from torch.testing._internal.common_utils import noncontiguous_like
from torch.utils import _pytree as pytree

DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.complex64)
# How many inputs by run: the sampled one, and the whole one.
INPUTS = {False: 3, True: None}


def forward(info: Any, dtype: torch.dtype, training: bool, way: Way) -> Iterator[str]:
    """Results, gradients of inputs and parameters, and the buffers afterwards."""
    for index, (module, given) in enumerate(cases(info, dtype, training, way)):
        yield from (f"input {index}, {text}" for text in compared(module, given, way))


def strided(info: Any, dtype: torch.dtype, training: bool, way: Way) -> Iterator[str]:
    """The same with gaps between the elements of inputs and parameters."""
    for index, (module, given) in enumerate(cases(info, dtype, training, way)):
        for parameter in module.parameters():
            parameter.data = noncontiguous_like(parameter.data)
        yield from (f"input {index}, {text}" for text in compared(module, pytree.tree_map(gapped, given), way))


def gapped(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.layout != torch.strided or leaf.numel() < 2:
        return leaf
    return noncontiguous_like(leaf.detach()).requires_grad_(leaf.requires_grad)


def cases(info: Any, dtype: torch.dtype, training: bool, way: Way) -> Iterator[tuple[Any, tuple[Any, Any]]]:
    """Modules on the CPU with what they are called with."""
    torch.manual_seed(0)
    inputs = info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training)
    for given in first(inputs, INPUTS[way.whole]):
        if given.forward_input is None:
            continue
        module = made(info, given, dtype, training)
        call = (tuple(given.forward_input.args), dict(given.forward_input.kwargs))
        if info.is_lazy:
            with torch.no_grad():
                copied = copy.deepcopy(call)
                module(*copied[0], **copied[1])
        yield module, call


def made(info: Any, given: Any, dtype: torch.dtype, training: bool) -> Any:
    return constructed(info, given).to(dtype).train(training)


def constructed(info: Any, given: Any) -> Any:
    keywords = pytree.tree_map(one_policy, dict(given.constructor_input.kwargs))
    return info.module_cls(*given.constructor_input.args, **keywords)


def compared(module: Any, given: Any, way: Way) -> Iterator[str]:
    expected, theirs = ran(module, given, CPU)
    own, mine = ran(module, given, way.device)
    if expected.error is not None:
        if own.error is None:
            yield f"succeeds, where the CPU raises {brief(expected.error)}"
        return
    if own.error is not None:
        yield f"raises {brief(own.error)}"
        return
    true = InFloat64(module, given, [leaf.dtype for leaf in tensors(expected.values[0])])
    for part, name in enumerate(PARTS):
        texts = differences(own.values[part], expected.values[part], partial(true.part, part), values=way.values)
        yield from (f"{name}: {text}" for text in texts)
    yield from (f"inputs after: {text}" for text in differences(mine, theirs, lambda _: None, values=way.values))


PARTS = ("results", "gradients", "buffers")


class InFloat64:
    """Results of the module in float64, for its inputs or nearby ones, computed on demand and cached."""

    def __init__(self, module: Any, given: Any, rounding: list[torch.dtype]) -> None:
        self._made: dict[int, Outcome] = {}
        self._arguments = module, given, rounding

    def part(self, part: int, shake: int) -> Any:
        if shake not in self._made:
            module, given, rounding = self._arguments
            wide = torch.complex128 if any(leaf.is_complex() for leaf in tensors(given)) else torch.float64
            leaf = partial(widened_leaf, generator=torch.Generator().manual_seed(shake) if shake else None)
            with float64_by_default():
                made, _ = ran(copy.deepcopy(module).to(wide), pytree.tree_map(leaf, given), CPU, rounding)
            self._made[shake] = made
        found = self._made[shake]
        return None if found.error is not None else found.values[part]


def ran(
    module: Any, given: Any, device: torch.device, rounding: list[torch.dtype] | None = None
) -> tuple[Outcome, Any]:
    """Results, gradients and buffers of a copy of the module on a device, and the inputs afterwards."""
    args, kwargs = moved(given, device)
    try:
        own = copy.deepcopy(module).to(device)
        torch.manual_seed(3)
        results = own(*args, **kwargs)
        leaves = [leaf for leaf in tensors((args, kwargs)) if leaf.requires_grad]
        leaves += [parameter for parameter in own.parameters() if parameter.requires_grad]
        found = weighted(tensors(results), leaves, rounding)
        return Outcome((results, found, list(own.buffers()))), [leaf.detach() for leaf in tensors((args, kwargs))]
    except Exception as error:
        return Outcome(error=error), None


def errors(info: Any, dtype: torch.dtype, training: bool, way: Way) -> Iterator[str]:
    """Rejects the calls that PyTorch's tests expect to be rejected, with an error of the same type."""
    if info.module_error_inputs_func is None:
        return
    wrong = info.module_error_inputs_func(info, device="cpu", dtype=dtype, requires_grad=False, training=training)
    for index, item in enumerate(wrong):
        if item.error_on is not ModuleErrorEnum.FORWARD_ERROR:
            continue  # raised by the constructor, which asks no device
        given = item.module_error_input
        module = constructed(info, given).train(training)
        call = (tuple(given.forward_input.args), dict(given.forward_input.kwargs))
        expected, _ = ran(module, call, CPU)
        own, _ = ran(module, call, way.device)
        if expected.error is not None and own.error is None:
            yield f"error input {index}: accepted, where the CPU raises {brief(expected.error)}"
        elif expected.error is not None and own.error is not None and not isinstance(own.error, item.error_type):
            yield f"error input {index}: raises {brief(own.error)}, where the CPU raises {brief(expected.error)}"
