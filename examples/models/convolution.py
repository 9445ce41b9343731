"""ResNet (He et al. 2015), MobileNetV2 (Sandler et al. 2018), U-Net (Ronneberger et al. 2015)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import nn


def initialised(network: nn.Module) -> None:
    """Weights of convolutions as He et al. draw them (2015, eq. 14), and blocks that begin near the identity."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
    for module in network.modules():
        norm = module.bn2 if isinstance(module, BasicBlock) else module.bn3 if isinstance(module, Bottleneck) else None
        if isinstance(module, InvertedResidual) and module.adds:
            norm = module.layers[-1]
        if norm is not None:
            nn.init.constant_(norm.weight, 0.2)


class BasicBlock(nn.Module):
    """Two convolutions of 3 x 3 and a skip connection."""

    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.shortcut = shortcut(inputs, width, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(inner)) + self.shortcut(x), inplace=True)


class Bottleneck(nn.Module):
    """A convolution of 3 x 3 between two of 1 x 1, and a skip connection."""

    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width * self.expansion, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width * self.expansion)
        self.shortcut = shortcut(inputs, width * self.expansion, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = F.relu(self.bn1(self.conv1(x)), inplace=True)
        inner = F.relu(self.bn2(self.conv2(inner)), inplace=True)
        return F.relu(self.bn3(self.conv3(inner)) + self.shortcut(x), inplace=True)


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """(N, 3, H, W) to (N, classes). `width` is that of the first stage: 64 in the paper."""

    def __init__(
        self, block: type[BasicBlock] | type[Bottleneck], depths: Sequence[int], width: int, classes: int
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.pool = nn.MaxPool2d(3, 2, 1)
        inputs, stages = width, []
        for index, depth in enumerate(depths):
            inner = width << index
            for position in range(depth):
                stages.append(block(inputs, inner, 2 if index > 0 and position == 0 else 1))
                inputs = inner * block.expansion
        self.stages = nn.Sequential(*stages)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inputs, classes)
        initialised(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = self.stages(self.pool(self.stem(x)))
        return self.head(torch.flatten(self.average(features), 1))


def resnet18(width: int = 64, classes: int = 10) -> ResNet:
    """18 layers with weights."""
    return ResNet(BasicBlock, (2, 2, 2, 2), width, classes)


def resnet50(width: int = 64, classes: int = 10) -> ResNet:
    """50 layers with weights."""
    return ResNet(Bottleneck, (3, 4, 6, 3), width, classes)


class InvertedResidual(nn.Module):
    """Wide inside, narrow outside: the convolution in the middle takes each channel alone."""

    def __init__(self, inputs: int, outputs: int, stride: int, expand: int) -> None:
        super().__init__()
        inner = inputs * expand
        layers: list[nn.Module] = []
        if expand != 1:
            layers += [nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU6(inplace=True)]
        layers += [nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner)]
        layers += [nn.ReLU6(inplace=True), nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.layers = nn.Sequential(*layers)
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    """(N, 3, H, W) to (N, classes), all 17 blocks; `scale` is the width multiplier of the paper."""

    BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    """Expansion, channels, repetitions, stride of the first."""

    def __init__(self, scale: float = 1.0, classes: int = 10, dropout: float = 0.0) -> None:
        super().__init__()

        def wide(channels: int) -> int:
            return max(8, int(channels * scale + 4) // 8 * 8)

        inputs = wide(32)
        layers: list[nn.Module] = [nn.Conv2d(3, inputs, 3, 2, 1, bias=False), nn.BatchNorm2d(inputs), nn.ReLU6()]
        for expand, channels, times, stride in self.BLOCKS:
            for position in range(times):
                layers.append(InvertedResidual(inputs, wide(channels), stride if position == 0 else 1, expand))
                inputs = wide(channels)
        last = wide(1280)
        layers += [nn.Conv2d(inputs, last, 1, bias=False), nn.BatchNorm2d(last), nn.ReLU6(inplace=True)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, classes))
        initialised(self)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x).mean((2, 3)))


class UNet(nn.Module):
    """(N, 3, H, W) to (N, classes, H, W), H and W multiples of 4; one way up is a transposed convolution, the other
    one interpolates."""

    def __init__(self, width: int = 16, classes: int = 4) -> None:
        super().__init__()
        self.down1 = self.pair(3, width)
        self.down2 = self.pair(width, width * 2)
        self.bottom = self.pair(width * 2, width * 4)
        self.up2 = nn.ConvTranspose2d(width * 4, width * 2, 2, 2)
        self.join2 = self.pair(width * 4, width * 2)
        self.up1 = nn.Conv2d(width * 2, width, 1)
        self.join1 = self.pair(width * 2, width)
        self.head = nn.Conv2d(width, classes, 1)

    @staticmethod
    def pair(inputs: int, outputs: int) -> nn.Sequential:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.GroupNorm(4, outputs),
            nn.SiLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.LeakyReLU(0.1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        bottom = self.bottom(F.avg_pool2d(second, 2))
        second = self.join2(torch.cat((second, self.up2(bottom)), 1))
        wide = F.interpolate(second, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.join1(torch.cat((first, self.up1(wide)), 1)))
