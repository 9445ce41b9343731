"""Transformers: ViT (Dosovitskiy et al. 2020), BERT (Devlin et al. 2018), a decoder as Llama (Touvron et al. 2023)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class SelfAttention(nn.Module):
    """(N, L, width) to the same, with as many heads; `mask` is True where attention goes."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        joined = self.inputs(x).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = joined.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value, mask)
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width))


class ViTBlock(nn.Module):
    """Normalises first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads)
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.inner(self.norm2(x))


class VisionTransformer(nn.Module):
    """(N, 3, size, size) to (N, classes). ViT-B/16 has width 768, 12 heads and depth 12."""

    def __init__(
        self, size: int = 32, patch: int = 16, width: int = 768, heads: int = 12, depth: int = 12, classes: int = 10
    ) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(ViTBlock(width, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        tokens = torch.cat((self.token.expand(len(x), -1, -1), patches), 1) + self.positions
        return self.head(self.norm(self.blocks(tokens))[:, 0])


class BertBlock(nn.Module):
    """Normalises last."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = SelfAttention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)
        self.inner = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.inner(x))


class BertEncoder(nn.Module):
    """(N, L) tokens, 0 for none, to (N, classes) from the first place."""

    def __init__(
        self, tokens: int = 64, length: int = 16, width: int = 64, heads: int = 4, depth: int = 2, classes: int = 10
    ) -> None:
        super().__init__()
        self.words = nn.Embedding(tokens, width, padding_idx=0)
        self.embedding_of_positions = nn.Embedding(length, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.blocks = nn.ModuleList(BertBlock(width, heads) for _ in range(depth))
        self.pooler = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.norm(self.words(tokens) + self.embedding_of_positions(positions))
        mask = (tokens != 0)[:, None, None, :]
        for block in self.blocks:
            x = block(x, mask)
        return self.head(torch.tanh(self.pooler(x[:, 0])))


Cache = tuple[torch.Tensor, torch.Tensor]
"""Keys and values of what was read before: (N, heads, L, width of a head) each."""


class LlamaAttention(nn.Module):
    """Causal attention with rotary positions; a group of query heads shares a head of keys and values."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, groups * self.size, bias=False)
        self.value = nn.Linear(width, groups * self.size, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        frequencies = 10000.0 ** (-torch.arange(0, self.size, 2).float() / self.size)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def rotated(self, x: torch.Tensor, first: int) -> torch.Tensor:
        """Turns pairs of channels by angles that grow with the place in the sequence."""
        positions = torch.arange(first, first + x.shape[2], device=x.device)
        angles = torch.outer(positions.to(self.frequencies.dtype), self.frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        left, right = x.chunk(2, -1)
        return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)

    def forward(self, x: torch.Tensor, cache: Cache | None) -> tuple[torch.Tensor, Cache]:
        batch, length, width = x.shape
        first = 0 if cache is None else cache[0].shape[2]
        query = self.rotated(self.query(x).view(batch, length, self.heads, self.size).transpose(1, 2), first)
        key = self.rotated(self.key(x).view(batch, length, self.groups, self.size).transpose(1, 2), first)
        value = self.value(x).view(batch, length, self.groups, self.size).transpose(1, 2)
        if cache is not None:
            key, value = torch.cat((cache[0], key), 2), torch.cat((cache[1], value), 2)
        each = self.heads // self.groups
        mixed = F.scaled_dot_product_attention(
            query, key.repeat_interleave(each, 1), value.repeat_interleave(each, 1), is_causal=length > 1
        )
        return self.output(mixed.transpose(1, 2).reshape(batch, length, width)), (key, value)


class LlamaBlock(nn.Module):
    """Normalises first, by root mean square; the inner layer is gated by SiLU."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.attention = LlamaAttention(width, heads, groups)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x: torch.Tensor, cache: Cache | None) -> tuple[torch.Tensor, Cache]:
        mixed, cache = self.attention(self.norm1(x), cache)
        x = x + mixed
        inner = self.norm2(x)
        return x + self.down(F.silu(self.gate(inner)) * self.up(inner)), cache


class LlamaDecoder(nn.Module):
    """(N, L) tokens to (N, L, tokens): the scores of the next token. Without a cache, a sequence from its begin; with
    the cache of a step before, one token more."""

    def __init__(self, tokens: int = 64, width: int = 64, heads: int = 4, groups: int = 2, depth: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, groups) for _ in range(depth))
        self.norm = nn.RMSNorm(width, eps=1e-5)
        self.head = nn.Linear(width, tokens, bias=False)

    def step(self, tokens: torch.Tensor, caches: list[Cache] | None = None) -> tuple[torch.Tensor, list[Cache]]:
        """The scores, and the caches for the next step."""
        x, created = self.embedding(tokens), []
        for index, block in enumerate(self.blocks):
            x, cache = block(x, None if caches is None else caches[index])
            created.append(cache)
        return self.head(self.norm(x)), created

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.step(tokens)[0]

    @torch.no_grad()
    def continued(self, tokens: torch.Tensor, more: int) -> torch.Tensor:
        """The tokens and as many `more`, each the likeliest."""
        scores, caches = self.step(tokens)
        for _ in range(more):
            last = scores[:, -1:].argmax(-1)
            tokens = torch.cat((tokens, last), 1)
            scores, caches = self.step(last, caches)
        return tokens
