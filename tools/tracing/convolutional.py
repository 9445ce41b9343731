"""Convolutional networks in plain torch.nn, as their papers describe them."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def convolution(
    inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1, act: type[nn.Module] | None = nn.ReLU
) -> nn.Sequential:
    """Convolution without bias, batch normalisation, activation."""
    layers: list[nn.Module] = [
        nn.Conv2d(inputs, outputs, size, stride, (size - 1) // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


class Bottleneck(nn.Module):
    """The block of ResNet-50: 1x1, 3x3 (which strides), 1x1, and a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            convolution(inputs, width, 1),
            convolution(width, width, 3, stride),
            convolution(width, outputs, 1, act=None),
        )
        changes = stride != 1 or inputs != outputs
        self.shortcut = convolution(inputs, outputs, 1, stride, act=None) if changes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.body(x) + self.shortcut(x))


class ResNet50(nn.Module):
    """He et al., Deep Residual Learning, 2015, with 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        inputs = 64
        for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for position in range(count):
                blocks.append(Bottleneck(inputs, width, stride if position == 0 else 1))
                inputs = 4 * width
        self.stem = nn.Sequential(convolution(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(2048, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = self.blocks(self.stem(x))
        return self.head(torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1))


class InvertedResidual(nn.Module):
    """The block of MobileNetV2: widen, filter each channel, narrow."""

    def __init__(self, inputs: int, outputs: int, stride: int, widening: int) -> None:
        super().__init__()
        width = inputs * widening
        wide = [convolution(inputs, width, 1, act=nn.ReLU6)] if widening != 1 else []
        self.body = nn.Sequential(
            *wide,
            convolution(width, width, 3, stride, groups=width, act=nn.ReLU6),
            convolution(width, outputs, 1, act=None),
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x) if self.adds else self.body(x)


class MobileNetV2(nn.Module):
    """Sandler et al., MobileNetV2, 2018, width 1, with 1000 classes."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [convolution(3, 32, 3, 2, act=nn.ReLU6)]
        inputs = 32
        for widening, outputs, count, stride in (
            (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
        ):  # fmt: skip
            for position in range(count):
                layers.append(InvertedResidual(inputs, outputs, stride if position == 0 else 1, widening))
                inputs = outputs
        self.features = nn.Sequential(*layers, convolution(320, 1280, 1, act=nn.ReLU6))
        self.head = nn.Linear(1280, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.adaptive_avg_pool2d(self.features(x), 1)
        return self.head(torch.native_dropout(torch.flatten(x, 1), 0.2, self.training)[0])


def twice(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions of a U-Net's level."""
    return nn.Sequential(convolution(inputs, outputs), convolution(outputs, outputs))


class UNet(nn.Module):
    """Ronneberger et al., U-Net, 2015, padded and with batch normalisation; two classes per pixel."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        widths = [width << level for level in range(5)]
        self.down = nn.ModuleList(twice(one, two) for one, two in zip([3, *widths], widths, strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * one, one, 2, 2) for one in reversed(widths[:-1]))
        self.joined = nn.ModuleList(twice(2 * one, one) for one in reversed(widths[:-1]))
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        retained: list[Tensor] = []
        for position, level in enumerate(self.down):
            x = level(functional.max_pool2d(x, 2) if position else x)
            retained.append(x)
        retained.pop()
        for up, joined in zip(self.up, self.joined, strict=True):
            x = joined(torch.cat([retained.pop(), up(x)], dim=1))
        return self.head(x)


class Csp(nn.Module):
    """Cross-stage partial block: half of the channels go through bottlenecks."""

    def __init__(self, inputs: int, outputs: int, count: int, adds: bool = True) -> None:
        super().__init__()
        half = outputs // 2
        self.adds = adds
        self.one, self.two = convolution(inputs, half, 1, act=nn.SiLU), convolution(inputs, half, 1, act=nn.SiLU)
        self.blocks = nn.ModuleList(
            nn.Sequential(convolution(half, half, 1, act=nn.SiLU), convolution(half, half, 3, act=nn.SiLU))
            for _ in range(count)
        )
        self.join = convolution(outputs, outputs, 1, act=nn.SiLU)

    def forward(self, x: Tensor) -> Tensor:
        one = self.one(x)
        for block in self.blocks:
            one = one + block(one) if self.adds else block(one)
        return self.join(torch.cat([one, self.two(x)], dim=1))


class PooledPyramid(nn.Module):
    """Spatial pyramid pooling by three max pools in a row."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.narrow = convolution(channels, channels // 2, 1, act=nn.SiLU)
        self.join = convolution(2 * channels, channels, 1, act=nn.SiLU)

    def forward(self, x: Tensor) -> Tensor:
        levels = [self.narrow(x)]
        for _ in range(3):
            levels.append(functional.max_pool2d(levels[-1], 5, 1, 2))
        return self.join(torch.cat(levels, dim=1))


class Yolo(nn.Module):
    """A detector of the YOLO kind (small): CSP backbone, path aggregation, three anchor heads, 80 classes."""

    def __init__(self, width: int = 32, classes: int = 80) -> None:
        super().__init__()
        w = [width << level for level in range(5)]
        act = nn.SiLU
        self.stem = nn.Sequential(
            convolution(3, w[0], 6, 2, act=act), convolution(w[0], w[1], 3, 2, act=act), Csp(w[1], w[1], 1)
        )
        self.third = nn.Sequential(convolution(w[1], w[2], 3, 2, act=act), Csp(w[2], w[2], 2))
        self.fourth = nn.Sequential(convolution(w[2], w[3], 3, 2, act=act), Csp(w[3], w[3], 3))
        self.fifth = nn.Sequential(convolution(w[3], w[4], 3, 2, act=act), Csp(w[4], w[4], 1), PooledPyramid(w[4]))
        self.narrow = nn.ModuleList([convolution(w[4], w[3], 1, act=act), convolution(w[3], w[2], 1, act=act)])
        self.up = nn.ModuleList([Csp(2 * w[3], w[3], 1, False), Csp(2 * w[2], w[2], 1, False)])
        self.stride = nn.ModuleList([convolution(w[2], w[2], 3, 2, act=act), convolution(w[3], w[3], 3, 2, act=act)])
        self.down = nn.ModuleList([Csp(2 * w[2], w[3], 1, False), Csp(2 * w[3], w[4], 1, False)])
        self.heads = nn.ModuleList(nn.Conv2d(inputs, 3 * (classes + 5), 1) for inputs in (w[2], w[3], w[4]))
        self.numbers = classes + 5

    def forward(self, x: Tensor) -> list[Tensor]:
        third = self.third(self.stem(x))
        fourth = self.fourth(third)
        five = self.narrow[0](self.fifth(fourth))
        four = self.up[0](torch.cat([functional.interpolate(five, scale_factor=2), fourth], dim=1))
        four = self.narrow[1](four)
        three = self.up[1](torch.cat([functional.interpolate(four, scale_factor=2), third], dim=1))
        four = self.down[0](torch.cat([self.stride[0](three), four], dim=1))
        five = self.down[1](torch.cat([self.stride[1](four), five], dim=1))
        found = []
        for head, level in zip(self.heads, (three, four, five), strict=True):
            y = head(level)
            batch, _, height, width = y.shape
            found.append(y.view(batch, 3, self.numbers, height, width).permute(0, 1, 3, 4, 2).contiguous())
        return found

    def boxes(self, levels: list[Tensor]) -> Tensor:
        """Boxes (centre, size, confidence and classes) of all levels, in pixels: what non-maximum suppression takes."""
        rows = []
        for level, y in enumerate(levels):
            y = y.sigmoid()
            position, size, rest = y.split((2, 2, self.numbers - 4), 4)
            grid = torch.zeros_like(position)
            position = (position * 2 + grid) * (8 << level)
            rows.append(torch.cat((position, (size * 2) ** 2 * 10, rest), 4).view(y.shape[0], -1, self.numbers))
        return torch.cat(rows, 1)
