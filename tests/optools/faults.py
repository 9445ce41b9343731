"""Faults of devices, injected below the tools: 60 in four models.

A fault changes what one operator computes. The CPU's reference does not pass through it, so that on the CPU the program
plays the device. On a real device the same faults change that device's results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from networks import MODELS
from optools.capturing import written_arguments
from optools.context import CONTEXT
from optools.mode import Call, Proceed, Selection, Tool, quiet
from optools.tensors import mapped, tensors_of

Change = Callable[["Injected", Call, Proceed], Any]


class Injected(Tool):
    """One operator that is wrong."""

    innermost = True

    def __init__(self, ops: str, change: Change, **selection: Any) -> None:
        super().__init__(Selection(ops, **selection))
        self.change = change
        self.acted = 0
        """Calls that the fault changed."""
        self.memory: dict[Any, Any] = {}
        self.noise = torch.Generator("cpu").manual_seed(11)

    def call(self, call: Call, proceed: Proceed) -> Any:
        return self.change(self, call, proceed) if call.facts.computes else proceed(call)


def results(call: Call, out: Any) -> list[Any]:
    """The floating results of a call that may be changed in place."""
    found = tensors_of(out) or tensors_of(written_arguments(call))
    return [tensor for tensor in found if tensor.dtype.is_floating_point and tensor.numel()]


def overwrite(tensor: Any, values: Any) -> None:
    """Changes a result as a wrong kernel would: autograd does not notice."""
    with torch.autograd._unsafe_preserve_version_counter(tensor):
        tensor.copy_(values)


def altered(change: Callable[[Injected, Any], Any]) -> Change:
    """Replaces the values of the first floating result by what a function makes of a copy; None keeps it."""

    def run(fault: Injected, call: Call, proceed: Proceed) -> Any:
        out = proceed(call)
        with quiet():
            for tensor in results(call, out)[:1]:
                values = change(fault, tensor.detach().to("cpu", copy=True))
                if values is not None:
                    overwrite(tensor, values)
                    fault.acted += 1
        return out

    return run


def scaled(factor: float) -> Change:
    """Every element is wrong by a factor."""
    return altered(lambda _, values: values * factor)


def one_element(values: Any, index: int = -1) -> Any:
    """One element is off by a hundredth of the largest."""
    flat = values.clone().reshape(-1)
    flat[index] += 0.01 * flat.abs().max() + 1e-6
    return flat.reshape(values.shape)


def last_row(values: Any) -> Any:
    """The end of the work is not done: the last row has the sign of another formula."""
    values = values.clone()
    values[-1] = -values[-1]
    return values


def exchanged(values: Any) -> Any:
    """Two neighbours change places."""
    flat = values.clone().reshape(-1)
    flat[:2] = flat[:2].flip(0)
    return flat.reshape(values.shape)


def biased(values: Any) -> Any:
    """A constant is added to small elements, which the largest hide."""
    small = values.abs() < values.abs().median() + 1e-30
    return torch.where(small, values + values.abs().max() * 1e-3, values)


def coarse(values: Any) -> Any:
    """Five bits of the result are lost."""
    return (values.float().view(torch.int32) & ~0x3FFFF).view(torch.float32).to(values.dtype)


def stale(fault: Injected, call: Call, proceed: Proceed) -> Any:
    """From the second call with the same shapes on, the buffer still has the result of the call before."""
    out = proceed(call)
    with quiet():
        for tensor in results(call, out)[:1]:
            key = tuple(tensor.shape)
            now = tensor.detach().to("cpu", copy=True)
            before = fault.memory.get(key)
            fault.memory[key] = now
            if before is not None and not torch.equal(before, now):
                overwrite(tensor, before)
                fault.acted += 1
    return out


def ignores_strides(fault: Injected, call: Call, proceed: Proceed) -> Any:
    """Operands that are not contiguous are read as if they were."""
    changed = 0

    def leaf(value: Any) -> Any:
        nonlocal changed
        if isinstance(value, torch.Tensor) and value.dtype.is_floating_point and not value.is_contiguous():
            size = value.untyped_storage().nbytes() // value.element_size()
            if value.storage_offset() + value.numel() <= size:
                changed += 1
                stride = torch.empty(value.shape, device="meta").stride()
                return torch.as_strided(value, value.shape, stride, value.storage_offset())
        return value

    with quiet():
        wrong = Call(call.func, call.facts, mapped(tuple(call.args), leaf), mapped(dict(call.kwargs), leaf))
    fault.acted += bool(changed)
    return proceed(wrong if changed else call)


def overflows(limit: float) -> Change:
    """Values beyond a limit become inf, as in a sum of too narrow a dtype."""

    def change(_: Injected, values: Any) -> Any:
        if not bool((values.abs() > limit).any()):
            return None
        return torch.where(values.abs() > limit, torch.full_like(values, float("inf")).copysign(values), values)

    return altered(change)


def noisy(fault: Injected, values: Any) -> Any:
    """In half of the calls, elements are off by some thousandths, at random."""
    if float(torch.rand((), generator=fault.noise, device="cpu")) < 0.5:
        return None
    noise = torch.randn(values.shape, generator=fault.noise, device="cpu").to(values.dtype)
    return values + values * noise * 4e-3


def late(step: int, change: Callable[[Any], Any]) -> Change:
    """A fault from a step on."""
    return altered(lambda _, values: change(values) if CONTEXT.step >= step else None)


def in_half(change: Callable[[Any], Any]) -> Change:
    """A fault in half precision alone."""
    half = (torch.float16, torch.bfloat16)
    return altered(lambda _, values: change(values) if values.dtype in half else None)


def scaled_by(factor: float) -> Callable[[Any], Any]:
    """Every element is wrong by a factor that half precision sees."""
    return lambda values: values * factor


def coarse_by(bits: int) -> Callable[[Any], Any]:
    """So many bits of half precision are lost."""
    return lambda values: (values.view(torch.int16) & ~((1 << bits) - 1)).view(values.dtype)


def scaled_noise(fault: Injected, values: Any) -> Any:
    """Noise that half precision sees, in half of the calls."""
    if float(torch.rand((), generator=fault.noise, device="cpu")) < 0.5:
        return None
    return values * (1 + 0.05 * torch.randn(values.shape, generator=fault.noise, device="cpu")).to(values.dtype)


def plainly(change: Callable[[Any], Any]) -> Change:
    """A fault of each call."""
    return altered(lambda _, values: change(values))


@dataclass(frozen=True)
class Fault:
    """A fault in a model: its kind, the operator, and what happens to it."""

    model: str
    kind: str
    op: str
    change: Change
    phases: str = ""

    @property
    def name(self) -> str:
        """For the list of tests."""
        return f"{self.model}-{self.kind}-{self.op}{'-' + self.phases if self.phases else ''}".replace(" ", "_")


def _of(model: str, *entries: tuple[Any, ...]) -> list[Fault]:
    return [Fault(model, *entry) for entry in entries]


FAULTS = [
    *_of(
        "perceptron",
        ("wrong values", "addmm", scaled(1.001)),
        ("wrong values", "gelu", plainly(one_element), "forward"),
        ("wrong values", "native_layer_norm", plainly(last_row)),
        ("wrong values", "_log_softmax", plainly(exchanged)),
        ("wrong values", "nll_loss_forward", scaled(1.01)),
        ("wrong gradient", "gelu_backward", plainly(biased)),
        ("wrong gradient", "native_layer_norm_backward", scaled(0.999)),
        ("wrong gradient", "mm", plainly(last_row), "backward"),
        ("wrong gradient", "_log_softmax_backward_data", plainly(coarse)),
        ("stale buffer", "addmm", stale),
        ("stale buffer", "sum.dim_IntList", stale, "backward"),
        ("stride handling", "mm", ignores_strides, "backward"),
        ("non-determinism", "gelu", altered(noisy)),
        ("late step", "native_layer_norm", late(2, lambda values: values * 1.002)),
        ("late step", "gelu_backward", late(3, one_element)),
    ),
    *_of(
        "convolutional",
        ("wrong values", "convolution", scaled(1.0005)),
        ("wrong values", "native_batch_norm", plainly(last_row)),
        ("wrong values", "max_pool2d_with_indices", plainly(one_element)),
        ("wrong values", "relu", plainly(biased)),
        ("wrong values", "mean.dim", plainly(exchanged)),
        ("wrong gradient", "convolution_backward", plainly(one_element)),
        ("wrong gradient", "native_batch_norm_backward", scaled(1.001)),
        ("wrong gradient", "max_pool2d_with_indices_backward", plainly(last_row)),
        ("wrong gradient", "threshold_backward", plainly(exchanged)),
        ("stale buffer", "convolution", stale),
        ("stale buffer", "native_batch_norm_backward", stale),
        ("stride handling", "add.Tensor", ignores_strides, "forward"),
        ("non-determinism", "convolution_backward", altered(noisy)),
        ("late step", "native_batch_norm", late(2, one_element)),
        ("late step", "convolution", late(3, coarse)),
    ),
    *_of(
        "transformer",
        ("wrong values", "_softmax", scaled(1.0002)),
        ("wrong values", "bmm", plainly(one_element), "forward"),
        ("wrong values", "embedding", plainly(last_row)),
        ("wrong values", "native_layer_norm", plainly(coarse)),
        ("wrong values", "tanh", plainly(exchanged)),
        ("wrong gradient", "_softmax_backward_data", plainly(biased)),
        ("wrong gradient", "embedding_dense_backward", plainly(exchanged)),
        ("wrong gradient", "bmm", scaled(1.002), "backward"),
        ("wrong gradient", "tanh_backward", plainly(one_element)),
        ("stale buffer", "_softmax", stale),
        ("stale buffer", "bmm", stale, "backward"),
        ("stride handling", "bmm", ignores_strides),
        ("stride handling", "native_layer_norm", ignores_strides),
        ("non-determinism", "embedding_dense_backward", altered(noisy)),
        ("late step", "_softmax_backward_data", late(2, lambda values: values * 0.998)),
    ),
    *_of(
        "half",
        ("overflow", "addmm", overflows(2.0)),
        ("overflow", "mul.Tensor", overflows(2.0), "forward"),
        ("overflow", "native_layer_norm_backward", overflows(1e-3)),
        ("half precision", "addmm", in_half(scaled_by(1.01))),
        ("half precision", "silu", in_half(coarse_by(6)), "forward"),
        ("half precision", "silu_backward", in_half(scaled_by(0.98))),
        ("half precision", "native_layer_norm", in_half(one_element)),
        ("half precision", "mm", in_half(last_row), "backward"),
        ("wrong values", "mul.Tensor", plainly(exchanged), "forward"),
        ("wrong gradient", "sum.dim_IntList", scaled(1.02), "backward"),
        ("stale buffer", "silu", stale, "forward"),
        ("stale buffer", "mm", stale, "backward"),
        ("stride handling", "mm", ignores_strides, "backward"),
        ("non-determinism", "silu", altered(scaled_noise)),
        ("late step", "addmm", late(2, one_element)),
    ),
]
assert len(FAULTS) == 60 and {fault.model for fault in FAULTS} == set(MODELS)
