"""Attention of a 7B Llama block: 32 heads of 128 elements; prefill of 128 and 512 tokens, and one token over 512."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("attention",)
HEADS, SIZE = 32, 128
SCALE = SIZE**-0.5
WINDOW = (-1, -1)
PHASES = {"prefill-128": (128, 128), "prefill-512": (512, 512), "decode": (1, 512)}


def cases(device: Device) -> Iterator[Case]:
    """FlashAttention takes halves alone; the way over two products and a softmax is measured in float32."""
    for phase, (queries, keys) in PHASES.items():
        for label, dtype in (("bf16", torch.bfloat16), ("f16", torch.float16)):
            yield from flash(device, f"{label} {phase}", queries, keys, dtype)
        yield products(device, f"f32 {phase}", queries, keys)


def flash(device: Device, size: str, queries: int, keys: int, dtype: torch.dtype) -> Iterator[Case]:
    """FlashAttention and its gradient; causal where queries and keys are the same tokens."""
    is_causal = queries == keys
    q = torch.randn(1, queries, HEADS, SIZE).to(dtype)
    k, v = (torch.randn(1, keys, HEADS, SIZE).to(dtype) for _ in range(2))
    out, lse = torch.empty_like(q), torch.empty(1, HEADS, queries)
    settings = (0.0, SCALE, is_causal, *WINDOW)
    generator = device.generator(0)
    heads = tuple(tensor.transpose(1, 2) for tensor in (q, k, v))
    theirs = partial(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, *heads, 0.0, is_causal, scale=SCALE)
    ours = device.call("diopiFlashAttention", out, lse, generator, q, k, v, None, *settings)
    # Two products, half of each where queries see no later keys. Arithmetic is in float32.
    work = 4 * HEADS * SIZE * queries * keys // (2 if is_causal else 1)
    moved = sum(one.numel() * one.element_size() for one in (q, k, v, out))
    yield Case("attention", "diopiFlashAttention", size, ours, theirs, moved, work)
    if queries == 1:
        return
    grad = torch.randn_like(q)
    grads = tuple(torch.empty_like(tensor) for tensor in (q, k, v))
    ours = device.call("diopiFlashAttentionBackward", *grads, grad, generator, q, k, v, None, out, lse, *settings)
    saved = theirs()
    backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
    theirs = partial(backward, grad.transpose(1, 2), *heads, *saved, 0.0, is_causal, scale=SCALE)
    yield Case("attention", "diopiFlashAttentionBackward", size, ours, theirs, 2 * moved, work * 5 // 2)


def products(device: Device, size: str, queries: int, keys: int) -> Case:
    """softmax(scale * q k') v by Baddbmm, Softmax and Bmm."""
    q = torch.randn(HEADS, queries, SIZE)
    k, v = torch.randn(HEADS, keys, SIZE), torch.randn(HEADS, keys, SIZE)
    transposed = k.transpose(1, 2)
    bias = torch.zeros(1, queries, keys)
    scores, weights = torch.empty(HEADS, queries, keys), torch.empty(HEADS, queries, keys)
    out = torch.empty_like(q)
    steps = (
        device.call("diopiBaddbmm", scores, bias, q, transposed, 0.0, SCALE),
        device.call("diopiSoftmax", weights, scores, 2),
        device.call("diopiBmm", out, weights, v),
    )

    def ours() -> None:
        for step in steps:
            step()

    def theirs() -> object:
        return torch.bmm(torch.softmax(torch.baddbmm(bias, q, transposed, beta=0, alpha=SCALE), 2), v)

    return Case("attention", "Baddbmm, Softmax, Bmm", size, ours, theirs, operations=4 * HEADS * SIZE * queries * keys)
