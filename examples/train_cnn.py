"""A small CNN trained on a vendor's device and on the CPU, and what of it did not run there: `train_cnn.py VENDOR`."""

from __future__ import annotations

import importlib
import sys

import torch
from torch import nn

STEPS, BATCH, CLASSES = 5, 8, 10


def network() -> nn.Module:
    """Two blocks of convolution, batch norm, ReLU and pooling, and a linear layer."""
    torch.manual_seed(0)
    first = [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(32, CLASSES))


def train(device: str) -> list[float]:
    """The losses of a few steps; the same numbers on every device."""
    model = network().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    numbers = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(STEPS):
        images = torch.randn(BATCH, 3, 16, 16, generator=numbers).to(device)
        labels = torch.randint(CLASSES, (BATCH,), generator=numbers).to(device)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main(vendor: str) -> None:
    package = importlib.import_module(f"torch_{vendor}")
    for device in ("cpu", vendor):
        print(f"{device:8}", *(f"{loss:.6f}" for loss in train(device)))
    for name, reasons in package.fallback_report(reasons=True).items():
        for reason, calls in reasons.items():
            print(f"{calls:4}  {name}: {reason}")


if __name__ == "__main__":
    main(sys.argv[1])
