"""Small models for tests: what they are trained on, and how."""

from __future__ import annotations

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


def train(model: Any, optimizer: Any, device: str, steps: int = 2, shape: tuple[int, ...] = (6, 12)) -> float:
    """Some steps of a classifier; the last loss."""
    loss = torch.zeros(())
    for _ in range(steps):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(torch.randn(shape).to(device)), torch.arange(shape[0], device=device) % 5)
        loss.backward()
        optimizer.step()
    return float(loss.detach())


def perceptron(device: str) -> tuple[Any, Any]:
    """The model on a device, and its optimizer."""
    model = Perceptron().to(device)
    return model, torch.optim.AdamW(model.parameters(), 1e-2)
