"""Losses and their gradients, float32."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("loss",)
MEAN = "ReductionMean"
MEAN_OF_TORCH = 1


def _elementwise(device: Device, size: str, count: int) -> Iterator[Case]:
    x, y, out = torch.rand(count), torch.rand(count).round(), torch.empty(())
    result, one = torch.empty(count), torch.ones(())
    aten = torch.ops.aten
    calls = (
        ("diopiMSELoss", (), functional.mse_loss, aten.mse_loss_backward),
        ("diopiSmoothL1Loss", (1.0,), functional.smooth_l1_loss, aten.smooth_l1_loss_backward),
    )
    for name, rest, forward, backward in calls:
        ours = device.call(name, out, x, y, MEAN, *rest)
        yield Case("loss", name, size, ours, lambda forward=forward: forward(x, y))
        ours = device.call(f"{name}Backward", result, one, x, y, MEAN, *rest)

        def theirs(backward=backward, rest=rest):
            return backward(one, x, y, MEAN_OF_TORCH, *rest)

        yield Case("loss", f"{name}Backward", size, ours, theirs)
    ours = device.call("diopiBCELoss", out, x, y, None, MEAN)
    yield Case("loss", "diopiBCELoss", size, ours, lambda: functional.binary_cross_entropy(x, y))
    ours = device.call("diopiBCELossBackward", result, one, x, y, None, MEAN)
    yield Case("loss", "diopiBCELossBackward", size, ours,
               lambda: aten.binary_cross_entropy_backward(one, x, y, None, MEAN_OF_TORCH))  # fmt: skip
    ours = device.call("diopiBCEWithLogits", out, x, y, None, None, MEAN)
    yield Case("loss", "diopiBCEWithLogits", size, ours, lambda: functional.binary_cross_entropy_with_logits(x, y))


def _classes(device: Device, shape: tuple[int, int]) -> Iterator[Case]:
    size = f"{shape[0]} x {shape[1]}"
    x, target, out = torch.randn(shape), torch.randint(0, shape[1], shape[:1]), torch.empty(())
    result, one, total = torch.empty(shape), torch.ones(()), torch.tensor(float(shape[0]))
    aten = torch.ops.aten
    rest = (None, MEAN, -100)
    ours = device.call("diopiCrossEntropyLoss", out, x, target, *rest, 0.0)
    yield Case("loss", "diopiCrossEntropyLoss", size, ours, lambda: functional.cross_entropy(x, target))

    def gradient() -> torch.Tensor:
        logs = torch.log_softmax(x, 1)
        inner = aten.nll_loss_backward(one, logs, target, None, MEAN_OF_TORCH, -100, total)
        return aten._log_softmax_backward_data(inner, logs, 1, torch.float32)

    ours = device.call("diopiCrossEntropyLossBackward", result, one, x, target, *rest, 0.0)
    yield Case("loss", "diopiCrossEntropyLossBackward", size, ours, gradient)
    ours = device.call("diopiNLLLoss", out, x, target, *rest)
    yield Case("loss", "diopiNLLLoss", size, ours, lambda: functional.nll_loss(x, target))
    ours = device.call("diopiNLLLossBackward", result, one, x, target, *rest)
    yield Case("loss", "diopiNLLLossBackward", size, ours,
               lambda: aten.nll_loss_backward(one, x, target, None, MEAN_OF_TORCH, -100, total))  # fmt: skip


def cases(device: Device) -> Iterator[Case]:
    """Losses of elements at two sizes, losses of classes at three shapes."""
    for size, count in {"1M": 1 << 20, "16M": 1 << 24}.items():
        yield from _elementwise(device, size, count)
    for shape in ((65536, 10), (4096, 1000), (512, 32000)):
        yield from _classes(device, shape)
