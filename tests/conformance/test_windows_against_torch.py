"""The oracles of convolution, pooling and resampling against torch, over all their cases. Needs the `torch` extra.

Halves are left out: torch rounds them in between, where the interface adds up in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls import call_of

from diopigen.conformance.cases.suite import cases_of
from diopigen.conformance.cases.suite import tested as functions_of
from diopigen.conformance.compare.results import compare
from diopigen.conformance.dtypes import encode
from diopigen.conformance.model import SUCCESS
from diopigen.conformance.oracles import Call, Expected, answer_of
from diopigen.ir.model import Interface

torch = pytest.importorskip("torch", reason="torch is an optional extra: pip install 'diopigen[torch]'")
F = torch.nn.functional


class Arguments:
    """The arguments of a call as torch takes them; a parameter that the operator lacks is None."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def __getattr__(self, name: str) -> Any:
        value = self.call.values.get(name)
        return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def _gradient(forward: Callable[[Any], Any], x: Any, grad_output: Any) -> Any:
    x = x.clone().requires_grad_()
    return torch.autograd.grad(forward(x), x, grad_output)[0]


def _convolution(operator: str, a: Arguments) -> Any:
    transposed = "Transpose" in operator
    how = (a.stride, a.padding, a.dilation, transposed, a.output_padding or [0] * len(a.stride), a.groups)
    if not operator.endswith("Backward"):
        return torch.convolution(a.input, a.weight, a.bias, *how)
    channels = a.weight.shape[1] * a.groups if transposed else a.weight.shape[0]
    expected = [name in a.call.shapes for name in ("grad_input", "grad_weight", "grad_bias")]
    found = torch.ops.aten.convolution_backward(a.grad_output, a.input, a.weight, [channels], *how, expected)
    return [item for item, is_expected in zip(found, expected, strict=True) if is_expected]


def _pool(operator: str, a: Arguments) -> Any:
    count = next(n for n in (1, 2, 3) if f"{n}d" in operator)
    adaptive = bool(operator.startswith("Adaptive") or a.adaptive)
    is_max = "Max" in operator or a.mode == "max"
    window = a.kernel_size or a.ksize
    # torch calls the 1d form with a list; without a divisor of its own.
    own = {"divisor_override": a.divisor_override} if count > 1 else {}
    with_padding = not a.exclusive if a.count_include_pad is None else a.count_include_pad

    def mean(x: Any) -> Any:
        if adaptive:
            size = a.output_size or a.grad_output.shape[-count:]
            return getattr(F, f"adaptive_avg_pool{count}d")(x, size)
        how = (window, a.stride or None, a.padding, a.ceil_mode, with_padding)
        return getattr(F, f"avg_pool{count}d")(x, *how, **own)

    if operator.endswith("Backward") and is_max:
        flat = torch.zeros(a.input.shape, dtype=a.grad_output.dtype).flatten(-count)
        found = flat.scatter_add(-1, a.indices.flatten(-count), a.grad_output.flatten(-count))
        return found.reshape(a.input.shape)
    if operator.endswith("Backward"):
        return _gradient(mean, a.input, a.grad_output)
    if not is_max:
        return mean(a.input)
    if adaptive:
        return getattr(F, f"adaptive_max_pool{count}d")(a.input, a.output_size, return_indices=True)
    how = (window, a.stride or None, a.padding, a.dilation, a.ceil_mode)
    return getattr(F, f"max_pool{count}d")(a.input, *how, return_indices=True)


def _upsample(operator: str, a: Arguments) -> Any:
    how: dict[str, Any] = {"size": a.size or a.out_size, "mode": a.mode or "nearest"}
    if a.mode:
        how["align_corners"] = a.align_corners
    if operator.endswith("Backward"):
        x = torch.zeros(a.in_size, dtype=a.grad_output.dtype)
        return _gradient(lambda x: F.interpolate(x, **how), x, a.grad_output)
    return F.interpolate(a.input, **how)


def reference(operator: str, a: Arguments) -> Any:
    """Result of torch, one tensor or a list of them."""
    if "Conv" in operator:
        return _convolution(operator, a)
    if "Pool" in operator:
        return _pool(operator, a)
    if operator.startswith("Upsample"):
        return _upsample(operator, a)
    if operator == "GridSample":
        return F.grid_sample(a.input, a.grid, mode=a.mode, align_corners=False)
    if operator == "Im2Col":
        return F.unfold(a.input, a.kernel_size, a.dilation, a.padding, a.stride)
    return F.fold(a.input, a.output_size, a.kernel_size, a.dilation, a.padding, a.stride)


def test_the_oracles_of_windows_agree_with_torch(interface: Interface) -> None:
    wrong: list[str] = []
    compared: dict[str, int] = {}
    for function in (f for f in functions_of(interface) if f.family in ("convolution", "pooling", "resample")):
        compared[function.name] = 0
        for case in cases_of(interface, function):
            if case.expect != SUCCESS or case.dtype in ("float16", "bfloat16"):
                continue
            call = call_of(interface, case)
            try:
                found = reference(function.operator, Arguments(call))
            except (NotImplementedError, RuntimeError) as error:
                if "not implemented for" in str(error) or "pad should be" in str(error):
                    continue  # a dtype that torch does not have, or padding above half of an undilated window
                raise
            results = list(found) if isinstance(found, (tuple, list)) else [found]
            for (name, expected), actual in zip(answer_of(call).items(), results, strict=False):
                assert isinstance(expected, Expected)
                stored = encode(actual.numpy(), call.dtype(name)).reshape(expected.values.shape)
                fault = compare(stored, call.dtype(name), expected, function.tolerance, name)
                compared[function.name] += 1
                if fault is not None:
                    wrong.append(f"{case.id}: {name} {fault.message}: {fault.expected}, torch {fault.actual}")
    assert not [name for name, count in compared.items() if not count]
    assert not wrong, "\n".join(wrong[:8])
