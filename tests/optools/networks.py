"""Small models for tests: what they are trained on, and how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Perceptron(nn.Module):
    """Linear layers, normalisation, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 32)
        self.norm = nn.LayerNorm(32)
        self.drop = nn.Dropout(0.2)
        self.last = nn.Linear(32, 5)

    def forward(self, x: Any) -> Any:
        return self.last(self.drop(functional.gelu(self.norm(self.first(x)))))


class Convolutional(nn.Module):
    """Convolutions, batch normalisation, a residual connection of transposed images, pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2)
        self.block = nn.Conv2d(8, 8, 3, padding=1)
        self.second = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        x = self.pool(functional.relu(self.norm(self.stem(x))))
        x = functional.relu(self.second(self.block(x)) + x.transpose(2, 3))
        return self.head(x.mean((2, 3)))


class Transformer(nn.Module):
    """Embedding, attention from its parts, normalisation of a transposed tensor."""

    def __init__(self, words: int = 20, width: int = 16) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.norm = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mixing = nn.LayerNorm(6)
        self.head = nn.Linear(width, 5)

    def forward(self, x: Any) -> Any:
        x = self.words(x)
        query, key, value = self.attention(self.norm(x)).chunk(3, -1)
        weights = (query @ key.transpose(1, 2) / 4).softmax(-1)
        x = x + self.out(weights @ value)
        x = x + self.mixing(x.transpose(1, 2)).transpose(1, 2).tanh()
        return self.head(x.mean(1))


class Half(nn.Module):
    """Gated layers in float16."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 24)
        self.gate = nn.Linear(12, 24)
        self.norm = nn.LayerNorm(24)
        self.last = nn.Linear(24, 5)

    def forward(self, x: Any) -> Any:
        x = x.half()
        return self.last(self.norm(3 * functional.silu(self.first(x)) * self.gate(x))).float()


def train(model: Any, optimizer: Any, device: str, steps: int = 2, shape: tuple[int, ...] = (6, 12)) -> float:
    """Some steps of a classifier; the last loss."""
    loss = torch.zeros(())
    for _ in range(steps):
        optimizer.zero_grad()
        inputs = torch.randint(0, 20, shape) if isinstance(model, Transformer) else torch.randn(shape)
        loss = functional.cross_entropy(model(inputs.to(device)), torch.arange(shape[0], device=device) % 5)
        (loss * (64 if isinstance(model, Half) else 1)).backward()
        optimizer.step()
    return float(loss.detach())


def perceptron(device: str) -> tuple[Any, Any]:
    """The model on a device, and its optimizer."""
    model = Perceptron().to(device)
    return model, torch.optim.AdamW(model.parameters(), 1e-2)


def run_perceptron(device: str, steps: int = 5) -> float:
    """Trains it; the last loss."""
    return train(*perceptron(device), device, steps)


def run_convolutional(device: str, steps: int = 5) -> float:
    """Trains it; the last loss."""
    model = Convolutional().to(device)
    return train(model, torch.optim.SGD(model.parameters(), 0.05, momentum=0.9), device, steps, (6, 3, 8, 8))


def run_transformer(device: str, steps: int = 5) -> float:
    """Trains it; the last loss."""
    model = Transformer().to(device)
    return train(model, torch.optim.AdamW(model.parameters(), 1e-2), device, steps, (4, 6))


def run_half(device: str, steps: int = 5) -> float:
    """Trains it; the last loss."""
    model = Half().to(device).half()
    return train(model, torch.optim.SGD(model.parameters(), 1e-3), device, steps)


MODELS: dict[str, Callable[..., float]] = {
    "perceptron": run_perceptron,
    "convolutional": run_convolutional,
    "transformer": run_transformer,
    "half": run_half,
}
