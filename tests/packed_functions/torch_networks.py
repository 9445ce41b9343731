"""Networks of PyTorch that TVM imports: a perceptron, ResNet-18 and a decoder, with weights from a fixed seed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


class Mlp(nn.Module):
    """Three layers with the usual activations."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 4))

    def forward(self, x: Any) -> Any:
        return torch.softmax(self.layers(x), dim=-1)


class _Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, x: Any) -> Any:
        out = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class ResNet18(nn.Module):
    """ResNet-18 as published, with fewer channels."""

    def __init__(self, width: int = 16, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, 2, 1)
        blocks: list[nn.Module] = []
        channels = width
        for stage in range(4):
            for number in range(2):
                blocks.append(_Block(channels, width << stage, 2 if stage and not number else 1))
                channels = width << stage
        self.blocks = nn.Sequential(*blocks)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x: Any) -> Any:
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.mean(self.blocks(x)), 1))


class Decoder(nn.Module):
    """Two layers of a decoder: embedding, causal attention with several heads, gated feed-forward, layer norm."""

    def __init__(self, words: int = 50, width: int = 32, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(width),
                    "qkv": nn.Linear(width, 3 * width),
                    "out": nn.Linear(width, width),
                    "norm2": nn.LayerNorm(width),
                    "gate": nn.Linear(width, 2 * width),
                    "up": nn.Linear(width, 2 * width),
                    "down": nn.Linear(2 * width, width),
                }
            )
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.register_buffer("mask", torch.full((64, 64), float("-inf")).triu(1))

    def forward(self, tokens: Any) -> Any:
        x = self.embedding(tokens)
        batch, length, width = x.shape
        for layer in self.layers:
            y = layer["norm"](x)
            q, k, v = (
                part.reshape(batch, length, self.heads, -1).transpose(1, 2) for part in layer["qkv"](y).chunk(3, -1)
            )
            scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5 + self.mask[:length, :length]
            mixed = (torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width)
            x = x + layer["out"](mixed)
            y = layer["norm2"](x)
            x = x + layer["down"](nn.functional.silu(layer["gate"](y)) * layer["up"](y))
        return self.head(self.norm(x))


def networks() -> dict[str, tuple[nn.Module, Any]]:
    """Each network in evaluation mode with an input."""
    torch.manual_seed(0)
    found: dict[str, tuple[nn.Module, Any]] = {
        "mlp": (Mlp(), torch.randn(2, 16)),
        "resnet18": (ResNet18(), torch.randn(1, 3, 64, 64)),
        "decoder": (Decoder(), torch.randint(0, 50, (2, 12))),
    }
    for network, _ in found.values():
        for module in network.modules():
            if isinstance(module, nn.BatchNorm2d):  # statistics that matter
                module.running_mean = torch.randn_like(module.running_mean) * 0.1
                module.running_var = torch.rand_like(module.running_var) + 0.5
        network.eval()
    return found
