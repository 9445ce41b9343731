"""Detectors in point clouds, PointPillars and SECOND, as MMDetection3D configures them for KITTI: a cloud of 20,000
points. Sparse convolutions take their pairs of places from the host, as in spconv."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from tracing.detectors import focal_loss
from tracing.noted import differentiable, filled, note
from tracing.recorder import Recorder

POINTS = 20000


def voxels(points: int, room: int, size: tuple[float, ...], extent: tuple[float, ...]) -> None:
    """Points gathered by voxel, at most `points` in each of at most `room`; a fourth number is the reflectance."""
    width, depth, height = (high - low for low, high in zip(extent[:3], extent[3:], strict=True))
    note(
        "HardVoxelizeMmcv",
        points=filled((POINTS, 4), f"points({width}, {depth}, {height})"),
        num_points_per_voxel=filled((room,), "zeros", "int32"),
        voxel_size=filled((3,), size),
        coors_range=filled((6,), extent),
        max_points=points,
        max_voxels=room,
    )


class Backbone(nn.Module):
    """Convolutions in several scales over the view from above, brought to one scale and joined."""

    def __init__(
        self, inputs: int, counts: tuple[int, ...], widths: tuple[int, ...], strides: tuple[int, ...], up: int
    ) -> None:
        super().__init__()
        blocks: list[nn.Module] = []
        raised: list[nn.Module] = []
        scale = 1
        for count, width, stride in zip(counts, widths, strides, strict=True):
            layers = [_layer(inputs, width, stride), *(_layer(width, width, 1) for _ in range(count))]
            blocks.append(nn.Sequential(*layers))
            scale *= stride if blocks[1:] else 1
            norm = nn.BatchNorm2d(up, 1e-3, 0.01)
            raised.append(nn.Sequential(nn.ConvTranspose2d(width, up, scale, scale, bias=False), norm, nn.ReLU()))
            inputs = width
        self.blocks, self.raised = nn.ModuleList(blocks), nn.ModuleList(raised)

    def forward(self, x: Tensor) -> Tensor:
        found = []
        for block, raised in zip(self.blocks, self.raised, strict=True):
            x = block(x)
            found.append(raised(x))
        return torch.cat(found, 1)


def _layer(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    norm = nn.BatchNorm2d(outputs, 1e-3, 0.01)
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), norm, nn.ReLU())


class AnchorHead(nn.Module):
    """Classes, boxes and direction of 2 headings for each of 3 classes, in every place."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.classes, self.boxes, self.sides = nn.Conv2d(width, 18, 1), nn.Conv2d(width, 42, 1), nn.Conv2d(width, 12, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = (layer(x).permute(0, 2, 3, 1) for layer in (self.classes, self.boxes, self.sides))
        classes, boxes, sides = rows
        return classes.reshape(-1, 3), boxes.reshape(-1, 7), sides.reshape(-1, 2)

    def loss(self, x: Tensor, extent: str) -> Tensor:
        """Assignment to 10 objects of each class, and the losses of all anchors."""
        classes, boxes, sides = self(x)
        anchors = classes.shape[0]
        for _ in range(3):
            objects, positions = filled((10, 4), extent), filled((anchors // 3, 4), extent)
            note("BboxOverlapsMmcv", bboxes1=objects, bboxes2=positions)
        loss = focal_loss(classes).sum() + functional.smooth_l1_loss(boxes, torch.empty(anchors, 7), beta=1 / 9)
        return loss + functional.cross_entropy(sides, torch.zeros(anchors, dtype=torch.int64))

    def detect(self, x: Tensor, width: int, depth: int) -> None:
        """The 100 best boxes, and non-maximum suppression seen from above for each class."""
        classes, boxes, sides = self(x)
        best, _ = classes.sigmoid().max(1)
        _, order = torch.topk(best, 100)
        boxes.index_select(0, order)
        sides.max(1)
        for _ in range(3):
            positions = filled((100, 7), f"boxes({width}, {depth})")
            note("Iou3dNms3dMmcv", boxes=positions, nms_overlap_thresh=0.01)


def pointpillars(recorder: Recorder) -> None:
    """Pillars of 0.16 m, of which 6,000 have points."""
    pillars, extent = 6000, (0.0, -39.68, -3.0, 69.12, 39.68, 1.0)
    linear, norm = nn.Linear(10, 64, bias=False), nn.BatchNorm1d(64, 1e-3, 0.01)
    body, head = Backbone(64, (3, 5, 5), (64, 128, 256), (2, 2, 2), 128), AnchorHead(384)

    def features() -> Tensor:
        voxels(32, 40000 if not body.training else 16000, (0.16, 0.16, 4.0), extent)
        points = torch.empty(pillars, 32, 10)
        x = norm(linear(points).permute(0, 2, 1)).relu().amax(2)
        positions = torch.zeros(pillars, dtype=torch.int64)
        canvas = torch.zeros(64, 496 * 432)
        canvas = torch.ops.aten.index_put(canvas, [None, positions], x.t())
        return body(canvas.view(1, 64, 496, 432))

    _runs(recorder, nn.ModuleList([linear, norm, body, head]), features, head, (69, 80))


class SparseConvolution(nn.Module):
    """A sparse convolution without bias, batch normalisation and its activation, over active places.

    `before` and `after` are the numbers of places, the same in the form that keeps them. Where the network only
    detects, the normalisation is folded into filters and bias."""

    def __init__(self, inputs: int, outputs: int, kernel: tuple[int, int, int], before: int, after: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(*kernel, inputs, outputs))
        self.norm = nn.BatchNorm1d(outputs, 1e-3, 0.01)
        self.before, self.after, self.keeps = before, after, before == after

    def pairs(self) -> dict[str, object]:
        """Output of the host: for every element of a kernel the pairs of positions, in the middle all of them."""
        window = self.weight.shape[0] * self.weight.shape[1] * self.weight.shape[2]
        least = min(self.before, self.after)
        numbers = tuple(least if k == window // 2 else least * (3 + k % 5) // 10 for k in range(window))
        return {
            "indicePairs": filled((window, 2, self.before), f"integers(0, {least})", "int32"),
            "indiceNum": filled((window,), numbers, "int32"),
            "_subM": int(self.keeps),
        }

    def forward(self, x: Tensor) -> Tensor:
        outputs = self.weight.shape[-1]
        if not self.training:
            arguments = {"features": x, "filters": self.weight, "numActOut": self.after, **self.pairs()}
            note("FusedIndiceConvBatchnormMmcv", bias=torch.empty(outputs), **arguments)
            return torch.empty(self.after, outputs).relu()

        def forward(x: Tensor, weight: Tensor) -> Tensor:
            note("IndiceConvMmcv", features=x, filters=weight, numActOut=self.after, **self.pairs())
            return torch.empty(self.after, outputs)

        def backward(grad: Tensor, x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
            note("IndiceConvBackwardMmcv", features=x, filters=weight, outGrad=grad, **self.pairs())
            return torch.empty_like(x), torch.empty_like(weight)

        found: Tensor = self.norm(differentiable(forward, backward, x, self.weight)).relu()
        return found


ACTIVE = (5000, 6000, 4000, 2000, 1500)
"""Places with features: of the voxels, after each of three strides, after the last one in height."""


def second(recorder: Recorder) -> None:
    """Voxels of 0.05 by 0.05 by 0.1 m; 5,000 of them have points."""
    cube, flat = (3, 3, 3), (3, 1, 1)
    layers = [
        SparseConvolution(4, 16, cube, ACTIVE[0], ACTIVE[0]),
        SparseConvolution(16, 16, cube, ACTIVE[0], ACTIVE[0]),
    ]
    for before, after, inputs, width in ((0, 1, 16, 32), (1, 2, 32, 64), (2, 3, 64, 64)):
        layers.append(SparseConvolution(inputs, width, cube, ACTIVE[before], ACTIVE[after]))
        layers += [SparseConvolution(width, width, cube, ACTIVE[after], ACTIVE[after]) for _ in range(2)]
    layers.append(SparseConvolution(64, 128, flat, ACTIVE[3], ACTIVE[4]))
    middle = nn.Sequential(*layers)
    body, head = Backbone(256, (5, 5), (128, 256), (1, 2), 256), AnchorHead(512)

    def features() -> Tensor:
        room = 16000 if body.training else 40000
        voxels(5, room, (0.05, 0.05, 0.1), (0.0, -40.0, -3.0, 70.4, 40.0, 1.0))
        points, counts = torch.empty(ACTIVE[0], 5, 4), torch.empty(ACTIVE[0], 1)
        x = middle(points.sum(1) / counts)
        positions = torch.zeros(ACTIVE[4], dtype=torch.int64)
        dense = torch.ops.aten.index_put(torch.zeros(2 * 200 * 176, 128), [positions], x)
        return body(dense.view(1, 2, 200, 176, 128).permute(0, 4, 1, 2, 3).reshape(1, 256, 200, 176))

    _runs(recorder, nn.ModuleList([middle, body, head]), features, head, (70, 80))


def _runs(recorder: Recorder, network: nn.Module, features: object, head: AnchorHead, size: tuple[int, int]) -> None:
    """A training step without its optimizer, and detection."""
    assert callable(features)
    with recorder.during("forward"):
        loss = head.loss(features(), f"boxes({size[0]}, {size[1]})")
    with recorder.during("backward"):
        loss.backward()
    network.eval()
    with torch.no_grad(), recorder.during("detection"):
        head.detect(features(), *size)
