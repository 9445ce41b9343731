"""Transformers in plain torch.nn, with attention written out as its matrix products."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracing import recorder


class Attention(nn.Module):
    """Multi-head self-attention with one product for queries, keys and values."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, bias: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
        """`x` is [batch, tokens, width]; `bias` is added to the scores, `mask` once for each window."""
        batch, tokens, width = x.shape
        qkv = self.inputs(x).view(batch, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        scores = (q * (width // self.heads) ** -0.5) @ k.transpose(-2, -1)
        if bias is not None:
            scores = scores + bias
        if mask is not None:
            windows = mask.shape[0]
            scores = scores.view(batch // windows, windows, self.heads, tokens, tokens) + mask[:, None]
            scores = scores.view(batch, self.heads, tokens, tokens)
        return self.output((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    """A transformer block that normalises first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class VitB16(nn.Module):
    """Dosovitskiy et al., An Image is Worth 16x16 Words, 2020: ViT-B/16, 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 768, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, 768))
        self.positions = nn.Parameter(torch.zeros(1, 197, 768))
        self.blocks = nn.Sequential(*(Block(768, 12) for _ in range(12)))
        self.norm, self.head = nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


class SwinBlock(nn.Module):
    """Attention inside windows of 7 by 7, every second time shifted by 3."""

    def __init__(self, width: int, heads: int, size: int, shifts: bool) -> None:
        super().__init__()
        self.size, self.heads, self.shift = size, heads, 3 if shifts and size > 7 else 0
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.table = nn.Parameter(torch.zeros(13 * 13, heads))
        self.register_buffer("positions", torch.zeros(49 * 49, dtype=torch.int64), persistent=False)
        windows = (size // 7) ** 2
        self.register_buffer("mask", torch.zeros(windows, 49, 49) if self.shift else None, persistent=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, _, width = x.shape
        side = self.size // 7
        y = self.first(x).view(batch, self.size, self.size, width)
        y = torch.roll(y, (-self.shift, -self.shift), (1, 2)) if self.shift else y
        y = y.view(batch, side, 7, side, 7, width).permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, width)
        bias = self.table[self.positions].view(49, 49, -1).permute(2, 0, 1).contiguous()
        y = self.attention(y, bias.unsqueeze(0), self.mask)
        y = y.view(batch, side, side, 7, 7, width).permute(0, 1, 3, 2, 4, 5).reshape(batch, self.size, self.size, width)
        y = torch.roll(y, (self.shift, self.shift), (1, 2)) if self.shift else y
        x = x + y.view(batch, -1, width)
        return x + self.mlp(self.second(x))


class Merging(nn.Module):
    """Four neighbouring patches become one of twice the width."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.size = size
        self.norm, self.narrow = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, _, width = x.shape
        x = x.view(batch, self.size, self.size, width)
        parts = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.narrow(self.norm(torch.cat(parts, -1).view(batch, -1, 4 * width)))


class SwinT(nn.Module):
    """Liu et al., Swin Transformer, 2021: Swin-T, 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 96, 4, 4), nn.LayerNorm(96)
        layers: list[nn.Module] = []
        width, size = 96, 56
        for stage, (count, heads) in enumerate(((2, 3), (2, 6), (6, 12), (2, 24))):
            if stage:
                layers.append(Merging(width, size))
                width, size = 2 * width, size // 2
            layers += [SwinBlock(width, heads, size, bool(position % 2)) for position in range(count)]
        self.layers = nn.Sequential(*layers)
        self.last, self.head = nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(self.patches(x).flatten(2).transpose(1, 2))
        return self.head(self.last(self.layers(x)).mean(1))


class BertLayer(nn.Module):
    """A BERT layer: attention with a mask and dropout, then the feed-forward part, normalised afterwards."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.output, self.first = nn.Linear(width, width), nn.LayerNorm(width, 1e-12)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.second = nn.LayerNorm(width, 1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, tokens, width = x.shape
        q, k, v = (part(x).view(batch, tokens, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(width // self.heads) + mask
        weights = torch.native_dropout(scores.softmax(-1), 0.1, self.training)[0]
        y = self.output((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
        x = self.first(x + torch.native_dropout(y, 0.1, self.training)[0])
        y = self.narrow(functional.gelu(self.wide(x)))
        return self.second(x + torch.native_dropout(y, 0.1, self.training)[0])


class BertBase(nn.Module):
    """Devlin et al., BERT, 2018: BERT-base (uncased vocabulary) with its masked language model head."""

    def __init__(self, width: int = 768, vocabulary: int = 30522) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions, self.kinds = nn.Embedding(512, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, 12) for _ in range(12))
        self.transform, self.last = nn.Linear(width, width), nn.LayerNorm(width, 1e-12)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, words: Tensor, kinds: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        x = self.words(words) + self.kinds(kinds) + self.positions(positions)
        x = torch.native_dropout(self.norm(x), 0.1, self.training)[0]
        mask = (1.0 - mask[:, None, None, :].to(x.dtype)) * -1e4
        for layer in self.layers:
            x = layer(x, mask)
        x = self.last(functional.gelu(self.transform(x)))
        return functional.linear(x, self.words.weight, self.bias)


class FusedRmsNorm(torch.autograd.Function):
    """ATen's `_fused_rms_norm`, which accelerators run and the meta device takes to pieces."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:  # type: ignore[override]  # torch declares *args
        out, scale = torch.empty_like(x), torch.empty((*x.shape[:-1], 1), dtype=torch.float32)
        ctx.save_for_backward(x, weight, scale)
        arguments = {"input": x, "normalized_shape": [x.shape[-1]], "weight": weight, "eps": 1e-5}
        if recorder.current is not None:
            recorder.current.call("RMSNorm", "_fused_rms_norm", arguments, (out, scale))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]  # torch declares *args
        x, weight, scale = ctx.saved_tensors
        arguments = {
            "grad_output": grad, "input": x, "normalized_shape": [x.shape[-1]], "inv_rms": scale, "weight": weight,
            "grad_bias": None,
        }  # fmt: skip
        found = torch.empty_like(x), torch.empty_like(weight)
        if recorder.current is not None:
            recorder.current.call("RMSNormBackward", "_fused_rms_norm_backward", arguments, found)
        return found


class RmsNorm(nn.Module):
    """Root mean square normalisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return FusedRmsNorm.apply(x, self.weight)


def rotated(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Rotary position embedding of [batch, heads, tokens, size], halves apart."""
    half = x.shape[-1] // 2
    return x * cosines + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sines


class LlamaLayer(nn.Module):
    """Attention with rotary positions and a cache, then the gated feed-forward part."""

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.first, self.second = RmsNorm(width), RmsNorm(width)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor, mask: Tensor | None, cache: list[Tensor]) -> Tensor:
        batch, tokens, width = x.shape
        y = self.first(x)
        q, k, v = (part(y).view(batch, tokens, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = rotated(q, cosines, sines), rotated(k, cosines, sines)
        if cache:
            k, v = torch.cat((cache[0], k), dim=2), torch.cat((cache[1], v), dim=2)
        scores = q @ k.transpose(2, 3) / math.sqrt(width // self.heads)
        scores = scores if mask is None else scores + mask
        weights = functional.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(batch, tokens, width))
        y = self.second(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Llama7B(nn.Module):
    """Touvron et al., LLaMA, 2023: 7 billion weights, 32 layers."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(32000, 4096)
        self.layers = nn.ModuleList(LlamaLayer(4096, 32, 11008) for _ in range(32))
        self.norm, self.head = RmsNorm(4096), nn.Linear(4096, 32000, bias=False)

    def forward(
        self, words: Tensor, cosines: Tensor, sines: Tensor, mask: Tensor | None = None, cached: int = 0
    ) -> Tensor:
        """`cached` tokens came before: their keys and values are there."""
        x = self.words(words)
        for layer in self.layers:
            cache = [x.new_empty(x.shape[0], 32, cached, 128) for _ in range(2 if cached else 0)]
            x = layer(x, cosines, sines, mask, cache)
        return self.head(self.norm(x))
