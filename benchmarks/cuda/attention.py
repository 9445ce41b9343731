"""FlashAttention and its gradient compared with PyTorch's scaled_dot_product_attention, in float16 and bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import torch

from benchmarks.cpu.device import Device
from benchmarks.cuda.case import Case

FLOOR = 0.5
_LARGE = 1 << 20


def attention(device: Device, torch_device: str, count: int) -> Iterator[Case]:
    """Sequences of 2048 tokens with 16 heads of 128 elements, `count` elements in all; shorter ones for few."""
    heads, size = (16, 128) if count >= _LARGE else (2, 64)
    tokens = min(2048 if count >= _LARGE else 160, count // (heads * size))
    shape = (max(1, count // (heads * size * tokens)) if count >= _LARGE else 1, tokens, heads, size)
    for dtype in (torch.float16, torch.bfloat16):
        for is_causal in (False, True):
            yield from flash(device, torch_device, shape, dtype, is_causal)


def flash(
    device: Device, torch_device: str, shape: tuple[int, int, int, int], dtype: torch.dtype, is_causal: bool
) -> Iterator[Case]:
    """Forward, then backward with the output and statistics of the forward call."""
    batch, tokens, heads, size = shape
    q, k, v, grad = (torch.randn(shape, device=torch_device).to(dtype) for _ in range(4))
    out, grads = torch.empty_like(q), [torch.empty_like(q) for _ in range(3)]
    lse = torch.empty(batch, heads, tokens, device=torch_device)
    generator = device.generator(0)
    settings = (0.0, size**-0.5, is_causal, -1, -1)
    label = f"{'causal ' if is_causal else ''}{str(dtype).removeprefix('torch.')}"
    inputs = [tensor.transpose(1, 2).detach().requires_grad_() for tensor in (q, k, v)]
    product = partial(torch.nn.functional.scaled_dot_product_attention, *inputs, is_causal=is_causal)

    def theirs() -> torch.Tensor:
        with torch.no_grad():
            return product().transpose(1, 2)

    ours: Callable[[], None] = device.call("diopiFlashAttention", out, lse, generator, q, k, v, None, *settings)
    yield Case("attention", f"diopiFlashAttention {label}", ours, theirs, out, floor=FLOOR)
    result, transposed = product(), grad.transpose(1, 2)

    def gradients() -> torch.Tensor:
        return torch.autograd.grad(result, inputs, transposed, retain_graph=True)[1].transpose(1, 2)

    name = "diopiFlashAttentionBackward"
    ours = device.call(name, *grads, grad, generator, q, k, v, None, out, lse, *settings)
    yield Case("attention", f"{name} {label}", ours, gradients, grads[1], floor=FLOOR)
