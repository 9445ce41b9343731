"""ResNet-18 as in the paper, without other packages."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two convolutions and the shortcut."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.last = nn.BatchNorm2d(after)
        self.short = (
            nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))
            if stride != 1 or before != after
            else nn.Identity()
        )

    def forward(self, x: Any) -> Any:
        y = self.last(self.second(functional.relu(self.norm(self.first(x)))))
        return functional.relu(y + self.short(x))


class ResNet18(nn.Module):
    """For 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU())
        widths = (64, 64, 128, 256, 512)
        self.blocks = nn.Sequential(
            *(Block(widths[k + (n > 0)], widths[k + 1], 2 if k and not n else 1) for k in range(4) for n in range(2))
        )
        self.head = nn.Linear(512, 1000)

    def forward(self, x: Any) -> Any:
        x = functional.max_pool2d(self.stem(x), 3, 2, 1)
        return self.head(self.blocks(x).mean((2, 3)))
