"""A decoder block as Llama has it, in plain operators, its norms, rotary positions and attention too."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Norm(nn.Module):  # type: ignore[misc]
    """Root mean square, computed in float32."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.eps = eps

    def forward(self, x: Any) -> Any:
        wide = x.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        return self.weight * (wide * torch.rsqrt(variance + self.eps)).to(x.dtype)


def rotate_half(x: Any) -> Any:
    left, right = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-right, left), dim=-1)


def angles(length: int, size: int, like: Any) -> tuple[Any, Any]:
    """Cosine and sine of each position, both halves the same: (length, size)."""
    frequencies = 10000.0 ** (-torch.arange(0, size, 2, device=like.device).float() / size)
    turned = torch.outer(torch.arange(length, device=like.device).float(), frequencies)
    both = torch.cat((turned, turned), dim=-1)
    return both.cos().to(like.dtype), both.sin().to(like.dtype)


class Block(nn.Module):  # type: ignore[misc]
    """(batch, length, width) to the same."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.inputs = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(3))
        self.output = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def attended(self, x: Any) -> Any:
        batch, length, width = x.shape
        size = width // self.heads
        query, key, value = (one(x).view(batch, length, self.heads, size).transpose(1, 2) for one in self.inputs)
        cos, sin = angles(length, size, x)
        query = query * cos + rotate_half(query) * sin
        key = key * cos + rotate_half(key) * sin
        scores = torch.matmul(query, key.transpose(2, 3)) * size**-0.5
        mask = torch.full((length, length), float("-inf"), device=x.device, dtype=x.dtype).triu(1)
        scores = scores + mask
        weights = torch.nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        mixed = torch.matmul(weights, value)
        return self.output(mixed.transpose(1, 2).contiguous().view(batch, length, width))

    def forward(self, x: Any) -> Any:
        x = x + self.attended(self.norm1(x))
        inner = self.norm2(x)
        return x + self.down(torch.nn.functional.silu(self.gate(inner)) * self.up(inner))
