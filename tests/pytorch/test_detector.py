"""A small detector in the manner of Faster R-CNN, trained on the device: backbone, region proposals, nms, roi_align and
heads. Losses, proposals, weights and detections are those of the same model on the CPU, whose operators of detection
are compositions of plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from test_custom_operators import _overlaps, _roi_align
from test_torchvision_operators import _kept
from torch import nn
from torch.nn import functional as F
from torchvision_schemas import SCHEMAS

STRIDE, SIZE, CLASSES = 4, 32, 3
NAMES = ("nms", "roi_align", "_roi_align_backward")


class RoiAlign(torch.autograd.Function):  # type: ignore[misc]  # torch is not typed here
    """The gradient that torchvision's library registers for its operator."""

    @staticmethod
    def forward(ctx: Any, maps: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(rois)
        ctx.shape = maps.shape
        return torch.ops.torchvision.roi_align(maps, rois, 1 / STRIDE, 3, 3, 2, True)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        (rois,) = ctx.saved_tensors
        gradient = torch.ops.torchvision._roi_align_backward(
            gradients[0].contiguous(), rois, 1 / STRIDE, 3, 3, *ctx.shape, 2, True
        )
        return gradient, None


def align(maps: torch.Tensor, rois: torch.Tensor) -> torch.Tensor:
    if maps.device.type == "cpu":
        return _roi_align(maps, rois, 1 / STRIDE, 3, 3, 2, True)
    return RoiAlign.apply(maps, rois)


def suppress(boxes: torch.Tensor, scores: torch.Tensor, threshold: float) -> torch.Tensor:
    if boxes.device.type == "cpu":
        return torch.tensor(_kept(boxes, scores, threshold), dtype=torch.int64)
    return torch.ops.torchvision.nms(boxes, scores, threshold)


def decoded(deltas: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    """Boxes that deltas of centre and logarithm of the size make of others, inside of the image."""
    sizes = boxes[:, 2:] - boxes[:, :2]
    centres = boxes[:, :2] + sizes / 2 + deltas[:, :2] * sizes
    halves = sizes * deltas[:, 2:].clamp(max=2.0).exp() / 2
    return torch.cat([centres - halves, centres + halves], 1).clamp(0, SIZE)


def encoded(targets: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
    sizes, wanted = boxes[:, 2:] - boxes[:, :2], targets[:, 2:] - targets[:, :2]
    middles = targets[:, :2] + wanted / 2 - boxes[:, :2] - sizes / 2
    return torch.cat([middles / sizes, (wanted / sizes).log()], 1)


class Detector(nn.Module):  # type: ignore[misc]  # torch is not typed here
    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 12, 3, 2, 1), nn.ReLU()
        )
        self.proposals = nn.Conv2d(12, 12, 3, 1, 1)
        self.objectness = nn.Conv2d(12, 2, 1)
        self.deltas = nn.Conv2d(12, 8, 1)
        self.head = nn.Sequential(nn.Linear(12 * 9, 16), nn.ReLU())
        self.classes = nn.Linear(16, CLASSES + 1)
        self.corrections = nn.Linear(16, 4)
        rows = torch.arange(SIZE // STRIDE, dtype=torch.float64) * STRIDE + STRIDE / 2
        y, x = torch.meshgrid(rows, rows, indexing="ij")
        anchors = [torch.stack([x - half, y - half, x + half, y + half], -1) for half in (5.0, 9.0)]
        self.register_buffer("anchors", torch.stack(anchors, 2).reshape(-1, 4))

    def regions(self, maps: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
        """Scores and deltas of all anchors, and the regions of each image."""
        hidden = F.relu(self.proposals(maps))
        scores = self.objectness(hidden).permute(0, 2, 3, 1).reshape(len(maps), -1)
        deltas = self.deltas(hidden).permute(0, 2, 3, 1).reshape(len(maps), -1, 4)
        found = []
        for own, shifts in zip(scores.detach(), deltas.detach(), strict=True):
            best = own.topk(24).indices
            boxes = decoded(shifts[best], self.anchors[best])
            found.append(boxes[suppress(boxes, own[best], 0.6)[:8]])
        return scores, deltas, found

    def forward(self, images: torch.Tensor) -> tuple[Any, ...]:
        maps = self.backbone(images)
        scores, deltas, regions = self.regions(maps)
        rois = torch.cat([F.pad(boxes, (1, 0), value=float(n)) for n, boxes in enumerate(regions)])
        hidden = self.head(align(maps, rois).flatten(1))
        return scores, deltas, regions, self.classes(hidden), self.corrections(hidden)

    def loss(self, images: torch.Tensor, boxes: list[torch.Tensor], labels: list[torch.Tensor]) -> torch.Tensor:
        scores, deltas, regions, classes, corrections = self(images)
        total = images.new_zeros(())
        first = 0
        for n, (own, kinds) in enumerate(zip(boxes, labels, strict=True)):
            overlap, nearest = _overlaps(self.anchors, own).max(1)
            is_object = overlap > 0.35
            total = total + F.binary_cross_entropy_with_logits(scores[n], is_object.to(scores.dtype))
            shifts = F.smooth_l1_loss(deltas[n], encoded(own[nearest], self.anchors), reduction="none").sum(1)
            total = total + (shifts * is_object).sum() / is_object.sum().clamp(min=1)
            rows = slice(first, first + len(regions[n]))
            overlap, nearest = _overlaps(regions[n], own).max(1)
            kind = torch.where(overlap > 0.35, kinds[nearest] + 1, 0)
            total = total + F.cross_entropy(classes[rows], kind)
            shifts = F.smooth_l1_loss(corrections[rows], encoded(own[nearest], regions[n]), reduction="none").sum(1)
            total = total + (shifts * (kind > 0)).mean()
            first = rows.stop
        return total

    def detections(self, images: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Boxes and scores of each image, of the likeliest class."""
        _, _, regions, classes, corrections = self(images)
        found, first = [], 0
        for boxes in regions:
            rows = slice(first, first + len(boxes))
            scores = classes[rows].softmax(1)[:, 1:].amax(1)
            final = decoded(corrections[rows], boxes)
            order = suppress(final, scores, 0.5)
            found.append((final[order], scores[order]))
            first = rows.stop
        return found


def _scene(device: torch.device) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(5)
    images = torch.randn(2, 3, SIZE, SIZE, generator=generator, dtype=torch.float64) * 0.1
    boxes = [
        torch.tensor([[3.0, 4, 14, 13], [16, 15, 30, 31]], dtype=torch.float64),
        torch.tensor([[8.0, 6, 25, 22]], dtype=torch.float64),
    ]
    labels = [torch.tensor([0, 2]), torch.tensor([1])]
    for image, own, kinds in zip(images, boxes, labels, strict=True):
        for (left, top, right, bottom), kind in zip(own.int().tolist(), kinds.tolist(), strict=True):
            image[kind, top:bottom, left:right] += 1
    return images.to(device), [one.to(device) for one in boxes], [one.to(device) for one in labels]


def _trained(device: torch.device, steps: int) -> tuple[list[float], list[torch.Tensor], list[torch.Tensor]]:
    """Losses, weights and detections."""
    torch.manual_seed(3)
    model = Detector().double().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scene = _scene(device)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model.loss(*scene)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        found = model.detections(scene[0])
    return losses, [one.detach().cpu() for one in model.parameters()], [one.cpu() for pair in found for one in pair]


@pytest.fixture
def schemas(torch_droplet: Any) -> Iterator[None]:
    """The operators of torchvision that the detector calls."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name in NAMES:
        if not hasattr(torch.ops.torchvision, name):
            library.define(name + SCHEMAS[name])
    yield
    library._destroy()


def test_a_detector_trains_as_on_the_cpu(
    schemas: None, droplet: torch.device, fallbacks: Callable[..., dict[str, int]]
) -> None:
    losses, weights, found = _trained(droplet, 6)
    assert fallbacks() == {}
    expected_losses, expected_weights, expected = _trained(torch.device("cpu"), 6)
    assert losses == pytest.approx(expected_losses, rel=1e-9)
    assert losses[-1] < 0.9 * losses[0]
    torch.testing.assert_close(weights, expected_weights, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-9)
    assert all(len(boxes) for boxes in found)
