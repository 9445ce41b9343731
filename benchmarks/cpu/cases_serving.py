"""Serving, a 7B decoder's layers and the choice of its tokens, each compared with a composition of torch operators."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.cpu.device import Device
from benchmarks.cpu.measure import Case

GROUPS = ("serving",)
WIDTH, HIDDEN, WORDS, TOKENS = 4096, 11008, 32000, 16


def cases(device: Device) -> Iterator[Case]:
    """Normalisation, the gated layers, attention to a cache, penalties and sampling."""
    yield from layers(device)
    yield attention(device)
    yield from choice(device)


def layers(device: Device) -> Iterator[Case]:
    """Functions other than attention, for 16 tokens in float32."""
    x, scale = torch.randn(TOKENS, WIDTH), torch.rand(WIDTH)
    ours = device.call("diopiRootMeanSquareNormInp", x.clone(), scale, 1e-5)
    theirs = partial(functional.rms_norm, x, (WIDTH,), scale, 1e-5)
    yield Case("serving", "RootMeanSquareNorm", "16x4096", ours, theirs)
    gate, up, down = (torch.randn(shape) / 64 for shape in ((WIDTH, HIDDEN), (WIDTH, HIDDEN), (HIDDEN, WIDTH)))
    state, room = x / 64, torch.empty(1 << 22)
    ours = device.call("diopiFusedSiluFfnInp", state.clone(), gate, down, up, room, 4 << 22, 0)

    def gated() -> Tensor:
        return (functional.silu(state @ gate) * (state @ up)) @ down

    weights = 3 * WIDTH * HIDDEN
    yield Case("serving", "FusedSiluFfn", "16x4096x11008", ours, gated, 4 * weights, 2 * TOKENS * weights)


def attention(device: Device) -> Case:
    """One token for each of 4 sequences over 128 cached ones, 32 heads of 128 elements."""
    heads, size, batch, cached = 32, 128, 4, 128
    x, weight = torch.randn(batch, WIDTH) / 64, torch.randn(WIDTH, 3 * WIDTH) / 64
    keys, values = (torch.randn(1, batch, heads, cached + 1, size) for _ in range(2))
    none, lengths = torch.zeros(batch, dtype=torch.int64), torch.full((batch,), cached)
    room = torch.empty(1 << 22)
    numbers = (cached + 1, 0, heads, heads, size, cached + 1, size, 10000.0)
    ours = device.call(
        "diopiFusedDecoderAttentionInp",
        *(x.clone(), weight, None, room, 4 << 22, 0, keys.clone(), values.clone(), None, none, lengths),
        *numbers,
    )
    angles = cached * 10000.0 ** (-torch.arange(0, size, 2) / size)
    cosine, sine = angles.cos(), angles.sin()

    def rotated(y: Tensor) -> Tensor:
        even, odd = y[..., ::2], y[..., 1::2]
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)

    def composed() -> Tensor:
        q, k, v = (x @ weight).view(batch, 3, heads, 1, size).unbind(1)
        keys[0, :, :, cached:], values[0, :, :, cached:] = rotated(k), v
        return functional.scaled_dot_product_attention(rotated(q), keys[0], values[0])

    return Case(
        "serving", "FusedDecoderAttention", "4x4096 over 128", ours, composed,
        bytes=4 * (weight.numel() + 2 * keys.numel()), operations=2 * batch * weight.numel(),
    )  # fmt: skip


def choice(device: Device) -> Iterator[Case]:
    """Penalties, and a token by the best 40 or by probability."""
    logits, rows = torch.randn(TOKENS, WORDS), (TOKENS, WORDS)
    warm = torch.rand(TOKENS) + 0.5
    ours = device.call("diopiBatchApplyTemperaturePenaltyInp", logits.clone(), None, warm, *rows, WORDS)
    yield Case("serving", "TemperaturePenalty", "16x32000", ours, lambda: logits / (warm + 1e-6)[:, None])
    ids = torch.zeros(2, TOKENS, dtype=torch.int64)
    ends, k, p = torch.full((TOKENS,), -1), torch.full((TOKENS,), 40), torch.full((TOKENS,), 0.9)
    generators, room = [device.generator(row) for row in range(TOKENS)], torch.empty(1 << 21)
    many = (type(generators[0]) * TOKENS)(*generators)
    after = (None, None, 1, TOKENS, WORDS)
    ours = device.call(
        "diopiTopKSampling", ids, logits.clone(), room, 4 << 21, 0, ends, *after, k, p, None, None, None, many
    )

    def by_rank() -> Tensor:
        best, positions = torch.topk(logits, 40)
        shares = best.softmax(1)
        shares = shares * (shares.cumsum(1) - shares < 0.9)
        return positions.gather(1, torch.multinomial(shares, 1))

    yield Case("serving", "TopKSampling", "40 of 16x32000", ours, by_rank)
    state = torch.zeros(1 << 21, dtype=torch.int64)
    ours = device.call(
        "diopiTopPSampling",
        *(ids, logits.clone(), state, 8 << 21, room, 4 << 21, 0, ends, *after, p, None, None, None, many),
    )

    def by_mass() -> Tensor:
        shares, positions = logits.softmax(1).sort(1, descending=True)
        shares = shares * (shares.cumsum(1) - shares < 0.9)
        return positions.gather(1, torch.multinomial(shares, 1))

    yield Case("serving", "TopPSampling", "16x32000", ours, by_mass)
